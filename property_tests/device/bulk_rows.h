#pragma once
// Makes and judges the rows of a bulk batch. A row belongs to Lanes: a warp on the device, one lane on the host, where tests run the
// same source. Judging evaluates the reference for every entry and reads every word of the row's output storage.

#include "property_tests/device/bulk_corners.h"
#include "property_tests/device/bulk_elements.h"

// A device's lanes exist for nvcc alone, so what is written over lanes is the device's there and the host's elsewhere.
#if defined(__CUDACC__)
#define SLOTPROOF_LANES __device__ __forceinline__
#else
#define SLOTPROOF_LANES inline
#endif

namespace slotproof::harness {

struct HostLanes {
  static constexpr int32_t kWidth = 1;
  int32_t lane() const { return 0; }
  uint32_t ballot(bool mine) const { return mine; }                           // bit i: lane i's
  int32_t num_before(uint32_t ballot) const { return int32_t(ballot & 0u); }  // set bits of lower lanes
  int32_t num_set(uint32_t ballot) const { return int32_t(ballot); }
  BulkCount sum(BulkCount mine) const { return mine; }  // over the lanes, in each
  BulkCount least(BulkCount mine) const { return mine; }
  uint64_t either(uint64_t mine) const { return mine; }                // bitwise or
  void add(BulkCount& total, BulkCount mine) const { total += mine; }  // shared by all rows
  void lower(BulkCount& total, BulkCount mine) const { total = mine < total ? mine : total; }
};

// Word `word` of those that are made one by one: table, workspace starts, then the outputs with their guards.
constexpr int64_t num_filled_words_of(const BulkView& view) {
  const auto& regions = view.layout.regions;
  return regions[BulkLayout::kTable].size + regions[BulkLayout::kStarts].size + view.layout.num_words - regions[BulkLayout::kSlots].begin +
         BulkLayout::kGuardWords;
}
SLOTPROOF_LANES void fill_word(const BulkView& view, int64_t word) {
  const auto& regions = view.layout.regions;
  const auto &table = regions[BulkLayout::kTable], &starts = regions[BulkLayout::kStarts];
  if (word < table.size) {
    view.arena[table.begin + word] = bulk_table_entry_of(view, word);
    return;
  }
  word -= table.size;
  if (word < starts.size) {
    view.arena[starts.begin + word] = bulk_start_of(view, int32_t(word));
    return;
  }
  const int64_t place = regions[BulkLayout::kSlots].begin - BulkLayout::kGuardWords + word - starts.size;
  view.arena[place] = bulk_poison_of(view, place);
}

template <class Lanes>
SLOTPROOF_LANES void make_row(const Lanes& lanes, const BulkView& view, int32_t t) {
  const RemapShape& shape = view.shape;
  if (lanes.lane() == 0) {
    view.arena[view.layout.regions[0].begin + t] = bulk_request_of(view, t);
    if (shape.has_prefill) view.arena[view.layout.regions[3].begin + t] = bulk_prefill_id_of(view, t);
  }
  const RowStyle row = bulk_row_style_of(view, t);
  int32_t* positions = view.arena + view.layout.regions[2].begin + int64_t{t} * shape.indices_storage_columns;
  for (int32_t k = lanes.lane(); k < shape.indices_storage_columns; k += Lanes::kWidth) positions[k] = bulk_position_of(view, row, t, k);
}

// The mismatches of one lane.
struct Mismatches {
  BulkCount num = 0;
  BulkCount first = kNoMismatch;

