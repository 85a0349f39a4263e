#include "kernels/remap_view.h"

#include <algorithm>
#include <type_traits>

namespace slotproof {
namespace {

static_assert(std::is_trivially_copyable_v<RemapView>);

// A tensor without columns may have no memory in which to step from row to row.
int64_t stride_of(int32_t columns, int64_t row_stride) {
  return columns > 0 ? row_stride : 0;
}

uint32_t limit_of(const std::optional<int64_t>& limit) {
  return static_cast<uint32_t>(std::min(limit.value_or(kEndOfPositions), kEndOfPositions));
}

}  // namespace

RemapView make_view(const RemapArgs& args, int32_t tile) noexcept {
  RemapView view{};
  view.req_id = args.req_id.data;
  view.block_table = args.block_table.data;
  view.token_indices = args.token_indices.data;
  view.slots = args.slots.data;
  view.block_table_stride = stride_of(args.block_table.columns, args.block_table.row_stride);
  view.token_indices_stride = stride_of(args.token_indices.columns, args.token_indices.row_stride);
  view.slots_stride = stride_of(args.slots.columns, args.slots.row_stride);
  view.num_tokens = args.token_indices.rows;
  view.topk = args.token_indices.columns;
  view.num_requests = args.block_table.rows;
  view.table_columns = args.block_table.columns;
  view.tile = tile;
  const int64_t column_span = std::min(int64_t{args.dcp.size} * args.block_size, kEndOfPositions);
  view.column_span = fast_divisor(static_cast<uint32_t>(column_span));
  view.table_end = static_cast<uint32_t>(std::min(args.block_table.columns * column_span, kEndOfPositions));
  const int64_t block_stride = std::min(args.block_stride_rows, kEndOfPositions);
  view.block_stride = static_cast<uint32_t>(block_stride);
  // base * L <= 2^31 - 1 for every base below the limit, so adding an offset below S <= 2^31 - 1 does not wrap either.
  const auto last_base = static_cast<uint32_t>((kEndOfPositions - 1) / block_stride);
  view.base_limit = std::min(limit_of(args.num_blocks), last_base + 1);
  view.workspace_limit = limit_of(args.num_workspace_rows);
  view.ranks = rank_divisors(args.dcp.size, args.dcp.rank, args.dcp.interleave);
  if (args.prefill_request_id && args.workspace_starts) {
    view.has_prefill = true;
    view.prefill_request_id = args.prefill_request_id->data;
    view.workspace_starts = args.workspace_starts->data;
    view.num_prefills = args.workspace_starts->size;
  }
  if (args.valid_counts) {
    view.has_counts = true;
    view.valid_counts = args.valid_counts->data;
  }
  return view;
}

bool writes_nothing(const RemapArgs& args) noexcept {
  return args.token_indices.rows == 0 || (args.token_indices.columns == 0 && !args.valid_counts);
}

}  // namespace slotproof
