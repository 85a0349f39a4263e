#include "spec/arguments.h"
#include "spec/diagnosis.h"

#include <array>
#include <string>
#include <string_view>

namespace slotproof::spec {
namespace {

__extension__ typedef __int128 Wide;

// A tensor as the rules see it: rows of `columns` elements, `row_stride` elements apart.
struct Extent {
  std::string_view name;
  bool is_present = false;
  bool is_output = false;
  bool has_one_row_per_token = false;
  const int32_t* data = nullptr;
  int32_t rows = 0;
  int32_t columns = 0;
  int64_t row_stride = 0;
  uintptr_t alignment = 4;

  bool has_elements() const { return is_present && rows > 0 && columns > 0; }
};

template <class Element>
Extent extent_of(std::string_view name, const MatrixArgument<Element>& matrix) {
  return {name, true, false, false, matrix.data, matrix.rows, matrix.columns, matrix.row_stride, 4};
}
template <class Element>
Extent extent_of(std::string_view name, const VectorArgument<Element>& vector) {
  return {name, true, false, false, vector.data, vector.size, 1, 1, 4};
}
template <class Argument>
Extent extent_of(std::string_view name, const std::optional<Argument>& argument) {
  return argument ? extent_of(name, *argument) : Extent{.name = name};
}

// The tensors of a call: a remap's, whose outputs are slots and valid_counts, or a diagnosis's: row_counts and totals.
struct Extents {
  Extent req_id, block_table, token_indices, prefill_request_id, workspace_starts, matrix_out, vector_out;
  int32_t width_out = 0;  // columns that matrix_out must have
  std::array<const Extent*, 7> all() const {
    return {&req_id, &block_table, &token_indices, &prefill_request_id, &workspace_starts, &matrix_out, &vector_out};
  }
};

Extents extents_of(const RemapProblem& problem, const Extent& matrix_out, const Extent& vector_out, int32_t width_out) {
  Extents extents{extent_of("req_id", problem.req_id),
                  extent_of("block_table", problem.block_table),
                  extent_of("token_indices", problem.token_indices),
                  extent_of("prefill_request_id", problem.prefill_request_id),
                  extent_of("workspace_starts", problem.workspace_starts),
                  matrix_out,
                  vector_out,
                  width_out};
  extents.matrix_out.is_output = extents.vector_out.is_output = true;
  for (Extent* extent : {&extents.req_id, &extents.token_indices, &extents.prefill_request_id, &extents.matrix_out}) {
    extent->has_one_row_per_token = true;
  }
  return extents;
}
Extents extents_of(const RemapProblem& problem) {
  Extents extents = extents_of(problem, extent_of("slots", problem.slots), extent_of("valid_counts", problem.valid_counts), problem.topk());
  extents.vector_out.has_one_row_per_token = true;
  return extents;
}
Extents extents_of(const RemapProblem& problem, const DiagnosisOutputs& outputs) {
  // 64-bit counters are pairs of words as far as memory goes.
  const Extent totals{"totals", true, true, false, reinterpret_cast<const int32_t*>(outputs.totals), 1, 2 * kNumReasons, 0, alignof(int64_t)};
  return extents_of(problem, extent_of("row_counts", outputs.row_counts), totals, kNumReasons);
}

template <class Value>
std::string says(std::string_view name, Value value) {
  return std::string(name) + " = " + std::to_string(value);
}

Wide address_of_row(const Extent& extent, int64_t row) {
  return Wide(reinterpret_cast<uintptr_t>(extent.data)) + Wide(4) * row * extent.row_stride;
}

// Whether some element lies in both. Rows of b ascend, all of one width: of those that begin in front of the end of a row
// of a, the last one reaches furthest.
bool share_an_element(const Extent& a, const Extent& b) {
  if (!a.has_elements() || !b.has_elements()) return false;
  for (int64_t row = 0; row < a.rows; ++row) {
    const Wide begin = address_of_row(a, row), end = begin + Wide(4) * a.columns;
    if (address_of_row(b, 0) >= end) continue;
    int64_t low = 0, high = b.rows;  // row `low` begins in front of `end`, row `high` does not
    while (high - low > 1) {
      const int64_t middle = low + (high - low) / 2;
      (address_of_row(b, middle) < end ? low : high) = middle;
    }
    if (address_of_row(b, low) + Wide(4) * b.columns > begin) return true;
  }
  return false;
}

std::optional<Refusal> refusal_by_tensors(const RemapProblem& problem, const Extents& extents) {
  // A1, in the order T, K, R, B, P.
  for (const Extent* extent : extents.all()) {
    if (extent->has_one_row_per_token && extent->rows < 0) return Refusal{Rule::A1, says(std::string(extent->name) + " rows", extent->rows)};
  }
  const std::array other_extents = {std::pair{std::string_view("token_indices columns"), extents.token_indices.columns},
                                    std::pair{std::string_view("output columns"), extents.matrix_out.columns},
                                    std::pair{std::string_view("block_table rows"), extents.block_table.rows},
                                    std::pair{std::string_view("block_table columns"), extents.block_table.columns},
                                    std::pair{std::string_view("workspace_starts rows"), extents.workspace_starts.rows}};
  for (const auto& [name, value] : other_extents) {
    if (value < 0) return Refusal{Rule::A1, says(name, value)};
  }
  for (const Extent* extent : extents.all()) {
    if (!extent->has_elements()) continue;
    if (extent->data == nullptr) return Refusal{Rule::A2, std::string(extent->name) + " is null and has elements"};
    const auto address = reinterpret_cast<uintptr_t>(extent->data);
    if (address % extent->alignment != 0) return Refusal{Rule::A2, says(std::string(extent->name) + " address modulo 8", address % 8)};
  }
  const Extent& out = extents.matrix_out;
  const int32_t num_tokens = problem.num_tokens(), width = extents.width_out;
  for (const Extent* extent : extents.all()) {
    if (extent->is_present && extent->has_one_row_per_token && extent->rows != num_tokens) {
      return Refusal{Rule::A3, says(std::string(extent->name) + " rows", extent->rows) + ", " + says("token_indices rows", num_tokens)};
    }
  }
  if (out.is_present && out.columns != width) return Refusal{Rule::A3, says(std::string(out.name) + " columns", out.columns) + ", " + says("width", width)};
  if (out.is_present && num_tokens > 1 && out.row_stride < width) {
    return Refusal{Rule::A4, says(std::string(out.name) + " row stride", out.row_stride) + ", " + says("width", width)};
  }
  for (const Extent* extent : extents.all()) {
    if ((!extent->is_output && extent->row_stride < 0) || extent->row_stride > int64_t{1} << 60) {
      return Refusal{Rule::A4, says(std::string(extent->name) + " row stride", extent->row_stride)};
    }
  }
  return std::nullopt;
}

std::optional<Refusal> refusal_by_scalars(const RemapProblem& problem) {
  const RankOwnership& dcp = problem.dcp;
  if (problem.block_size < 1) return Refusal{Rule::A5, says("block_size", problem.block_size)};
  if (problem.block_stride_rows < problem.block_size) {
    return Refusal{Rule::A6, says("block_stride_rows", problem.block_stride_rows) + ", " + says("block_size", problem.block_size)};
  }
  if (problem.num_blocks.value_or(0) < 0) return Refusal{Rule::A7, says("num_blocks", *problem.num_blocks)};
  if (problem.num_workspace_rows.value_or(0) < 0) return Refusal{Rule::A7, says("num_workspace_rows", *problem.num_workspace_rows)};
  if (dcp.size < 1) return Refusal{Rule::A8, says("dcp_size", dcp.size)};
  if (dcp.rank < 0 || dcp.rank >= dcp.size) return Refusal{Rule::A9, says("dcp_rank", dcp.rank) + ", " + says("dcp_size", dcp.size)};
  if (dcp.interleave < 1) return Refusal{Rule::A10, says("dcp_interleave", dcp.interleave)};
  if (problem.block_size % dcp.interleave != 0) {
    return Refusal{Rule::A11, says("block_size", problem.block_size) + ", " + says("dcp_interleave", dcp.interleave)};
  }
  if (problem.prefill_request_id.has_value() != problem.workspace_starts.has_value()) {
    return Refusal{Rule::A12, problem.workspace_starts ? "prefill_request_id is absent" : "workspace_starts is absent"};
  }
  if (problem.prefill_request_id && dcp.size > 1) return Refusal{Rule::A13, says("dcp_size", dcp.size) + " with prefill"};
  if (problem.tile && (*problem.tile < 1 || problem.topk() % *problem.tile != 0)) {
    return Refusal{Rule::A14, says("tile", *problem.tile) + ", " + says("K", problem.topk())};
  }
  return std::nullopt;
}

std::optional<Refusal> refusal_of(const RemapProblem& problem, const Extents& extents) {
  if (auto refusal = refusal_by_tensors(problem, extents)) return refusal;
  if (auto refusal = refusal_by_scalars(problem)) return refusal;
  for (const Extent* output : {&extents.matrix_out, &extents.vector_out}) {
    for (const Extent* other : extents.all()) {
      if (output == other || (output == &extents.vector_out && other == &extents.matrix_out)) continue;
      if (share_an_element(*output, *other)) {
        return Refusal{Rule::A15, std::string(output->name) + " shares an element with " + std::string(other->name)};
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Refusal> refusal_of(const RemapProblem& problem) { return refusal_of(problem, extents_of(problem)); }

std::optional<Refusal> refusal_of(const RemapProblem& problem, const DiagnosisOutputs& outputs) {
  RemapProblem without_tile = problem;
  without_tile.tile.reset();  // A14 plays no part
  return refusal_of(without_tile, extents_of(problem, outputs));
}

}  // namespace slotproof::spec
