#include <slotproof/flat_row_view.h>

namespace slotproof {
namespace {

constexpr int64_t kMaxRows = 2147483647;

long long shown(int64_t x) { return x; }

Status check_extents(const PagedCache& cache) {
  if (cache.num_blocks < 0) {
    return Status::make(StatusCode::kViewNegativeExtent, "VA1: num_blocks is %lld", shown(cache.num_blocks));
  }
  for (int axis = 0; axis < 3; ++axis) {
    if (cache.extents[axis] < 0) {
      return Status::make(StatusCode::kViewNegativeExtent, "VA1: extents[%d] is %lld", axis, shown(cache.extents[axis]));
    }
  }
  if (cache.head_dim < 1 || cache.block_size < 1) {
    return Status::make(StatusCode::kViewBadSize, "VA2: head_dim is %lld and block_size is %lld, both must be at least 1",
                        shown(cache.head_dim), shown(cache.block_size));
  }
  return {};
}

Status check_dense(const PagedCache& cache) {
  const int64_t extents[3] = {cache.num_blocks, cache.block_size, cache.head_dim};
  for (int axis = 0; axis < 3; ++axis) {
    if (cache.extents[axis] != extents[axis]) {
      return Status::make(StatusCode::kViewNotDense, "VA3: extents[%d] is %lld, but the cache has %lld there", axis,
                          shown(cache.extents[axis]), shown(extents[axis]));
    }
  }
  const int64_t strides[3] = {0, cache.head_dim, 1};
  for (int axis = 1; axis < 3; ++axis) {
    // Of an extent of 0 or 1 nobody ever takes a step.
    if (extents[axis] > 1 && cache.strides[axis] != strides[axis]) {
      return Status::make(StatusCode::kViewNotDense, "VA3: strides[%d] is %lld, rows that lie densely need %lld", axis,
                          shown(cache.strides[axis]), shown(strides[axis]));
    }
  }
  return {};
}

}  // namespace

Status flat_row_view(const PagedCache& cache, FlatRowView& view) noexcept {
  if (Status status = check_extents(cache); !status.ok()) return status;
  if (Status status = check_dense(cache); !status.ok()) return status;
  const int64_t block_stride = cache.strides[0];
  if (block_stride % cache.head_dim != 0) {
    return Status::make(StatusCode::kViewSplitRow, "VA4: the block stride %lld is no multiple of head_dim %lld",
                        shown(block_stride), shown(cache.head_dim));
  }
  const int64_t stride_rows = block_stride / cache.head_dim;
  if (cache.num_blocks > 1 && stride_rows < cache.block_size) {
    return Status::make(StatusCode::kViewOverlap, "VA5: blocks are %lld rows apart, but have block_size %lld rows",
                        shown(stride_rows), shown(cache.block_size));
  }
  // (num_blocks - 1) * L + S <= kMaxRows, said without a product.
  const bool has_room = cache.num_blocks == 0 || (cache.block_size <= kMaxRows &&
      (cache.num_blocks == 1 || cache.num_blocks - 1 <= (kMaxRows - cache.block_size) / stride_rows));
  if (!has_room) {
    return Status::make(StatusCode::kViewTooManyRows,
                        "VA6: num_blocks %lld, block stride %lld rows, block_size %lld make more than 2147483647 rows",
                        shown(cache.num_blocks), shown(stride_rows), shown(cache.block_size));
  }
  view.block_stride_rows = stride_rows;
  view.num_rows = cache.num_blocks == 0   ? 0
                  : cache.num_blocks == 1 ? cache.block_size
                                          : (cache.num_blocks - 1) * stride_rows + cache.block_size;
  return {};
}

}  // namespace slotproof
