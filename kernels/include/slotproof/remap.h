#pragma once
// From the indexer's top-k token positions to physical KV-cache slots. Rules R1-R15 say what is written, A1-A15 what is
// refused: `slotproof rules`, or docs/spec.md.
//
// Names of extents: T query rows, K columns, R requests, B block-table columns, P prefill requests. All tensors are int32.

#include <slotproof/status.h>

#include <cstdint>
#include <optional>

struct CUstream_st;  // cudaStream_t is a pointer to it; so this header needs no CUDA header.

namespace slotproof {

struct ConstVector {
  const int32_t* data = nullptr;  // may be null only where size is 0
  int32_t size = 0;
};
struct MutableVector {
  int32_t* data = nullptr;
  int32_t size = 0;
};
struct ConstMatrix {
  const int32_t* data = nullptr;  // may be null only where there are no elements
  int32_t rows = 0;
  int32_t columns = 0;
  int64_t row_stride = 0;  // elements from one row to the next; >= 0, may be 0 or less than columns
};
struct MutableMatrix {
  int32_t* data = nullptr;
  int32_t rows = 0;
  int32_t columns = 0;
  int64_t row_stride = 0;  // elements; >= columns where there is more than one row
};

// Decode context parallelism: this rank owns position tok where (tok / interleave) % size == rank.
struct RankOwnership {
  int32_t size = 1;
  int32_t rank = 0;
  int32_t interleave = 1;  // positions in a group; divides the block size
};

enum class Placement : uint8_t {
  kInPlace,    // column k of the output is the entry of column k (R10)
  kCompacted,  // the slots move to the front of the row, -1 behind them (R12)
};
enum class Order : uint8_t {
  kStable,       // a compacted row keeps the input order
  kUnspecified,  // the caller does not care, which permits faster kernels (R12u)
};

// What both the remap and its diagnosis (slotproof/diagnosis.h) read.
struct RemapInputs {
  ConstVector req_id;         // [T] row of block_table that a query row uses
  ConstMatrix block_table;    // [R, B] physical block ids
  ConstMatrix token_indices;  // [T, K] positions in the request; negative where there is none
  int32_t block_size = 64;    // S, tokens in a block
  int64_t block_stride_rows = 64;     // L, cache rows from one block to the next, >= S
  std::optional<int64_t> num_blocks;  // blocks in the cache; entries at or above it give none
  RankOwnership dcp;

  std::optional<ConstVector> prefill_request_id;  // [T] negative for a decode row, else row of workspace_starts
  std::optional<ConstVector> workspace_starts;    // [P] first workspace row of each prefill request
  std::optional<int64_t> num_workspace_rows;      // workspace rows at or above it give none
};

struct RemapArgs : RemapInputs {
  Placement placement = Placement::kInPlace;
  Order order = Order::kStable;
  std::optional<int32_t> tile;  // columns that one pass handles; must divide K. Chosen by the planner where absent.

  MutableMatrix slots;                        // [T, K] out
  std::optional<MutableVector> valid_counts;  // [T] out: entries of the row that are not -1
};

// The first of A1-A15 that fails, or ok. Looks at no tensor element, so it works for device pointers too.
Status validate(const RemapArgs& args) noexcept;

// Enqueues the remap on a stream (null: the default stream). Pointers are device pointers. Allocates nothing, never
// synchronises, makes at most one launch and can be captured in a graph. Errors: A1-A15 (nothing launched), kCudaError,
// kNotSupported in a build without CUDA.
Status launch_remap(const RemapArgs& args, CUstream_st* stream) noexcept;

// How the host executes the kernel's threads. The result must not depend on any of it (R14).
struct HostOptions {
  int32_t team_width = 0;          // threads that own a row: 32, 64, 128 or 256; 0: what the planner picks for the device
  uint64_t thread_order_seed = 0;  // order of the threads inside each phase; 0: ascending
  uint64_t cta_order_seed = 0;     // order of the rows; 0: ascending
  int32_t planned_rows = 0;        // the planner picks as for so many rows; 0: as for those that there are
};

// Runs the same kernel body on the host with checked memory. Pointers are host pointers. Errors: A1-A15 (nothing written),
// kNotSupported for another team width or negative planned_rows, kMemoryFault with phase, thread and element where the body misuses memory.
Status remap_on_host(const RemapArgs& args, const HostOptions& options = {}) noexcept;

struct FastHostOptions {
  int32_t team_width = 0;   // threads of the body that own a row: 32, 64, 128 or 256; 0: what is fastest on a CPU
  int32_t num_threads = 0;  // threads of the host that share the rows, at most one a row; 0: as many as the machine has and the problem is worth
};

// The same for speed, for large problems where no GPU is: the body over plain memory, nothing checked. The result is the same bit
// for bit. Pointers are host pointers. Starts threads and joins them; where one cannot be started, the others do its work. Errors:
// A1-A15 (nothing written), kNotSupported for another team width or a negative number of threads.
Status remap_on_host_fast(const RemapArgs& args, const FastHostOptions& options = {}) noexcept;

}  // namespace slotproof
