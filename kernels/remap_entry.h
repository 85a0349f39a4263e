#pragma once
// The scalar arithmetic of one entry: from a position to its place in the block table, and from a block to a slot (R1-R4,
// R6-R9). Total: every bit pattern has a result. No division, nothing wraps.

#include "kernels/remap_view.h"

namespace slotproof {

// Where the block of a position stands in its request's row of the block table.
struct TablePlace {
  uint32_t column;  // kNoColumn where the position has none
  uint32_t offset;  // in the block, below S
};
inline constexpr uint32_t kNoColumn = UINT32_MAX;  // at or above every number of columns

template <Dcp kDcp>
SLOTPROOF_HD TablePlace table_place_of(const RemapView& view, int32_t position) {
  uint32_t local = static_cast<uint32_t>(position);
  bool has_place = position >= 0;
  if constexpr (kDcp == Dcp::kOn) {
    const OwnedPosition owned = owned_position_of(view.ranks, local);
    local = owned.local;
    has_place = has_place && owned.owned;
  }
  const uint32_t column = view.block_size.quotient(local);
  return {has_place ? column : kNoColumn, local - column * view.block_size.divisor};
}

// `base` is the entry of the block table, kNone where the place is outside of it.
SLOTPROOF_HD int32_t slot_of(const RemapView& view, int32_t base, uint32_t offset) {
  const auto block = static_cast<uint32_t>(base);  // a negative base is above every limit
  const uint32_t slot = block * view.block_stride + offset;
  return block < view.base_limit && slot <= INT32_MAX ? static_cast<int32_t>(slot) : kNone;
}

// The row of a prefill request's workspace. `start` is below 2^31, so the sum does not wrap for a position that is not
// negative.
SLOTPROOF_HD int32_t workspace_row_of(uint32_t start, uint32_t limit, int32_t position) {
  const uint32_t row = start + static_cast<uint32_t>(position);
  return position >= 0 && row < limit ? static_cast<int32_t>(row) : kNone;
}

}  // namespace slotproof
