#include "reference/remap.h"

namespace slotproof::reference {

std::optional<Refusal> remap(const spec::RemapProblem& problem) {
  if (auto refusal = validate(problem)) return refusal;
  const bool compact = problem.placement == spec::Placement::kCompacted;
  const auto slot_at = [&](int32_t t, int32_t k) -> int32_t& { return problem.slots.data[t * problem.slots.row_stride + k]; };
  for (int32_t t = 0; t < problem.num_tokens(); ++t) {  // No row, no column, no table (R15) need no case of their own.
    int32_t count = 0;
    for (int32_t k = 0; k < problem.topk(); ++k) {
      const int32_t slot = entry_of(problem, t, problem.token_indices.view()(t, k)).slot;
      if (compact && slot == kNone) continue;
      slot_at(t, compact ? count : k) = slot;  // R12: in input order, which serves R12u too. Else R10
      if (slot != kNone) ++count;              // R11
    }
    for (int32_t k = count; compact && k < problem.topk(); ++k) slot_at(t, k) = kNone;  // R12
    if (problem.valid_counts) problem.valid_counts->data[t] = count;                    // R11
  }
  return std::nullopt;
}

// One of the seed's calls: `problem` holds what is its own, the rest is what both have, and the outputs are new.
static Result<GlobalIndex> remap_to_owned(spec::InputVector req_id, spec::InputMatrix block_table, spec::InputMatrix token_indices,
                                          spec::RemapProblem problem, const SharedOptions& options) {
  problem.req_id = req_id, problem.block_table = block_table, problem.token_indices = token_indices;
  problem.block_size = options.block_size;
  problem.block_stride_rows = options.block_stride_rows.value_or(options.block_size);
  int32_t not_yet_allocated = 0;  // stands in for both outputs; A15, the last rule, says nothing about what is yet to come
  problem.slots = {&not_yet_allocated, token_indices.rows, options.topk, options.topk};
  if (options.return_valid_counts) problem.valid_counts = {&not_yet_allocated, token_indices.rows};
  if (auto refusal = validate(problem); refusal && refusal->rule != spec::Rule::A15) return *refusal;

  GlobalIndex result{spec::IndexMatrix(token_indices.rows, options.topk), std::nullopt};
  problem.slots.data = result.slots.data();
  if (options.return_valid_counts) problem.valid_counts->data = result.valid_counts.emplace(token_indices.rows).data();
  remap(problem);
  return result;
}

Result<GlobalIndex> convert_req_index_to_global_index(spec::InputVector req_id, spec::InputMatrix block_table,
                                                      spec::InputMatrix token_indices, const ConvertOptions& options) {
  spec::RemapProblem problem;
  problem.prefill_request_id = options.prefill_request_id;
  problem.workspace_starts = options.workspace_starts;
  return remap_to_owned(req_id, block_table, token_indices, problem, options);
}

Result<GlobalIndex> filter_and_convert_dcp_index(spec::InputVector req_id, spec::InputMatrix block_table,
                                                 spec::InputMatrix token_indices, int32_t dcp_size, int32_t dcp_rank,
                                                 const FilterOptions& options) {
  spec::RemapProblem problem;
  problem.dcp = {dcp_size, dcp_rank, options.interleave};
  if (options.compact_valid_to_front) problem.placement = spec::Placement::kCompacted;
  return remap_to_owned(req_id, block_table, token_indices, problem, options);
}

}  // namespace slotproof::reference
