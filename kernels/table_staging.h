#pragma once
// A request's row of the block table in shared memory, where lookups at random places cost a bank conflict or two instead of a
// cache line each, and where a lookup that finds nothing costs no branch: the column behind the last one holds kNone.
//
// stage_table: row [B] -> shared [B + 1], B <= kStagedColumns, the row on a 16-byte boundary. Called at team scope, once a row of
// the indices. Reads the row's columns and no others. On return every thread may read every element; nobody writes them again.
// Phases: stage table, (wait, barrier).

#include "kernels/tiling.h"

namespace slotproof {

struct StagedTable {
  static constexpr const char* kName = "staged_table";
};

template <class Team>
SLOTPROOF_TEAM auto staged_table(Team& team) {
  return team.template shared<int32_t, kStagedColumns + 1, StagedTable>();
}

template <class Team>
SLOTPROOF_TEAM void stage_table(Team& team, TensorRow<TensorId::kBlockTable> row) {
  auto staged = staged_table(team);
  const int32_t tail = row.size - row.size % kVectorSize;  // where whole vectors end
  team.phase("stage table", [&](Thread t) {
    constexpr int32_t kColumnsAtOnce = Team::kWidth * kVectorSize;
    static_assert(kStagedColumns % kColumnsAtOnce == 0);
    unrolled<kStagedColumns / kColumnsAtOnce>([&](ItemIndex i) {
      const int32_t column = i.value() * kColumnsAtOnce + t.index * kVectorSize;
      if (column < tail) team.template copy_async<kVectorSize>(t, staged, column, row, column);
    });
    const int32_t column = tail + t.index;
    if (column < row.size) team.template copy_async<1>(t, staged, column, row, column);
    if (t.index == Team::kWidth - 1) staged.store(t, row.size, kNone);
  });
  team.wait_async();
  team.sync();  // Any thread looks up any column.
}

}  // namespace slotproof
