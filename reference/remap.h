#pragma once
// From token positions to KV-cache slots, in closed form: the oracle. spec/remap.h tells it from the writer's side; they agree by test.

#include "reference/arguments.h"
#include "reference/remap_entry.h"

namespace slotproof::reference {

// Writes problem.slots and, where asked for, problem.valid_counts; touches nothing else (R13). A refusal has written nothing.
std::optional<Refusal> remap(const spec::RemapProblem& problem);

// The seed's two calls, by name and with its defaults. What they cannot say (num_blocks, num_workspace_rows, tile, order) is said to
// remap(). Outputs are owned; running out of memory for them is the one thing that throws.
struct GlobalIndex {
  spec::IndexMatrix slots;                        // [T, topk]
  std::optional<spec::IndexVector> valid_counts;  // [T], where asked for
};
struct SharedOptions {
  int32_t block_size = 64;
  std::optional<int64_t> block_stride_rows;  // absent: block_size
  int32_t topk = 2048;                       // must be the width of token_indices (A3)
  bool return_valid_counts = false;
};
struct ConvertOptions : SharedOptions {
  std::optional<spec::InputVector> prefill_request_id, workspace_starts;  // [T], [P]: both or neither (A12)
};
// Every entry in its own column (R10).
Result<GlobalIndex> convert_req_index_to_global_index(spec::InputVector req_id, spec::InputMatrix block_table,
                                                      spec::InputMatrix token_indices, const ConvertOptions& options = {});

struct FilterOptions : SharedOptions {
  int32_t interleave = 1;
  bool compact_valid_to_front = true;  // R12, at dcp_size = 1 too (D3)
};
// The entries of one rank.
Result<GlobalIndex> filter_and_convert_dcp_index(spec::InputVector req_id, spec::InputMatrix block_table, spec::InputMatrix token_indices,
                                                 int32_t dcp_size, int32_t dcp_rank, const FilterOptions& options = {});

}  // namespace slotproof::reference
