#pragma once
// The collective of a stable compaction: where each thread's kept entries go in the prefix of the row.
//
// Called at team scope. Phases: scan, publish, (barrier) places. Shared memory: warp_kept, one word a warp.
// The caller has a barrier of its own between this call and the next one, which writes warp_kept again.

#include "kernels/register_tile.h"

namespace slotproof {

struct WarpKept {
  static constexpr const char* kName = "warp_kept";
  static constexpr bool kIsSizedAtLaunch = false;
};

// Kept entries of a thread's vectors, one byte each. A warp keeps at most 32 * 4 = 128 of one vector's number, so whole
// warps add up without a carry from byte to byte.
using PackedCounts = uint32_t;
static_assert(kMostVectorsPerThread <= 4 && kWarpSize * kVectorSize <= UINT8_MAX);

SLOTPROOF_HD PackedCounts packed_count(ItemIndex v, uint32_t count) {
  return count << (8 * v.value());
}
SLOTPROOF_HD int32_t count_of(PackedCounts counts, ItemIndex v) {
  return static_cast<int32_t>((counts >> (8 * v.value())) & 0xffu);
}
SLOTPROOF_HD int32_t sum_of(PackedCounts counts) {
  const uint32_t pairs = (counts & 0x00ff00ffu) + ((counts >> 8) & 0x00ff00ffu);
  return static_cast<int32_t>((pairs & 0xffffu) + (pairs >> 16));
}

// kept[t]: counts of the thread's vectors. On return places[t][v] is the number of entries kept before the thread's vector v,
// in row order. Returns the number kept by the whole team; every thread has it.
template <class Team>
SLOTPROOF_TEAM int32_t exclusive_places(Team& team, const PerThread<Team, PackedCounts>& kept, PerThread<Team, Items<Team::kVectorsPerThread>>& places) {
  PerThread<Team, PackedCounts> inclusive = kept;
  SLOTPROOF_UNROLL
  for (uint32_t distance = 1; distance < kWarpSize; distance *= 2) {
    const PerThread<Team, PackedCounts> below = team.warp_shuffle_up(inclusive, distance);
    team.phase("scan", [&](Thread t) {
      if (t.lane() >= static_cast<int32_t>(distance)) inclusive[t] += below[t];
    });
  }
  const PerThread<Team, PackedCounts> of_warp = team.warp_broadcast(inclusive, kWarpSize - 1);
  auto warp_kept = team.template shared<int32_t, Team::kNumWarps, WarpKept>();
  team.phase("publish", [&](Thread t) {
    if (t.lane() == 0) warp_kept.store(t, t.warp(), sum_of(of_warp[t]));
  });
  team.sync();  // Every warp needs the counts of all others.
  PerThread<Team, int32_t> total(team);
  team.phase("places", [&](Thread t) {
    int32_t before = 0;
    int32_t sum = 0;
    SLOTPROOF_UNROLL
    for (int32_t warp = 0; warp < Team::kNumWarps; ++warp) {
      const int32_t count = warp_kept.load(t, warp);
      before += warp < t.warp() ? count : 0;
      sum += count;
    }
    total[t] = sum;
    const PackedCounts lanes_below = inclusive[t] - kept[t];
    unrolled<Team::kVectorsPerThread>([&](ItemIndex v) {
      places[t][v] = before + count_of(lanes_below, v);
      before += count_of(of_warp[t], v);
    });
  });
  return team.uniform(total);
}

}  // namespace slotproof
