#pragma once
// One entry of the remap in closed form, for a GPU too, so it names no type: a Problem has the members of spec::RemapProblem.

#include "spec/rules.h"

namespace slotproof::reference {

using spec::NoneReason;
inline constexpr int32_t kNone = -1;

// A slot or workspace row, or none and why (G1).
struct Entry { int32_t slot; NoneReason reason; };

// The rank that holds position tok >= 0.
template <class Dcp> constexpr int32_t owner_of(const Dcp& dcp, int32_t tok) {
  return tok / dcp.interleave % dcp.size;  // R3
}

// Which of its owner's positions tok >= 0 is: interleave for each whole round before it, then its place in its group. At most tok.
template <class Dcp> constexpr int32_t local_of(const Dcp& dcp, int32_t tok) {
  const int64_t round = int64_t{dcp.size} * dcp.interleave;
  return (round > INT32_MAX ? 0 : tok / static_cast<int32_t>(round)) * dcp.interleave + tok % dcp.interleave;  // R4
}

// R2: the row of a prefill request's position in the workspace.
template <class Problem> constexpr Entry workspace_row_of(const Problem& problem, int32_t request, int32_t tok) {
  if (request >= problem.workspace_starts->size) return {kNone, NoneReason::kWorkspace};
  const int32_t start = problem.workspace_starts->data[request];
  const int64_t row = int64_t{start} + tok;
  if (start < 0 || (problem.num_workspace_rows && row >= *problem.num_workspace_rows)) return {kNone, NoneReason::kWorkspace};
  return row > INT32_MAX ? Entry{kNone, NoneReason::kWorkspace} : Entry{static_cast<int32_t>(row), NoneReason::kSlot};  // R9
}

// The entry of row t for position tok: a slot, a workspace row, or none.
template <class Problem> constexpr Entry entry_of(const Problem& problem, int32_t t, int32_t tok) {
  if (tok < 0) return {kNone, NoneReason::kPadding};  // R1
  const int32_t prefill_request = problem.prefill_request_id ? problem.prefill_request_id->data[t] : -1;
  if (prefill_request >= 0) return workspace_row_of(problem, prefill_request, tok);  // R2
  if (owner_of(problem.dcp, tok) != problem.dcp.rank) return {kNone, NoneReason::kForeignRank};  // R3
  const int32_t local = local_of(problem.dcp, tok);  // R4
  const int32_t request = problem.req_id.data[t];
  if (request < 0 || request >= problem.block_table.rows) return {kNone, NoneReason::kRequestRow};  // R5
  const int32_t column = local / problem.block_size;
  if (column >= problem.block_table.columns) return {kNone, NoneReason::kColumn};  // R6
  const int32_t base = problem.block_table.data[request * problem.block_table.row_stride + column];
  if (base < 0 || (problem.num_blocks && base >= *problem.num_blocks)) return {kNone, NoneReason::kPhysicalBlock};  // R7
  const int32_t offset = local % problem.block_size;
  if (base > 0 && problem.block_stride_rows > (INT32_MAX - offset) / base) {
    return {kNone, NoneReason::kUnrepresentable};  // R9: base * L + offset > INT32_MAX
  }
  return {static_cast<int32_t>(base * problem.block_stride_rows + offset), NoneReason::kSlot};  // R8
}

}  // namespace slotproof::reference
