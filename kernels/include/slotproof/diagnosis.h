#pragma once
// Why entries of a remap are none, counted. R5-R9 write -1 for what a corrupt block table holds, and -1 looks like padding; a
// server that runs this every so often, or after an alarm, sees the difference. Rules G1-G6: `slotproof rules`, or docs/spec.md.

#include <slotproof/remap.h>

namespace slotproof {

// Why an entry is none, or that it is not. The columns of row_counts and the elements of totals are in this order.
enum class NoneReason : uint8_t {
  kSlot,             // it is a slot or a workspace row
  kPadding,          // a negative position (R1): where the indexer found nothing
  kWorkspace,        // outside of the prefill workspace (R2), or its row above int32 (R9)
  kForeignRank,      // another rank's position (R3): as it should be
  kRequestRow,       // the request is no row of the block table (R5)
  kColumn,           // the position lies behind the block table's last column (R6)
  kPhysicalBlock,    // the block table's entry is no block of the cache (R7)
  kUnrepresentable,  // the slot is above int32 (R9)
};
inline constexpr int32_t kNumReasons = 8;
const char* name_of(NoneReason reason) noexcept;  // "foreign_rank"

struct DiagnoseArgs {
  RemapInputs inputs;                       // `inputs = remap_args` takes those of a remap; its outputs play no part
  std::optional<MutableMatrix> row_counts;  // [T, kNumReasons] out: entries of the row for each reason; they sum to K
  int64_t* totals = nullptr;                // [kNumReasons] in and out: grow by the sums over all rows; 8-byte aligned
};

// The first of A1-A13 and A15 that fails (G5), or ok. Looks at no tensor element, so it works for device pointers too.
Status validate(const DiagnoseArgs& args) noexcept;

// Enqueues the diagnosis on a stream (null: the default stream). Pointers are device pointers. Allocates nothing, never
// synchronises, makes at most one launch and can be captured in a graph. Launches on several streams may share their totals.
// Errors: as of validate (nothing launched), kCudaError, kNotSupported in a build without CUDA.
Status launch_remap_diagnose(const DiagnoseArgs& args, CUstream_st* stream) noexcept;

// Runs the same kernel body on the host with checked memory. Pointers are host pointers. Errors: as of validate (nothing
// written), kNotSupported for another team width, kMemoryFault where the body misuses memory.
Status diagnose_on_host(const DiagnoseArgs& args, const HostOptions& options = {}) noexcept;

}  // namespace slotproof
