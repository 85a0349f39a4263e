#pragma once
// The elements of a bulk batch by number: each from a stream of its own, on the host and on the device.

#include "property_tests/device/bulk_view.h"
#include "property_tests/harness/choices.h"

namespace slotproof::harness {

// What the streams of a batch are for. Stream 0 made the shape.
enum class BulkPart : uint32_t { kShape, kReqId, kTable, kPositions, kPrefillId, kStart, kRowStyle };

constexpr PhiloxChoices bulk_choices_of(const BulkView& view, BulkPart part, int64_t element) {
  return PhiloxChoices(view.seed, view.batch, uint32_t(part), uint64_t(element));
}

constexpr int32_t bulk_request_of(const BulkView& view, int32_t t) {
  PhiloxChoices choices = bulk_choices_of(view, BulkPart::kReqId, t);
  return request_of(view.shape, choices);
}
constexpr int32_t bulk_prefill_id_of(const BulkView& view, int32_t t) {
  PhiloxChoices choices = bulk_choices_of(view, BulkPart::kPrefillId, t);
  return prefill_id_of(view.shape, choices);
}
constexpr int32_t bulk_start_of(const BulkView& view, int32_t p) {
  PhiloxChoices choices = bulk_choices_of(view, BulkPart::kStart, p);
  return workspace_start_of(view.shape, choices);
}
constexpr int32_t bulk_table_entry_of(const BulkView& view, int64_t element) {  // of the storage
  PhiloxChoices choices = bulk_choices_of(view, BulkPart::kTable, element);
  return table_entry_of(view.shape, choices);
}
constexpr RowStyle bulk_row_style_of(const BulkView& view, int32_t t) {
  int64_t workspace_edge = 0;
  if (view.shape.has_prefill) {
    const int32_t prefill_id = bulk_prefill_id_of(view, t);
    if (prefill_id >= 0 && prefill_id < view.shape.num_starts) workspace_edge = workspace_edge_of(view.shape, bulk_start_of(view, prefill_id));
  }
  PhiloxChoices choices = bulk_choices_of(view, BulkPart::kRowStyle, t);
  return row_style_of(view.shape, workspace_edge, choices);
}
constexpr int32_t bulk_position_of(const BulkView& view, const RowStyle& row, int32_t t, int32_t k) {
  PhiloxChoices choices = bulk_choices_of(view, BulkPart::kPositions, int64_t{t} * view.shape.indices_storage_columns + k);
  return position_of(view.shape, row, k, choices);
}

// What the outputs, their gaps and their guards hold before the launch: valid-looking slots, another for every word and batch.
constexpr int32_t bulk_poison_of(const BulkView& view, int64_t word) {
  uint32_t mixed = uint32_t(word) * 0x9E3779B9u ^ uint32_t(view.batch) * 0x85EBCA6Bu ^ uint32_t(view.seed);
  mixed = (mixed ^ mixed >> 16) * 0xC2B2AE35u;
  return int32_t((mixed ^ mixed >> 13) >> 1);
}

}  // namespace slotproof::harness
