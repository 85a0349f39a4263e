#pragma once
// Decode context parallelism: which rank owns a position, and where the position stands among the rank's own (R3, R4).

#include "kernels/fast_divisor.h"

namespace slotproof {

struct RankDivisors {
  FastDivisor interleave;  // I
  FastDivisor size;        // N
  uint32_t rank;
};

struct OwnedPosition {
  uint32_t local;
  bool owned;
};

// Any position >= 0. Nothing overflows, also where N * I does: every intermediate value is at most the position.
template <Sizes kSizes = Sizes::kAny>
SLOTPROOF_HD OwnedPosition owned_position_of(const RankDivisors& ranks, uint32_t position) {
  const uint32_t group = ranks.interleave.quotient<kSizes>(position);
  const uint32_t round = ranks.size.quotient<kSizes>(group);
  const uint32_t owner = ranks.size.remainder<kSizes>(group, round);
  const uint32_t in_group = ranks.interleave.remainder<kSizes>(position, group);
  return {round * ranks.interleave.divisor + in_group, owner == ranks.rank};
}

}  // namespace slotproof
