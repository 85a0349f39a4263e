#pragma once
// The scalar arithmetic of one entry: from a position to its place in the block table, and from a block to a slot (R1-R4,
// R6-R9). Total: every bit pattern has a result. No division, and nothing that wrapped counts.

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
  if constexpr (kDcp != Dcp::kOff) {
    const OwnedPosition owned = owned_position_of<sizes_of(kDcp)>(view.ranks, local);
    local = owned.local;
    has_place = has_place && owned.owned;
  }
  const uint32_t column = view.block_size.quotient<sizes_of(kDcp)>(local);
  return {has_place ? column : kNoColumn, view.block_size.remainder<sizes_of(kDcp)>(local, column)};
}

// The same without DCP for a table whose last column is followed by one that holds kNone: every position has a place there.
// `end`, below 2^31, is the first position behind the table. It stands for all that have no column (R1, R5, R6): as unsigned
// numbers, negative ones are above it.
SLOTPROOF_HD TablePlace place_in_staged_table(const RemapView& view, uint32_t end, int32_t position) {
  const auto wanted = static_cast<uint32_t>(position);
  const uint32_t local = wanted < end ? wanted : end;
  const uint32_t column = view.block_size.quotient(local);
  return {column, view.block_size.remainder(local, column)};
}

// `base` is the entry of the block table, kNone where the place is outside of it.
SLOTPROOF_HD int32_t slot_of(const RemapView& view, int32_t base, uint32_t offset) {
  const auto block = static_cast<uint32_t>(base);  // a negative base is above every limit
  // Below the limit the sum is below 2^32. As a signed number it is negative from 2^31 on, where there is no slot (R9).
  const auto slot = static_cast<int32_t>(block < view.base_limit ? block * view.block_stride + offset : UINT32_MAX);
  return slot > kNone ? slot : kNone;
}

// The row of a prefill request's workspace. `start` is below 2^31, so the sum does not wrap for a position that is not
// negative.
SLOTPROOF_HD int32_t workspace_row_of(uint32_t start, uint32_t limit, int32_t position) {
  const uint32_t row = start + static_cast<uint32_t>(position);
  return position >= 0 && row < limit ? static_cast<int32_t>(row) : kNone;
}

}  // namespace slotproof
