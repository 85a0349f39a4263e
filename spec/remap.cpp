#include "spec/remap.h"

#include "spec/rank_ownership.h"

#include <limits>

namespace slotproof::spec {
namespace {

constexpr int64_t kMaxSlot = std::numeric_limits<int32_t>::max();

Entry none(Rule rule) { return {kNone, rule}; }

Entry workspace_entry(const RemapProblem& problem, int32_t prefill_id, int32_t tok) {
  const InputVector& starts = *problem.workspace_starts;
  if (prefill_id >= starts.size) return none(Rule::R2);
  const int64_t start = starts.view()[prefill_id];
  if (start < 0) return none(Rule::R2);
  const int64_t row = start + tok;
  if (problem.num_workspace_rows && row >= *problem.num_workspace_rows) return none(Rule::R2);
  if (row > kMaxSlot) return none(Rule::R9);
  return {int32_t(row), Rule::R2};
}

// The row of the cache where block `base` begins, or nothing where it is above kMaxSlot: counted, so that no L overflows.
std::optional<int64_t> first_row_of(int32_t base, int64_t block_stride_rows) {
  if (base == 0) return 0;
  if (block_stride_rows > kMaxSlot) return std::nullopt;
  const int64_t row = int64_t{base} * block_stride_rows;  // both below 2^31
  return row > kMaxSlot ? std::nullopt : std::optional(row);
}

}  // namespace

Entry entry_of(const RemapProblem& problem, int32_t t, int32_t k) {
  const int32_t tok = problem.token_indices.view()(t, k);
  if (tok < 0) return none(Rule::R1);
  if (problem.prefill_request_id) {
    const int32_t prefill_id = problem.prefill_request_id->view()[t];
    if (prefill_id >= 0) return workspace_entry(problem, prefill_id, tok);
  }
  const Share share = share_of(problem.dcp, tok);
  if (share.rank != problem.dcp.rank) return none(Rule::R3);
  const int32_t request = problem.req_id.view()[t];
  if (request < 0 || request >= problem.block_table.rows) return none(Rule::R5);
  const BlockPlace place = block_place_of(share.local, problem.block_size);
  if (place.column >= problem.block_table.columns) return none(Rule::R6);  // the writer had no block left for it
  const int32_t base = problem.block_table.view()(request, place.column);
  if (base < 0 || (problem.num_blocks && base >= *problem.num_blocks)) return none(Rule::R7);
  const auto first_row = first_row_of(base, problem.block_stride_rows);
  if (!first_row || *first_row + place.offset > kMaxSlot) return none(Rule::R9);
  return {int32_t(*first_row + place.offset), Rule::R8};
}

ExpectedOutputs expected_outputs(const RemapProblem& problem) {
  const int32_t num_tokens = problem.num_tokens(), topk = problem.topk();
  ExpectedOutputs expected{IndexMatrix::Constant(num_tokens, topk, kNone), IndexVector::Zero(num_tokens)};
  for (int32_t t = 0; t < num_tokens; ++t) {
    for (int32_t k = 0; k < topk; ++k) {
      const Entry entry = entry_of(problem, t, k);
      if (entry.is_none()) continue;
      const int32_t column = problem.placement == Placement::kCompacted ? expected.valid_counts[t] : k;
      expected.slots(t, column) = entry.slot;
      ++expected.valid_counts[t];
    }
  }
  return expected;
}

}  // namespace slotproof::spec
