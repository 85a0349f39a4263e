#pragma once
// Rewrites one row's positions as slots, in place or moved to the front of the row, and counts them.
//
// Shapes and arguments: remap_view.h. Rules R1-R15. Assumes a valid view whose tile fits the team's register tile, and
// nothing about what the tensors hold. The team's index() is the row. Writes slots[row, 0..K) and, where asked for,
// valid_counts[row]; leaves everything else alone. Reads neither req_id nor the block table for a workspace row.
//
// Team: 1 to 8 warps, 4, 8 or 16 columns a thread and pass; wider rows take several passes. In place and without counts the
// passes of a row may be dealt out over several teams, by part() and num_parts(); else num_parts() is 1.
// Phases in place: start; each pass: load, look up, translate, store, count; for counts: publish, (barrier) sum.
// Phases compacted: each pass: load, look up, translate, count, compaction.h with its barrier, stage, (barrier) store; sum.
// With Lookup::kStaged, the first pass's load is followed by table_staging.h with its barrier.
//
// No access to shared memory that every entry makes is conditional: the compiler works out the address of a predicated one anew
// each time. What an entry does not need goes to a word that nobody else minds.

#include "kernels/compaction.h"
#include "kernels/register_tile.h"
#include "kernels/remap_entry.h"
#include "kernels/table_staging.h"

