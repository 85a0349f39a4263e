#pragma once
// A problem as the arguments of the kernels' public interface, and a kernel's status as the outcome of a run.

#include "property_tests/harness/backend.h"

#include <slotproof/diagnosis.h>

#include <utility>

namespace slotproof::harness {

inline ConstVector const_vector_of(const spec::InputVector& vector) { return {vector.data, vector.size}; }
inline ConstMatrix const_matrix_of(const spec::InputMatrix& matrix) {
  return {matrix.data, matrix.rows, matrix.columns, matrix.row_stride};
}

inline RemapArgs remap_args_of(const spec::RemapProblem& problem) {
  RemapArgs args;
  args.req_id = const_vector_of(problem.req_id);
  args.block_table = const_matrix_of(problem.block_table);
  args.token_indices = const_matrix_of(problem.token_indices);
  args.block_size = problem.block_size;
  args.block_stride_rows = problem.block_stride_rows;
  args.num_blocks = problem.num_blocks;
  args.dcp = {problem.dcp.size, problem.dcp.rank, problem.dcp.interleave};
  if (problem.prefill_request_id) args.prefill_request_id = const_vector_of(*problem.prefill_request_id);
  if (problem.workspace_starts) args.workspace_starts = const_vector_of(*problem.workspace_starts);
  args.num_workspace_rows = problem.num_workspace_rows;
  args.placement = problem.placement == spec::Placement::kCompacted ? Placement::kCompacted : Placement::kInPlace;
  args.order = problem.order == spec::Order::kUnspecified ? Order::kUnspecified : Order::kStable;
  args.tile = problem.tile;
  args.slots = {problem.slots.data, problem.slots.rows, problem.slots.columns, problem.slots.row_stride};
  if (problem.valid_counts) args.valid_counts = MutableVector{problem.valid_counts->data, problem.valid_counts->size};
  return args;
}

inline DiagnoseArgs diagnose_args_of(const spec::RemapProblem& problem, const spec::DiagnosisOutputs& outputs) {
  DiagnoseArgs args;
  args.inputs = remap_args_of(problem);
  if (outputs.row_counts) {
    const spec::OutputMatrix& counts = *outputs.row_counts;
    args.row_counts = MutableMatrix{counts.data, counts.rows, counts.columns, counts.row_stride};
  }
  args.totals = outputs.totals;
  return args;
}

inline RunOutcome fault(std::string message) { return {RunOutcome::Kind::kFault, {}, std::move(message)}; }

inline RunOutcome outcome_of(const Status& status) {
  if (status.ok()) return {};
  const int code = int(status.code());
  if (code < 1 || code > 15) return fault(status.message());
  return {RunOutcome::Kind::kRefused, spec::argument_rule_of(code), status.message()};
}

}  // namespace slotproof::harness