  constexpr void note(bool differs, int32_t row, int32_t column, BulkMismatch kind) {
    if (!differs) return;
    ++num;
    const BulkCount place = bulk_place_of(row, column, kind);
    if (place < first) first = place;
  }
};

template <class Lanes>
SLOTPROOF_LANES void tell(const Lanes& lanes, const Mismatches& mine, BulkVerdict& verdict) {
  const BulkCount num = lanes.sum(mine.num), first = lanes.least(mine.first);
  if (num == 0 || lanes.lane() != 0) return;
  lanes.add(verdict.num_mismatches, num);
  lanes.lower(verdict.first, first);
}

// A slot as a term of a sum that tells sets apart: what SplitMix64 makes of it.
constexpr BulkCount term_of(int32_t slot) {
  BulkCount z = BulkCount(uint32_t(slot)) * 0x9E3779B97F4A7C15u + 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

// Compares row t of the output with the reference's entries. Returns how many are slots.
template <class Lanes>
SLOTPROOF_LANES int32_t check_entries(const Lanes& lanes, const RemapArgs& args, int32_t t, Mismatches& mismatches) {
  const int32_t topk = args.token_indices.columns;
  const int32_t* positions = args.token_indices.data + t * args.token_indices.row_stride;
  const int32_t* slots = args.slots.data + t * args.slots.row_stride;
  const bool is_compacted = args.placement == Placement::kCompacted;
  const bool is_any_order = is_compacted && args.order == Order::kUnspecified;
  int32_t num_slots = 0;
  BulkCount balance = 0;  // the terms of what is due less those of what is there
  for (int32_t begin = 0; begin < topk; begin += Lanes::kWidth) {
    const int32_t k = begin + lanes.lane();
    const int32_t entry = k < topk ? reference::entry_of(args, t, positions[k]).slot : -1;
    const uint32_t kept = lanes.ballot(entry >= 0);
    if (!is_compacted) {
      if (k < topk) mismatches.note(slots[k] != entry, t, k, BulkMismatch::kEntry);
    } else if (entry >= 0) {
      const int32_t place = num_slots + lanes.num_before(kept);
      if (is_any_order) balance += term_of(entry) - term_of(slots[place]);
      else mismatches.note(slots[place] != entry, t, place, BulkMismatch::kEntry);
    }
    num_slots += lanes.num_set(kept);
  }
  if (is_any_order) mismatches.note(lanes.sum(balance) != 0 && lanes.lane() == 0, t, 0, BulkMismatch::kPrefix);
  if (!is_compacted) return num_slots;
  for (int32_t k = num_slots + lanes.lane(); k < topk; k += Lanes::kWidth) mismatches.note(slots[k] != -1, t, k, BulkMismatch::kTail);
  return num_slots;
}

// What lies around the entries: the gap behind the row, its count, and for some rows the positions themselves.
template <class Lanes>
SLOTPROOF_LANES void check_surroundings(const Lanes& lanes, const BulkView& view, int32_t t, int32_t num_slots, bool has_positions, Mismatches& mismatches) {
  const RemapArgs& args = view.args;
  const int64_t row_begin = view.layout.regions[BulkLayout::kSlots].begin + int64_t{t} * view.shape.slots_storage_columns;
  for (int32_t k = view.shape.topk + lanes.lane(); k < view.shape.slots_storage_columns; k += Lanes::kWidth) {
    mismatches.note(view.arena[row_begin + k] != bulk_poison_of(view, row_begin + k), t, k, BulkMismatch::kGap);
  }
  if (args.valid_counts && lanes.lane() == 0) mismatches.note(args.valid_counts->data[t] != num_slots, t, 0, BulkMismatch::kCount);
  if (!has_positions) return;
  const RowStyle row = bulk_row_style_of(view, t);
  const int32_t* positions = args.token_indices.data + t * args.token_indices.row_stride;
  for (int32_t k = lanes.lane(); k < view.shape.indices_storage_columns; k += Lanes::kWidth) {
    mismatches.note(positions[k] != bulk_position_of(view, row, t, k), t, k, BulkMismatch::kInput);
  }
}

template <class Lanes>
SLOTPROOF_LANES uint64_t corners_of_row(const Lanes& lanes, const RemapArgs& args, int32_t t, int32_t num_slots) {
  const int32_t topk = args.token_indices.columns;
  const int32_t* positions = args.token_indices.data + t * args.token_indices.row_stride;
  uint64_t found = 0;
  BulkCount num_foreign = 0;
  for (int32_t k = lanes.lane(); k < topk; k += Lanes::kWidth) {
    const uint64_t of_entry = entry_corners_of(args, t, positions[k], reference::entry_of(args, t, positions[k]).slot);
    num_foreign += (of_entry & bit_of(BulkCorner::kForeign)) != 0;
    found |= of_entry;
  }
  RowSums sums;
  sums.num_slots = num_slots;
  sums.num_foreign = int32_t(lanes.sum(num_foreign));
  sums.begins_with_none = topk > 0 && reference::entry_of(args, t, positions[0]).slot < 0;
  sums.is_output_misaligned = reinterpret_cast<uintptr_t>(args.slots.data + t * args.slots.row_stride) % 16 != 0;
  return lanes.either(found) | row_corners_of(args, t, sums);
}

// Judges row t of a batch whose kernel has run. Row T stands for the guards of the outputs.
template <class Lanes>
SLOTPROOF_LANES void check_row(const Lanes& lanes, const BulkView& view, int32_t t, BulkVerdict& verdict) {
  Mismatches mismatches;
  if (t < view.shape.num_tokens) {
    const bool is_read_for_corners = t % kBulkCornerRows == int32_t(view.batch % kBulkCornerRows);
    const int32_t num_slots = check_entries(lanes, view.args, t, mismatches);
    check_surroundings(lanes, view, t, num_slots, is_read_for_corners, mismatches);
    if (is_read_for_corners) {
      const uint64_t found = corners_of_row(lanes, view.args, t, num_slots);
      if (lanes.lane() == 0) lanes.add(verdict.num_corner_rows, 1);
      for (int32_t i = lanes.lane(); i < kNumBulkCorners; i += Lanes::kWidth) {
        if (found >> i & 1) lanes.add(verdict.corners[i], 1);
      }
    }
  } else {
    for (int i = lanes.lane(); i < 4 * BulkLayout::kGuardWords; i += Lanes::kWidth) {
      const auto& region = view.layout.regions[i < 2 * BulkLayout::kGuardWords ? BulkLayout::kSlots : BulkLayout::kCounts];
      const int64_t within = i % (2 * BulkLayout::kGuardWords);
      const int64_t place =
          within < BulkLayout::kGuardWords ? region.begin - BulkLayout::kGuardWords + within : region.begin + region.size + within - BulkLayout::kGuardWords;
      mismatches.note(view.arena[place] != bulk_poison_of(view, place), t, i, BulkMismatch::kGuard);
    }
  }
  tell(lanes, mismatches, verdict);
}

}  // namespace slotproof::harness
