#pragma once
// The columns that a team holds in registers during one pass over a row: 4 to 16 a thread, as 1 to 4 vectors of 4. A warp's vectors
// of one number lie side by side in memory, so its 32 loads are one run of 512 bytes.
//
// Place of (warp w, vector v of V, lane l, element e): w * V * 128 + v * 128 + l * 4 + e. Row order is the order of these places.
//
// load_tile:  row [K] -> tile; none outside of the pass. Reads the pass's columns and no others.
// store_tile: tile -> row [K]. Writes the pass's columns and leaves all others alone.
// Both run one phase. 16-byte accesses wherever a whole vector lies in the pass and on a boundary, single ones elsewhere.
// With RowLayout::kFull there is no elsewhere: every row begins on a boundary, and the pass fills the tile.

#include "kernels/team/team.h"

namespace slotproof {

inline constexpr int32_t kNone = -1;  // what is no slot; also a position that has none (R1)

inline constexpr int kVectorSize = 4;
inline constexpr int kMostVectorsPerThread = 4;

using Vector = Items<kVectorSize>;
template <class Team>
using RegisterTile = PerThread<Team, Items<Team::kVectorsPerThread, Vector>>;

constexpr int32_t tile_capacity(int32_t team_width, int32_t vectors_per_thread) {
  return team_width * vectors_per_thread * kVectorSize;
}
template <class Team>
inline constexpr int32_t kTileCapacity = tile_capacity(Team::kWidth, Team::kVectorsPerThread);

// Columns [begin, begin + size) of a row. Place p of the tile is column begin + p - shift; the shift, 0 ... 3, puts the
// tile's vectors on the 16-byte boundaries of the input row. shift + size <= tile capacity.
struct Pass {
  int32_t begin;
  int32_t size;
  int32_t shift;
};

inline constexpr int32_t kVectorStep = kWarpSize * kVectorSize;  // columns from one vector of a thread to its next

// The number of a thread's first column, counted from the pass's begin; negative before it. Its vector v is v * kVectorStep on:
// a constant, so that one address serves all of a thread's vectors.
template <class Team>
SLOTPROOF_HD int32_t first_column_of(const Pass& pass, Thread t) {
  return t.warp() * (Team::kVectorsPerThread * kVectorStep) + t.lane() * kVectorSize - pass.shift;
}
SLOTPROOF_HD int32_t step_to(ItemIndex v) {
  return v.value() * kVectorStep;
}

SLOTPROOF_HD bool is_inside(const Pass& pass, int32_t column) {
  return static_cast<uint32_t>(column) < static_cast<uint32_t>(pass.size);
}
// One above the last column where a whole vector begins; 0 where there is none.
SLOTPROOF_HD uint32_t end_of_whole_vectors(const Pass& pass) {
  return pass.size >= kVectorSize ? static_cast<uint32_t>(pass.size - kVectorSize + 1) : 0;
}

// How the rows of indices and slots lie in memory. kFull: on 16-byte boundaries, and every pass has the tile's columns.
enum class RowLayout : uint8_t { kAny, kFull };

template <RowLayout kLayout, class Team, TensorId Id>
SLOTPROOF_TEAM void load_tile(Team& team, TensorRow<Id> row, const Pass& pass, RegisterTile<Team>& tile) {
  if constexpr (kLayout == RowLayout::kFull) {
    team.phase("load", [&](Thread t) {
      const int32_t column = pass.begin + first_column_of<Team>(pass, t);
      unrolled<Team::kVectorsPerThread>([&](ItemIndex v) { tile[t][v] = team.template load_vector<kVectorSize>(t, row, column + step_to(v)); });
    });
    return;
  }
  const uint32_t whole_end = end_of_whole_vectors(pass);
  team.phase("load", [&](Thread t) {
    const int32_t first = first_column_of<Team>(pass, t);
    const int32_t column = pass.begin + first;
    unrolled<Team::kVectorsPerThread>([&](ItemIndex v) {
      if (static_cast<uint32_t>(first + step_to(v)) < whole_end) {
        tile[t][v] = team.template load_vector<kVectorSize>(t, row, column + step_to(v));
      } else {
        unrolled<kVectorSize>([&](ItemIndex e) {
          const bool inside = is_inside(pass, first + step_to(v) + e.value());
          tile[t][v][e] = inside ? team.load(t, row, column + step_to(v) + e.value()) : kNone;
        });
      }
    });
  });
}

template <RowLayout kLayout, class Team, TensorId Id>
SLOTPROOF_TEAM void store_tile(Team& team, TensorRow<Id> row, const Pass& pass, const RegisterTile<Team>& tile) {
  if constexpr (kLayout == RowLayout::kFull) {
    team.phase("store", [&](Thread t) {
      const int32_t column = pass.begin + first_column_of<Team>(pass, t);
      unrolled<Team::kVectorsPerThread>([&](ItemIndex v) { team.template store_vector<kVectorSize>(t, row, column + step_to(v), tile[t][v]); });
    });
    return;
  }
  // The vectors follow the input's boundaries; the output's are the same ones, or none of them is.
  const bool is_aligned = (vector_phase_of(row.data) + pass.begin - pass.shift) % kVectorSize == 0;
  const uint32_t whole_end = is_aligned ? end_of_whole_vectors(pass) : 0;
  team.phase("store", [&](Thread t) {
    const int32_t first = first_column_of<Team>(pass, t);
    const int32_t column = pass.begin + first;
    unrolled<Team::kVectorsPerThread>([&](ItemIndex v) {
      if (static_cast<uint32_t>(first + step_to(v)) < whole_end) {
        team.template store_vector<kVectorSize>(t, row, column + step_to(v), tile[t][v]);
      } else {
        unrolled<kVectorSize>([&](ItemIndex e) {
          const bool inside = is_inside(pass, first + step_to(v) + e.value());
          if (inside) team.store(t, row, column + step_to(v) + e.value(), tile[t][v][e]);
        });
      }
    });
  });
}

}  // namespace slotproof
