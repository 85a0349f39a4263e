#pragma once
// The flat row view of a paged cache [num_blocks, block_size, head_dim]: one number for each (block, offset), with the rows
// between two blocks left to others. Rules V1-V5.

#include <slotproof/status.h>

#include <cstdint>

namespace slotproof {

struct PagedCache {
  int64_t num_blocks = 0;
  int64_t block_size = 1;  // S, tokens
  int64_t head_dim = 1;    // elements of a row
  int64_t extents[3] = {0, 1, 1};
  int64_t strides[3] = {1, 1, 1};  // elements
};

// Row (b, o) of the cache is row b * block_stride_rows + o of the view, head_dim elements long, and begins
// head_dim times that number of elements after the cache's first element.
struct FlatRowView {
  int64_t num_rows = 0;
  int64_t block_stride_rows = 0;  // L
};

// Writes the view, or returns the first of VA1-VA6 that fails (the kView codes) and leaves the view alone.
Status flat_row_view(const PagedCache& cache, FlatRowView& view) noexcept;

}  // namespace slotproof
