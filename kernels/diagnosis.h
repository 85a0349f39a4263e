#pragma once
// Counts why one row's entries are none, by the remap's own arithmetic (remap_entry.h): whether there is a slot is asked of it,
// and only what has none is looked at more closely.
//
// Shapes and arguments: diagnosis_view.h. Rules G1-G4, G6. Assumes a valid view whose tile fits the team's register tile, and
// nothing about what the tensors hold. The team's index() is the row. Adds to totals[0..8) atomically and, where asked for, writes
// row_counts[row, 0..8); leaves everything else alone. Reads neither req_id nor the block table for a workspace row.
//
// Team: 1, 2, 4 or 8 warps, 16 columns a thread and pass; wider rows take several passes.
// Phases: start; each pass: load, look up, reason, count; gather, publish, (barrier) sum.

#include "kernels/diagnosis_view.h"
#include "kernels/remap.h"

namespace slotproof {

using ReasonCounts = Items<kNumReasons>;

// One byte for each reason. A thread has 16 entries a pass, so no byte runs over into the next.
using PackedReasons = uint64_t;
static_assert(kNumReasons <= 8 && kMostVectorsPerThread * kVectorSize <= UINT8_MAX);

SLOTPROOF_HD PackedReasons packed_reason(int32_t reason, bool is_counted) {
  return PackedReasons{is_counted} << (8 * static_cast<uint32_t>(reason));
}
SLOTPROOF_HD int32_t count_of(PackedReasons counts, ItemIndex reason) {
  return static_cast<int32_t>((counts >> (8 * reason.value())) & 0xffu);
}

// Why a decode row's positions at or above context.limit are none: R5 or R6. Columns are looked for in a row
// of the table that has some; the remap need not know whether a table without columns has the row.
template <class Team>
SLOTPROOF_TEAM NoneReason reason_above_limit(Team& team, const RemapView& view, const RowContext& context) {
  if (context.limit > 0) return NoneReason::kColumn;
  if (view.table_columns > 0) return NoneReason::kRequestRow;
  const int32_t request = team.load(TensorRow<TensorId::kReqId>{view.req_id, view.num_tokens}, team.index());
  const bool has_request = static_cast<uint32_t>(request) < static_cast<uint32_t>(view.num_requests);
  return has_request ? NoneReason::kColumn : NoneReason::kRequestRow;
}

// Of a position that has no entry of the table to look into.
SLOTPROOF_HD NoneReason reason_without_entry(int32_t position, bool is_owned, NoneReason above_limit) {
  if (position < 0) return NoneReason::kPadding;
  return is_owned ? above_limit : NoneReason::kForeignRank;
}
// Of the table's entry for a position, and its offset in the block.
SLOTPROOF_HD NoneReason reason_of_block(const DiagnosisView& view, int32_t base, uint32_t offset) {
  if (slot_of(view.remap, base, offset) != kNone) return NoneReason::kSlot;
  return static_cast<uint32_t>(base) < view.num_blocks ? NoneReason::kUnrepresentable : NoneReason::kPhysicalBlock;
}
SLOTPROOF_HD NoneReason reason_of_workspace(const RowContext& context, int32_t position) {
  if (position < 0) return NoneReason::kPadding;
  return workspace_row_of(context.start, context.limit, position) != kNone ? NoneReason::kSlot : NoneReason::kWorkspace;
}

// Positions in, reasons out.
template <Dcp kDcp, class Team>
SLOTPROOF_TEAM void find_reasons(Team& team, const DiagnosisView& view, const RowContext& context, RegisterTile<Team>& tile) {
  if (context.is_workspace) {
    team.phase("reason", [&](Thread t) {
      unrolled<Team::kVectorsPerThread>(
          [&](ItemIndex v) { unrolled<kVectorSize>([&](ItemIndex e) { tile[t][v][e] = static_cast<int32_t>(reason_of_workspace(context, tile[t][v][e])); }); });
    });
    return;
  }
  const NoneReason above_limit = reason_above_limit(team, view.remap, context);
  // All lookups of the tile are on their way before the first is used. Where there is nothing to look up, the reason takes the
  // place of the offset, as a negative number.
  RegisterTile<Team> bases(team);
  team.phase("look up", [&](Thread t) {
    unrolled<Team::kVectorsPerThread>([&](ItemIndex v) {
      unrolled<kVectorSize>([&](ItemIndex e) {
        const int32_t position = tile[t][v][e];
        const TablePlace place = table_place_of<kDcp, Sizes::kAny>(view.remap, static_cast<uint32_t>(position));
        const bool has_entry = static_cast<uint32_t>(position) < context.limit && place.is_owned;
        bases[t][v][e] = has_entry ? team.load(t, context.table, static_cast<int32_t>(place.column)) : kNone;
        tile[t][v][e] = has_entry ? static_cast<int32_t>(place.offset) : ~static_cast<int32_t>(reason_without_entry(position, place.is_owned, above_limit));
      });
    });
  });
  team.phase("reason", [&](Thread t) {
    unrolled<Team::kVectorsPerThread>([&](ItemIndex v) {
      unrolled<kVectorSize>([&](ItemIndex e) {
        const int32_t offset = tile[t][v][e];
        const NoneReason of_block = reason_of_block(view, bases[t][v][e], static_cast<uint32_t>(offset));
        tile[t][v][e] = offset < 0 ? ~offset : static_cast<int32_t>(of_block);
      });
    });
  });
}

struct WarpReasons {
  static constexpr const char* kName = "warp_reasons";
  static constexpr bool kIsSizedAtLaunch = false;
};

// Of counts that each thread has for each reason: the row's, out to row_counts and totals.
template <class Team>
SLOTPROOF_TEAM void write_counts(Team& team, const DiagnosisView& view, const PerThread<Team, ReasonCounts>& counts) {
  PerThread<Team, int32_t> own(team);  // the warp's count of the reason whose number is the lane's
  unrolled<kNumReasons>([&](ItemIndex c) {
    PerThread<Team, int32_t> count(team);
    team.phase("gather", [&](Thread t) { count[t] = counts[t][c]; });
    const PerThread<Team, int32_t> warp_sum = team.warp_sum(count);
    team.phase("gather", [&](Thread t) {
      if (t.lane() == c.value()) own[t] = warp_sum[t];
    });
  });
  auto warp_reasons = team.template shared<int32_t, Team::kNumWarps * kNumReasons, WarpReasons>();
  team.phase("publish", [&](Thread t) {
    if (t.lane() < kNumReasons) warp_reasons.store(t, t.warp() * kNumReasons + t.lane(), own[t]);
  });
  team.sync();  // The first threads read what every warp wrote.
  team.phase("sum", [&](Thread t) {
    if (t.index >= kNumReasons) return;
    int32_t count = 0;
    SLOTPROOF_UNROLL
    for (int32_t warp = 0; warp < Team::kNumWarps; ++warp) count += warp_reasons.load(t, warp * kNumReasons + t.index);
    if (view.has_row_counts) {
      int32_t* row = view.row_counts + team.index() * view.row_counts_stride;
      team.store(t, TensorRow<TensorId::kRowCounts>{row, kNumReasons}, t.index, count);
    }
    // All rows add to the same few words, so a row leaves out the reasons that it does not have.
    if (count != 0) team.atomic_add(t, TensorRow<TensorId::kTotals>{view.totals, kNumReasons}, t.index, count);
  });
}

template <Dcp kDcp, class Team>
SLOTPROOF_TEAM void diagnose_row(Team& team, const DiagnosisView& view) {
  const auto indices = indices_row<RowLayout::kAny>(view.remap, team.index());
  RegisterTile<Team> tile(team);
  PerThread<Team, ReasonCounts> counts(team);
  team.phase("start", [&](Thread t) { unrolled<kNumReasons>([&](ItemIndex c) { counts[t][c] = 0; }); });
  RowContext context{};
  SLOTPROOF_NO_UNROLL
  for (int32_t begin = 0; begin < view.remap.topk;) {
    const Pass pass = pass_at<RowLayout::kAny, Team>(view.remap, indices, begin);
    load_tile<RowLayout::kAny>(team, indices, pass, tile);
    if (begin == 0) context = row_context_of<Rows::kMixed, RowLayout::kAny>(team, view.remap);  // Behind the loads: both are on their way.
    find_reasons<kDcp>(team, view, context, tile);
    team.phase("count", [&](Thread t) {
      PackedReasons packed = 0;
      unrolled<Team::kVectorsPerThread>([&](ItemIndex v) {
        const int32_t first = first_column_of<Team>(pass, t) + step_to(v);
        // Places outside of the pass hold none too, but are no entries.
        unrolled<kVectorSize>([&](ItemIndex e) { packed += packed_reason(tile[t][v][e], is_inside(pass, first + e.value())); });
      });
      unrolled<kNumReasons>([&](ItemIndex c) { counts[t][c] += count_of(packed, c); });
    });
    begin += pass.size;
  }
  write_counts(team, view, counts);
}

}  // namespace slotproof
