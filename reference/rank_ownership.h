#pragma once
// Decode context parallelism in closed form: positions are dealt to `size` ranks in groups of `interleave`, round after round.

#include "reference/remap_entry.h"
#include "spec/problem.h"
#include <algorithm>

namespace slotproof::reference {

// How many of the positions 0 ... length - 1 the rank holds (P2). Nothing for a negative length, or a dcp against A8-A10.
inline std::optional<int32_t> dcp_local_length(int32_t length, const spec::RankOwnership& dcp) {
  if (length < 0 || dcp.size < 1 || dcp.rank < 0 || dcp.rank >= dcp.size || dcp.interleave < 1) return std::nullopt;
  const int64_t round = int64_t{dcp.size} * dcp.interleave;
  const int64_t dealt_before = int64_t{dcp.rank} * dcp.interleave;  // to lower ranks, in each round
  const int64_t in_last_round = std::clamp<int64_t>(length % round - dealt_before, 0, dcp.interleave);
  return static_cast<int32_t>(length / round * dcp.interleave + in_last_round);
}

}  // namespace slotproof::reference
