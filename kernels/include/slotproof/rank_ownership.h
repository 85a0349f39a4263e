#pragma once
// How many of a request's positions a rank owns under decode context parallelism (P2).

#include <slotproof/remap.h>

#include <optional>

namespace slotproof {

// Of the positions 0 ... length - 1, those that the rank owns. Nothing where the length is negative, or where size < 1,
// interleave < 1 or the rank is not in [0, size).
std::optional<int32_t> dcp_local_length(int32_t length, const RankOwnership& ownership) noexcept;

}  // namespace slotproof
