#pragma once
// The columns that a team holds in registers during one pass over a row: 16 a thread, as 4 vectors of 4. A warp's vectors of
// one number lie side by side in memory, so its 32 loads are one run of 512 bytes.
//
// Place of (warp w, vector v, lane l, element e): w * 512 + v * 128 + l * 4 + e. Row order is the order of these places.
//
// load_tile:  row [K] -> tile; none outside of the pass. Reads the pass's columns and no others.
// store_tile: tile -> row [K]. Writes the pass's columns and leaves all others alone.
// Both run one phase. 16-byte accesses wherever a whole vector lies in the pass and on a boundary, single ones elsewhere.

#include "kernels/team/team.h"

namespace slotproof {

inline constexpr int32_t kNone = -1;  // what is no slot; also a position that has none (R1)

inline constexpr int kVectorSize = 4;
inline constexpr int kVectorsPerThread = 4;
inline constexpr int kItemsPerThread = kVectorSize * kVectorsPerThread;

using Vector = Items<kVectorSize>;
using RegisterTile = Items<kVectorsPerThread, Vector>;

constexpr int32_t tile_capacity(int32_t team_width) { return team_width * kItemsPerThread; }

// Columns [begin, begin + size) of a row. Place p of the tile is column begin + p - shift; the shift, 0 ... 3, puts the
// tile's vectors on the 16-byte boundaries of the input row. shift + size <= tile capacity.
struct Pass {
  int32_t begin;
  int32_t size;
  int32_t shift;
};

// Of a thread's vector v: the number of its first column, counted from the pass's begin. Negative before it.
SLOTPROOF_HD int32_t first_column_of(const Pass& pass, Thread t, ItemIndex v) {
  const int32_t place = t.warp() * (kWarpSize * kItemsPerThread) + v.value() * (kWarpSize * kVectorSize) + t.lane() * kVectorSize;
  return place - pass.shift;
}
SLOTPROOF_HD bool is_whole(const Pass& pass, int32_t first) { return first >= 0 && first <= pass.size - kVectorSize; }
SLOTPROOF_HD bool is_inside(const Pass& pass, int32_t column) {
  return static_cast<uint32_t>(column) < static_cast<uint32_t>(pass.size);
}

template <class Team, TensorId Id>
SLOTPROOF_TEAM void load_tile(Team& team, TensorRow<Id> row, const Pass& pass, PerThread<Team, RegisterTile>& tile) {
  team.phase("load", [&](Thread t) {
    unrolled<kVectorsPerThread>([&](ItemIndex v) {
      const int32_t first = first_column_of(pass, t, v);
      if (is_whole(pass, first)) {
        tile[t][v] = team.template load_vector<kVectorSize>(t, row, pass.begin + first);
      } else {
        unrolled<kVectorSize>([&](ItemIndex e) {
          const int32_t column = first + e.value();
          tile[t][v][e] = is_inside(pass, column) ? team.load(t, row, pass.begin + column) : kNone;
        });
      }
    });
  });
}

template <class Team, TensorId Id>
SLOTPROOF_TEAM void store_tile(Team& team, TensorRow<Id> row, const Pass& pass, const PerThread<Team, RegisterTile>& tile) {
  // The vectors follow the input's boundaries; the output's are the same ones, or none of them is.
  const bool is_aligned = (vector_phase_of(row.data) + pass.begin - pass.shift) % kVectorSize == 0;
  team.phase("store", [&](Thread t) {
    unrolled<kVectorsPerThread>([&](ItemIndex v) {
      const int32_t first = first_column_of(pass, t, v);
      if (is_aligned && is_whole(pass, first)) {
        team.template store_vector<kVectorSize>(t, row, pass.begin + first, tile[t][v]);
      } else {
        unrolled<kVectorSize>([&](ItemIndex e) {
          const int32_t column = first + e.value();
          if (is_inside(pass, column)) team.store(t, row, pass.begin + column, tile[t][v][e]);
        });
      }
    });
  });
}

}  // namespace slotproof
