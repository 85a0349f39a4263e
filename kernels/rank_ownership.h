#pragma once
// Decode context parallelism: which rank owns a position, and where the position stands among the rank's own (R3, R4).

#include "kernels/fast_divisor.h"

#include <algorithm>

namespace slotproof {

inline constexpr int64_t kEndOfPositions = int64_t{1} << 31;  // one above the largest position, and the largest slot

// A round gives each rank I positions in turn. Rank r has those from r * I on.
struct RankDivisors {
  FastDivisor round;    // N * I, or 2^31 where it is more: no position is in a second round then, either way
  uint32_t interleave;  // I
  uint32_t first;       // r * I, or 2^31 where it is more: the rank owns nothing then
};

constexpr RankDivisors rank_divisors(int32_t size, int32_t rank, int32_t interleave) {
  const auto bounded = [interleave](int32_t factor) { return static_cast<uint32_t>(std::min(int64_t{factor} * interleave, kEndOfPositions)); };
  return {fast_divisor(bounded(size)), static_cast<uint32_t>(interleave), bounded(rank)};
}

struct OwnedPosition {
  uint32_t local;  // meaningless where it is not owned
  bool owned;
};

// Any position in [0, 2^31). Of a position counted from the beginning of some round, `local` counts from there, too.
template <Sizes kSizes = Sizes::kAny>
SLOTPROOF_HD OwnedPosition owned_position_of(const RankDivisors& ranks, uint32_t position) {
  const uint32_t round = ranks.round.quotient<kSizes>(position);
  // From the rank's first position of the round on; what lies before it wraps to a large number.
  const uint32_t in_share = ranks.round.remainder<kSizes>(position, round) - ranks.first;
  return {round * ranks.interleave + in_share, in_share < ranks.interleave};
}

}  // namespace slotproof
