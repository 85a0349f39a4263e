#include "spec/flat_row_view.h"

#include <limits>

namespace slotproof::spec {
namespace {

constexpr int64_t kMaxRows = std::numeric_limits<int32_t>::max();

ViewRefusal refuse(Rule rule, std::string what, int64_t value) { return {rule, what + " = " + std::to_string(value)}; }

}  // namespace

std::optional<ViewRefusal> refusal_of(const FlatRowViewProblem& problem) {
  if (problem.num_blocks < 0) return refuse(Rule::VA1, "num_blocks", problem.num_blocks);
  for (int axis = 0; axis < 3; ++axis) {
    if (problem.extents[axis] < 0) return refuse(Rule::VA1, "extents[" + std::to_string(axis) + "]", problem.extents[axis]);
  }
  if (problem.head_dim < 1) return refuse(Rule::VA2, "head_dim", problem.head_dim);
  if (problem.block_size < 1) return refuse(Rule::VA2, "block_size", problem.block_size);

  const int64_t shape[3] = {problem.num_blocks, problem.block_size, problem.head_dim};
  for (int axis = 0; axis < 3; ++axis) {
    if (problem.extents[axis] != shape[axis]) {
      return refuse(Rule::VA3, "extents[" + std::to_string(axis) + "]", problem.extents[axis]);
    }
  }
  const auto matters = [&](int axis) { return problem.extents[axis] > 1; };
  if (matters(1) && problem.strides[1] != problem.head_dim) return refuse(Rule::VA3, "strides[1]", problem.strides[1]);
  if (matters(2) && problem.strides[2] != 1) return refuse(Rule::VA3, "strides[2]", problem.strides[2]);

  if (problem.strides[0] % problem.head_dim != 0) return refuse(Rule::VA4, "strides[0]", problem.strides[0]);
  const int64_t stride_rows = problem.strides[0] / problem.head_dim;
  if (problem.num_blocks > 1 && stride_rows < problem.block_size) return refuse(Rule::VA5, "strides[0]", problem.strides[0]);

  // The last row is (num_blocks - 1) * L + S - 1: compared by division, so that nothing overflows.
  if (problem.num_blocks > 0) {
    const int64_t room = kMaxRows - problem.block_size;
    if (room < 0 || (problem.num_blocks > 1 && problem.num_blocks - 1 > room / stride_rows)) {
      return refuse(Rule::VA6, "num_blocks", problem.num_blocks);
    }
  }
  return std::nullopt;
}

FlatRowView flat_row_view(const FlatRowViewProblem& problem) {
  FlatRowView view;
  view.block_stride_rows = problem.strides[0] / problem.head_dim;
  if (problem.num_blocks == 0) return view;
  // The last block's content ends the view, so whatever lies behind it in the storage is out of reach.
  view.num_rows = (problem.num_blocks - 1) * view.block_stride_rows + problem.block_size;
  return view;
}

std::vector<int64_t> gap_rows(const FlatRowViewProblem& problem) {
  const FlatRowView view = flat_row_view(problem);
  std::vector<bool> is_content(size_t(view.num_rows), false);
  for (int64_t block = 0; block < problem.num_blocks; ++block) {
    for (int64_t offset = 0; offset < problem.block_size; ++offset) {
      is_content[size_t(block * view.block_stride_rows + offset)] = true;
    }
  }
  std::vector<int64_t> gaps;
  for (int64_t row = 0; row < view.num_rows; ++row) {
    if (!is_content[size_t(row)]) gaps.push_back(row);
  }
  return gaps;
}

}  // namespace slotproof::spec
