#include "property_tests/harness/bulk.h"

#include "property_tests/device/bulk_elements.h"

#include <algorithm>
#include <map>

namespace slotproof::harness {
namespace {

constexpr int64_t kAlignmentWords = 4;  // 16 bytes

int64_t words_of(const RemapShape& shape, Tensor tensor) {
  switch (tensor) {
    case Tensor::kReqId: return shape.num_tokens;
    case Tensor::kBlockTable: return int64_t{shape.num_requests} * shape.table_storage_columns;
    case Tensor::kTokenIndices: return int64_t{shape.num_tokens} * shape.indices_storage_columns;
    case Tensor::kPrefillRequestId: return shape.has_prefill ? shape.num_tokens : 0;
    case Tensor::kWorkspaceStarts: return shape.has_prefill ? shape.num_starts : 0;
    case Tensor::kSlots: return int64_t{shape.num_tokens} * shape.slots_storage_columns;
    case Tensor::kValidCounts: return shape.has_counts ? shape.num_tokens : 0;
  }
  return 0;
}

static_assert(BulkLayout::kTable == int(Tensor::kBlockTable) && BulkLayout::kStarts == int(Tensor::kWorkspaceStarts));
static_assert(BulkLayout::kSlots == int(Tensor::kSlots) && BulkLayout::kCounts == int(Tensor::kValidCounts));

BulkLayout bulk_layout_of(const RemapShape& shape) {
  BulkLayout layout;
  for (int i = 0; i < kNumTensors; ++i) {
    BulkLayout::Region& region = layout.regions[i];
    region.begin =
        (layout.num_words + BulkLayout::kGuardWords + kAlignmentWords - 1) / kAlignmentWords * kAlignmentWords + shape.misalignment[i] % kAlignmentWords;
    region.size = words_of(shape, Tensor(i));
    layout.num_words = region.begin + region.size + BulkLayout::kGuardWords;
  }
  return layout;
}

}  // namespace

int64_t most_bulk_words(const BulkScale& scale) {
  // A scale of less than a row still makes one: up to 8192 columns and what lies behind them.
  const int64_t wide = std::max<int64_t>(scale.max_indices, std::max(scale.topk, 8192) + 8);
  constexpr int64_t kTable = 256 * (2048 + 8), kStarts = 32, kPadding = kNumTensors * (2 * BulkLayout::kGuardWords + 2 * kAlignmentWords);
  return 2 * wide + 3 * int64_t{scale.max_rows} + kTable + kStarts + kPadding;
}

BulkView make_bulk_view(uint64_t seed, uint64_t batch, const BulkScale& scale) {
  BulkView view;
  view.seed = seed;
  view.batch = batch;
  PhiloxChoices choices(seed, batch);
  view.shape = choose_bulk_shape(choices, scale);
  view.layout = bulk_layout_of(view.shape);
  return view;
}

void set_arena(BulkView& view, int32_t* arena) {
  view.arena = arena;
  const RemapShape& shape = view.shape;
  const auto at = [&](Tensor tensor) { return view.arena + view.layout.regions[size_t(tensor)].begin; };
  RemapArgs& args = view.args = {};
  args.req_id = {at(Tensor::kReqId), shape.num_tokens};
  args.block_table = {at(Tensor::kBlockTable), shape.num_requests, shape.table_columns, shape.table_storage_columns};
  args.token_indices = {at(Tensor::kTokenIndices), shape.num_tokens, shape.topk, shape.indices_storage_columns};
  args.block_size = shape.block_size;
  args.block_stride_rows = shape.block_stride_rows;
  args.num_blocks = shape.num_blocks;
  args.dcp = {shape.dcp_size, shape.dcp_rank, shape.dcp_interleave};
  if (shape.has_prefill) {
    args.prefill_request_id = ConstVector{at(Tensor::kPrefillRequestId), shape.num_tokens};
    args.workspace_starts = ConstVector{at(Tensor::kWorkspaceStarts), shape.num_starts};
    args.num_workspace_rows = shape.num_workspace_rows;
  }
  args.placement = shape.is_compacted ? Placement::kCompacted : Placement::kInPlace;
  args.order = shape.is_any_order ? Order::kUnspecified : Order::kStable;
  args.tile = shape.tile;
  args.slots = {at(Tensor::kSlots), shape.num_tokens, shape.topk, shape.slots_storage_columns};
  if (shape.has_counts) args.valid_counts = MutableVector{at(Tensor::kValidCounts), shape.num_tokens};
}

RemapCase case_of_bulk_rows(const BulkView& view, int32_t row_begin, int32_t row_end) {
  RemapShape shape = view.shape;
  shape.num_tokens = row_end - row_begin;

  // The table rows that these rows use, in the order of their first use. Ids past the table stay as far past it.
  std::vector<int32_t> requests, ids;
  std::map<int32_t, int32_t> new_id_of;
  for (int32_t t = row_begin; t < row_end; ++t) {
    requests.push_back(bulk_request_of(view, t));
    const int32_t request = requests.back();
    if (request < 0 || request >= shape.num_requests || !new_id_of.try_emplace(request, int32_t(ids.size())).second) continue;
    ids.push_back(request);
  }
  if (ids.empty() && shape.num_requests > 0) ids.push_back(0);
  shape.num_requests = int32_t(ids.size());

  RemapCase made = case_of(shape);
  for (int32_t row = 0; row < shape.num_requests; ++row) {
    for (int32_t column = 0; column < shape.table_storage_columns; ++column) {
      made.block_table.at(row, column) = bulk_table_entry_of(view, int64_t{ids[size_t(row)]} * shape.table_storage_columns + column);
    }
  }
  for (int32_t p = 0; shape.has_prefill && p < shape.num_starts; ++p) made.prefill->workspace_starts[size_t(p)] = bulk_start_of(view, p);
  for (int32_t t = row_begin; t < row_end; ++t) {
    const int32_t row = t - row_begin, request = requests[size_t(row)];
    const auto known = new_id_of.find(request);
    const bool is_just_past = request >= view.shape.num_requests && request < view.shape.num_requests + 8;
    made.req_id[size_t(row)] = known != new_id_of.end() ? known->second : is_just_past ? request - view.shape.num_requests + shape.num_requests : request;
    if (shape.has_prefill) made.prefill->request_ids[size_t(row)] = bulk_prefill_id_of(view, t);
    const RowStyle style = bulk_row_style_of(view, t);
    for (int32_t k = 0; k < shape.indices_storage_columns; ++k) made.token_indices.at(row, k) = bulk_position_of(view, style, t, k);
  }
  const auto shift = [&](Tensor tensor, int64_t words) {
    uint8_t& misalignment = made.layout.misalignment[size_t(tensor)];
    misalignment = uint8_t((misalignment + words) % kAlignmentWords);
  };
  for (const Tensor vector : {Tensor::kReqId, Tensor::kPrefillRequestId, Tensor::kValidCounts}) shift(vector, row_begin);
  shift(Tensor::kTokenIndices, int64_t{row_begin} * shape.indices_storage_columns);
  shift(Tensor::kSlots, int64_t{row_begin} * shape.slots_storage_columns);
  return made;
}

}  // namespace slotproof::harness
