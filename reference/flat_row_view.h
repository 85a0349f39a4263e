#pragma once
// The flat row view of a paged cache [num_blocks, block_size, head_dim]: row b * L + offset holds (block b, offset).

#include "reference/arguments.h"

#include <type_traits>

namespace slotproof::reference {

struct FlatRowView {
  int64_t num_rows = 0, block_stride_rows = 0, head_dim = 0;  // block_stride_rows is L
};

// The view, or the first of VA1 ... VA6 that the cache breaks.
Result<FlatRowView> flat_kv_row_view(const spec::FlatRowViewProblem& problem);

// The rows in the cache's own memory: [num_rows, head_dim], head_dim apart. Those between blocks belong to others (V5).
template <class Element>
auto rows_of(const FlatRowView& view, Element* cache) {
  using Rows = Eigen::Matrix<std::remove_const_t<Element>, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using MaybeConstRows = std::conditional_t<std::is_const_v<Element>, const Rows, Rows>;
  return Eigen::Map<MaybeConstRows>(cache, view.num_rows, view.head_dim);
}

}  // namespace slotproof::reference
