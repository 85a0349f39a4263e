#pragma once
// The warp primitives of the teams on the host, as plain loops over the lanes: from each thread's value x[t] to result[t]. What they
// promise is said in team.h.

#include "kernels/team/team.h"

namespace slotproof {

template <int Width, class PerThread>
void shuffle_up(const PerThread& x, uint32_t delta, PerThread& result) {
  const auto distance = static_cast<int32_t>(delta);
  for (int32_t t = 0; t < Width; ++t) result[Thread{t}] = x[Thread{t % kWarpSize < distance ? t : t - distance}];
}

template <int Width, class PerThread>
void broadcast(const PerThread& x, int32_t lane, PerThread& result) {
  for (int32_t t = 0; t < Width; ++t) result[Thread{t}] = x[Thread{t / kWarpSize * kWarpSize + lane}];
}

template <int Width, class PerThread>
void sum_warps(const PerThread& x, PerThread& result) {
  for (int32_t first = 0; first < Width; first += kWarpSize) {
    int32_t sum = 0;
    for (int32_t t = first; t < first + kWarpSize; ++t) sum += x[Thread{t}];
    for (int32_t t = first; t < first + kWarpSize; ++t) result[Thread{t}] = sum;
  }
}

}  // namespace slotproof
