#pragma once
// What spec, reference and kernels each say of a cache, in one form: for the tests and for the fuzz target.

#include "reference/flat_row_view.h"
#include "spec/flat_row_view.h"

#include <fmt/format.h>
#include <slotproof/flat_row_view.h>

#include <algorithm>
#include <optional>
#include <ostream>
#include <string>
#include <variant>

namespace slotproof::harness {

// A view, or the rule that refuses it.
struct FlatRowViewAnswer {
  std::optional<spec::Rule> refused;
  int64_t num_rows = 0, block_stride_rows = 0;
  bool operator==(const FlatRowViewAnswer&) const = default;
};

inline std::string text_of(const FlatRowViewAnswer& answer) {
  if (answer.refused) return fmt::format("refused by {}", spec::id_of(*answer.refused));
  return fmt::format("{} rows, L = {}", answer.num_rows, answer.block_stride_rows);
}
inline std::ostream& operator<<(std::ostream& os, const FlatRowViewAnswer& answer) { return os << text_of(answer); }

inline FlatRowViewAnswer spec_answer(const spec::FlatRowViewProblem& problem) {
  if (const auto refusal = spec::refusal_of(problem)) return {refusal->rule};
  const spec::FlatRowView view = spec::flat_row_view(problem);
  return {{}, view.num_rows, view.block_stride_rows};
}

inline FlatRowViewAnswer reference_answer(const spec::FlatRowViewProblem& problem) {
  const auto result = reference::flat_kv_row_view(problem);
  if (const auto* refusal = std::get_if<reference::Refusal>(&result)) return {refusal->rule};
  const auto& view = std::get<reference::FlatRowView>(result);
  return {{}, view.num_rows, view.block_stride_rows};
}

// is_bad_refusal: a refused call wrote something, or said nothing.
inline FlatRowViewAnswer kernels_answer(const spec::FlatRowViewProblem& problem, bool& is_bad_refusal) {
  PagedCache cache{problem.num_blocks, problem.block_size, problem.head_dim, {}, {}};
  std::copy(std::begin(problem.extents), std::end(problem.extents), cache.extents);
  std::copy(std::begin(problem.strides), std::end(problem.strides), cache.strides);
  FlatRowView view{-7, -7};
  const Status status = flat_row_view(cache, view);
  if (status.ok()) return {{}, view.num_rows, view.block_stride_rows};
  is_bad_refusal = view.num_rows != -7 || view.block_stride_rows != -7 || *status.message() == '\0';
  return {spec::Rule(int(spec::Rule::VA1) + int(status.code()) - int(StatusCode::kViewNegativeExtent))};
}

}  // namespace slotproof::harness
