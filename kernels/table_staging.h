#pragma once
// A request's row of the block table in shared memory, where lookups at random places cost a bank conflict or two instead of a
// cache line each, and where a lookup that finds nothing costs no branch: the column behind the last one holds kNone.
//
// stage_table: row [B] -> shared [B + 1], B <= kStagedColumns, the row on a 16-byte boundary. Called at team scope, once a row of
// the indices. Reads the row's columns and no others. On return every thread may read every element; nobody writes them again.
// Phases: stage table, (wait) end table, (barrier).

#include "kernels/row_kernels.h"

namespace slotproof {

struct StagedTable {
  static constexpr const char* kName = "staged_table";
  static constexpr bool kIsSizedAtLaunch = true;  // What a table does not need is left to the cache.
};

// Bytes of the array for rows of so many columns: whole rounds of the team's copies, and a vector with the column behind the last.
constexpr int32_t staged_table_bytes(int32_t team_width, int32_t columns) {
  const int32_t columns_at_once = team_width * kVectorSize;
  const int32_t rounds = (columns + columns_at_once - 1) / columns_at_once;
  return (rounds * columns_at_once + kVectorSize) * static_cast<int32_t>(sizeof(int32_t));
}

template <class Team>
SLOTPROOF_TEAM auto staged_table(Team& team) {
  return team.template shared<int32_t, kStagedColumns + kVectorSize, StagedTable>();
}

template <class Team>
SLOTPROOF_TEAM void stage_table(Team& team, TensorRow<TensorId::kBlockTable> row) {
  auto staged = staged_table(team);
  constexpr int32_t kColumnsAtOnce = Team::kWidth * kVectorSize;
  static_assert(kStagedColumns % kColumnsAtOnce == 0);
  const int32_t tail = row.size - row.size % kVectorSize;  // where whole vectors end
  team.phase("stage table", [&](Thread t) {
    // Every thread copies in every round, so that no address depends on a condition; behind the whole vectors it copies nothing.
    SLOTPROOF_NO_UNROLL
    for (int32_t begin = 0; begin < row.size; begin += kColumnsAtOnce) {
      const int32_t column = begin + t.index * kVectorSize;
      team.template copy_async<kVectorSize>(t, staged, column, row, column, column < tail);
    }
  });
  team.wait_async();
  team.phase("end table", [&](Thread t) {
    // Of the thread that copied the vector, or would have: it comes behind its copy.
    if (tail / kVectorSize % Team::kWidth != t.index) return;
    unrolled<kVectorSize>([&](ItemIndex e) {
      const int32_t column = tail + e.value();
      if (column <= row.size) staged.store(t, column, column < row.size ? team.load(t, row, column) : kNone);
    });
  });
  team.sync();  // Any thread looks up any column.
}

}  // namespace slotproof