namespace slotproof {

// What the entries of a row have in common.
struct RowContext {
  bool is_workspace;
  uint32_t start;                          // of a workspace row's request
  uint32_t limit;                          // workspace rows, or positions of the table; 0 where the row has no slots at all
  TensorRow<TensorId::kBlockTable> table;  // of a decode row with slots
};

// With RowLayout::kFull strides are below 2^32, and a product of 32-bit numbers is enough.
template <RowLayout kLayout>
SLOTPROOF_HD int64_t row_offset(int32_t row, int64_t stride) {
  if constexpr (kLayout == RowLayout::kAny) return row * stride;
  return static_cast<int64_t>(static_cast<uint64_t>(static_cast<uint32_t>(row)) * static_cast<uint32_t>(stride));
}

template <Rows kRows, RowLayout kLayout, class Team>
SLOTPROOF_TEAM RowContext row_context_of(Team& team, const RemapView& view) {
  const int32_t row = team.index();
  RowContext context{false, 0, 0, {nullptr, 0}};
  if (kRows == Rows::kMixed && view.has_prefill) {
    const int32_t prefill = team.load(TensorRow<TensorId::kPrefillRequestId>{view.prefill_request_id, view.num_tokens}, row);
    if (prefill >= 0) {
      context.is_workspace = true;
      if (prefill >= view.num_prefills) return context;
      const int32_t start = team.load(TensorRow<TensorId::kWorkspaceStarts>{view.workspace_starts, view.num_prefills}, prefill);
      context.start = static_cast<uint32_t>(start);
      context.limit = start >= 0 ? view.workspace_limit : 0;
      return context;
    }
  }
  const int32_t request = team.load(TensorRow<TensorId::kReqId>{view.req_id, view.num_tokens}, row);
  const bool has_row = static_cast<uint32_t>(request) < static_cast<uint32_t>(view.num_requests);
  context.limit = has_row ? view.table_end : 0;
  // Selections, no branch: behind one, parameters could not be read as what they are, the same for every thread.
  context.table = {worked_out(view.block_table + row_offset<kLayout>(has_row ? request : 0, view.block_table_stride)), has_row ? view.table_columns : 0};
  return context;
}

// The row's context; where lookups are staged, the table's row is ready for them. A workspace row needs none.
template <RowForm kForm, class Team>
SLOTPROOF_TEAM RowContext begin_row(Team& team, const RemapView& view) {
  const RowContext context = row_context_of<kForm.rows, kForm.layout>(team, view);
  if constexpr (kForm.lookup == Lookup::kStaged) {
    if (!context.is_workspace) stage_table(team, context.table);
  }
  return context;
}

// A decode row: positions in; out the entries of the table, kNone where there is none, and the offsets in the block.
template <RowForm kForm, class Team>
SLOTPROOF_TEAM void look_up(Team& team, const RemapView& view, const RowContext& context, RegisterTile<Team>& tile, RegisterTile<Team>& bases) {
  team.phase("look up", [&](Thread t) {
    unrolled<Team::kVectorsPerThread>([&](ItemIndex v) {
      unrolled<kVectorSize>([&](ItemIndex e) {
        const auto position = static_cast<uint32_t>(tile[t][v][e]);  // A negative one is above every limit.
        TablePlace place;
        if constexpr (kForm.lookup == Lookup::kStaged && kForm.dcp == Dcp::kOff) {
          // The position behind the table stands for all that have no column (R1, R5, R6): in the copy there is none there.
          place = table_place_of<kForm.dcp, kForm.sizes>(view, position < context.limit ? position : context.limit);
          bases[t][v][e] = staged_table(team).load(t, static_cast<int32_t>(place.column));
        } else {
          place = table_place_of<kForm.dcp, kForm.sizes>(view, position);
          const bool has_entry = position < context.limit && place.is_owned;
          if constexpr (kForm.lookup == Lookup::kStaged) {
            bases[t][v][e] = staged_table(team).load(t, has_entry ? static_cast<int32_t>(place.column) : context.table.size);
          } else {
            bases[t][v][e] = has_entry ? team.load(t, context.table, static_cast<int32_t>(place.column)) : kNone;
          }
        }
        tile[t][v][e] = static_cast<int32_t>(place.offset);
      });
    });
  });
}

// Positions in, slots out.
template <RowForm kForm, class Team>
SLOTPROOF_TEAM void translate(Team& team, const RemapView& view, const RowContext& context, RegisterTile<Team>& tile) {
  if (context.is_workspace) {
    team.phase("translate", [&](Thread t) {
      unrolled<Team::kVectorsPerThread>(
          [&](ItemIndex v) { unrolled<kVectorSize>([&](ItemIndex e) { tile[t][v][e] = workspace_row_of(context.start, context.limit, tile[t][v][e]); }); });
    });
    return;
  }
  // All lookups of the tile are on their way before the first is used.
  RegisterTile<Team> bases(team);
  look_up<kForm>(team, view, context, tile, bases);
  team.phase("translate", [&](Thread t) {
    unrolled<Team::kVectorsPerThread>(
        [&](ItemIndex v) { unrolled<kVectorSize>([&](ItemIndex e) { tile[t][v][e] = slot_of(view, bases[t][v][e], static_cast<uint32_t>(tile[t][v][e])); }); });
  });
}

template <RowLayout kLayout>
SLOTPROOF_HD TensorRow<TensorId::kTokenIndices> indices_row(const RemapView& view, int32_t row) {
  return {view.token_indices + row_offset<kLayout>(row, view.token_indices_stride), view.topk};
}
template <RowLayout kLayout>
SLOTPROOF_HD TensorRow<TensorId::kSlots> slots_row(const RemapView& view, int32_t row) {
  return {view.slots + row_offset<kLayout>(row, view.slots_stride), view.topk};
}
SLOTPROOF_HD TensorRow<TensorId::kValidCounts> counts_row(const RemapView& view) {
  return {view.valid_counts, view.num_tokens};
}

template <RowLayout kLayout, class Team>
SLOTPROOF_HD Pass pass_at(const RemapView& view, TensorRow<TensorId::kTokenIndices> indices, int32_t begin) {
  if constexpr (kLayout == RowLayout::kFull) return {begin, kTileCapacity<Team>, 0};
  const int32_t left = view.topk - begin;
  return {begin, view.tile < left ? view.tile : left, vector_phase_of(indices.data + begin)};
}

// 1 for none, 0 for a slot: what is no slot is negative, places outside of the pass among it.
SLOTPROOF_HD int32_t count_of_none(int32_t slot) {
  return static_cast<int32_t>(static_cast<uint32_t>(slot) >> 31);
}

struct WarpCount {
  static constexpr const char* kName = "warp_count";
  static constexpr bool kIsSizedAtLaunch = false;
};

template <RowForm kForm, class Team>
SLOTPROOF_TEAM void remap_row_in_place(Team& team, const RemapView& view) {
  const auto indices = indices_row<kForm.layout>(view, team.index());
  const auto slots = slots_row<kForm.layout>(view, team.index());
  RegisterTile<Team> tile(team);
  PerThread<Team, int32_t> kept(team);
  team.phase("start", [&](Thread t) { kept[t] = 0; });
  RowContext context{};
  // As unsigned numbers: one step behind the last column of the widest row is below 2^32.
  constexpr bool kOnePass = kForm.layout == RowLayout::kFull;
  const int32_t tile_columns = kOnePass ? kTileCapacity<Team> : view.tile;
  const auto first_pass = static_cast<uint32_t>(team.part() * tile_columns);
  const auto step = static_cast<uint32_t>(team.num_parts() * tile_columns);
  SLOTPROOF_NO_UNROLL
  for (uint32_t begin = first_pass; kOnePass || begin < static_cast<uint32_t>(view.topk); begin += step) {
    const Pass pass = pass_at<kForm.layout, Team>(view, indices, static_cast<int32_t>(begin));
    load_tile<kForm.layout>(team, indices, pass, tile);
    if (begin == first_pass) context = begin_row<kForm>(team, view);  // Behind the loads: both are on their way at once.
    translate<kForm>(team, view, context, tile);
    store_tile<kForm.layout>(team, slots, pass, tile);
    if (view.has_counts) {
      team.phase("count", [&](Thread t) {
        kept[t] += Team::kVectorsPerThread * kVectorSize;
        unrolled<Team::kVectorsPerThread>([&](ItemIndex v) { unrolled<kVectorSize>([&](ItemIndex e) { kept[t] -= count_of_none(tile[t][v][e]); }); });
      });
    }
    if constexpr (kOnePass) break;
  }
  if (!view.has_counts) return;
  const PerThread<Team, int32_t> warp_sum = team.warp_sum(kept);
  auto warp_count = team.template shared<int32_t, Team::kNumWarps, WarpCount>();
  team.phase("publish", [&](Thread t) {
    if (t.lane() == 0) warp_count.store(t, t.warp(), warp_sum[t]);
  });
  team.sync();  // Thread 0 reads what every warp wrote.
  team.phase("sum", [&](Thread t) {
    if (t.index != 0) return;
    int32_t count = 0;
    SLOTPROOF_UNROLL
    for (int32_t warp = 0; warp < Team::kNumWarps; ++warp) count += warp_count.load(t, warp);
    team.store(t, counts_row(view), team.index(), count);
  });
}

struct Staged {
  static constexpr const char* kName = "staged";
  static constexpr bool kIsSizedAtLaunch = false;
};

// What one pass adds to the compacted row: staged[lead, kept_end) go to the columns from `done` on. `lead`, 0 ... 3, puts the
// vectors of `staged` on the 16-byte boundaries of the output row. From kept_end to end the columns get kNone; the first four
// of them are staged, too, so that a vector with an entry is a vector of the array.
struct Sweep {
  int32_t done;
  uint32_t lead;
  uint32_t kept_end;
  uint32_t end;
};

template <class SharedArray>
SLOTPROOF_TEAM Vector swept_vector(Thread t, const Sweep& sweep, const SharedArray& staged, uint32_t j) {
  Vector x;
  unrolled<kVectorSize>([&](ItemIndex e) { x[e] = kNone; });
  if (j < sweep.kept_end) x = staged.template load_vector<kVectorSize>(t, static_cast<int32_t>(j));
  return x;
}

template <RowLayout kLayout, class Team, class SharedArray>
SLOTPROOF_TEAM void store_sweep(Team& team, TensorRow<TensorId::kSlots> slots, const Sweep& sweep, const SharedArray& staged) {
  team.phase("store", [&](Thread t) {
    const uint32_t first = static_cast<uint32_t>(t.index) * kVectorSize;
    constexpr uint32_t kStep = Team::kWidth * kVectorSize;
    if constexpr (kLayout == RowLayout::kFull) {  // all of the row, from its first column on
      unrolled<Team::kVectorsPerThread>([&](ItemIndex v) {
        const uint32_t j = first + static_cast<uint32_t>(v.value()) * kStep;
        team.template store_vector<kVectorSize>(t, slots, static_cast<int32_t>(j), swept_vector(t, sweep, staged, j));
      });
    } else {
      SLOTPROOF_NO_UNROLL
      for (uint32_t j = first; j < sweep.end; j += kStep) {
        const int32_t column = sweep.done + static_cast<int32_t>(j - sweep.lead);
        const Vector x = swept_vector(t, sweep, staged, j);
        if (j >= sweep.lead && j + kVectorSize <= sweep.end) {
          team.template store_vector<kVectorSize>(t, slots, column, x);
        } else {
          unrolled<kVectorSize>([&](ItemIndex e) {
            const uint32_t i = j + static_cast<uint32_t>(e.value());
            if (i >= sweep.lead && i < sweep.end) team.store(t, slots, column + e.value(), x[e]);
          });
        }
      }
    }
  });
}

template <RowForm kForm, class Team>
SLOTPROOF_TEAM void remap_row_compacted(Team& team, const RemapView& view) {
  const auto indices = indices_row<kForm.layout>(view, team.index());
  const auto slots = slots_row<kForm.layout>(view, team.index());
  // Behind the staging area, with room for a lead and for the end of the last vector, each thread has a word for what it drops.
  constexpr int32_t kDropped = kTileCapacity<Team> + 2 * kVectorSize;
  auto staged = team.template shared<int32_t, kDropped + Team::kWidth, Staged>();
  RegisterTile<Team> tile(team);
  RowContext context{};
  int32_t done = 0;  // columns of the output that have their slot
  SLOTPROOF_NO_UNROLL
  for (int32_t begin = 0; begin < view.topk;) {
    const Pass pass = pass_at<kForm.layout, Team>(view, indices, begin);
    load_tile<kForm.layout>(team, indices, pass, tile);
    if (begin == 0) context = begin_row<kForm>(team, view);  // Behind the loads, so that both are on their way at once.
    translate<kForm>(team, view, context, tile);
    PerThread<Team, PackedCounts> kept(team);
    team.phase("count", [&](Thread t) {
      kept[t] = 0;
      unrolled<Team::kVectorsPerThread>([&](ItemIndex v) {
        int32_t none = 0;
        unrolled<kVectorSize>([&](ItemIndex e) { none += count_of_none(tile[t][v][e]); });
        kept[t] += packed_count(v, static_cast<uint32_t>(kVectorSize - none));
      });
    });
    PerThread<Team, Items<Team::kVectorsPerThread>> places(team);
    const int32_t total = exclusive_places(team, kept, places);
    begin += pass.size;
    const uint32_t lead = kForm.layout == RowLayout::kFull ? 0 : static_cast<uint32_t>(vector_phase_of(slots.data + done));
    const uint32_t kept_end = lead + static_cast<uint32_t>(total);
    const uint32_t end = begin < view.topk ? kept_end : lead + static_cast<uint32_t>(view.topk - done);
    // The barrier inside exclusive_places keeps these writes behind the last pass's reads of `staged`.
    team.phase("stage", [&](Thread t) {
      unrolled<Team::kVectorsPerThread>([&](ItemIndex v) {
        int32_t place = static_cast<int32_t>(lead) + places[t][v];
        unrolled<kVectorSize>([&](ItemIndex e) {
          const bool is_kept = tile[t][v][e] >= 0;
          staged.store(t, is_kept ? place : kDropped + t.index, tile[t][v][e]);
          place += is_kept;
        });
      });
      if (t.index < kVectorSize) {
        staged.store(t, static_cast<int32_t>(kept_end) + t.index, kNone);
        if (t.index < static_cast<int32_t>(lead)) staged.store(t, t.index, kNone);
      }
    });
    // The row is staged in any order and leaves in vectors. It also keeps the next pass's write of warp_kept behind this
    // pass's reads, so a pass needs these two barriers and no third.
    team.sync();
    store_sweep<kForm.layout>(team, slots, {done, lead, kept_end, end}, staged);
    done += total;
    if constexpr (kForm.layout == RowLayout::kFull) break;  // the planner's promise: one pass
  }
  if (!view.has_counts) return;
  team.phase("sum", [&](Thread t) {
    if (t.index == 0) team.store(t, counts_row(view), team.index(), done);
  });
}

template <RowForm kForm, class Team>
SLOTPROOF_TEAM void remap_row(Team& team, const RemapView& view) {
  if constexpr (kForm.placement == Placement::kInPlace) {
    remap_row_in_place<kForm>(team, view);
  } else {
    remap_row_compacted<kForm>(team, view);
  }
}

}  // namespace slotproof
