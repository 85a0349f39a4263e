#pragma once
// Decode context parallelism in closed form: positions are dealt to `size` ranks in groups of `interleave`, round after round.

#include "spec/problem.h"

#include <algorithm>

namespace slotproof::reference {

// The rank that holds position tok >= 0.
inline int32_t owner_of(const spec::RankOwnership& dcp, int32_t tok) {
  return tok / dcp.interleave % dcp.size;  // R3
}

// Which of its owner's positions tok >= 0 is: interleave for each whole round before it, then its place in its group.
inline int64_t local_of(const spec::RankOwnership& dcp, int32_t tok) {
  const int64_t round = int64_t{dcp.size} * dcp.interleave;  // may be beyond 2^31 - 1: then tok lies in round 0
  return tok / round * dcp.interleave + tok % dcp.interleave;  // R4
}

// How many of the positions 0 ... length - 1 the rank holds (P2). Nothing for a negative length, or a dcp against A8-A10.
inline std::optional<int32_t> dcp_local_length(int32_t length, const spec::RankOwnership& dcp) {
  if (length < 0 || dcp.size < 1 || dcp.rank < 0 || dcp.rank >= dcp.size || dcp.interleave < 1) return std::nullopt;
  const int64_t round = int64_t{dcp.size} * dcp.interleave;
  const int64_t dealt_before = int64_t{dcp.rank} * dcp.interleave;  // to lower ranks, in each round
  const int64_t in_last_round = std::clamp<int64_t>(length % round - dealt_before, 0, dcp.interleave);
  return static_cast<int32_t>(length / round * dcp.interleave + in_last_round);
}

}  // namespace slotproof::reference
