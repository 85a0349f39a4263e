#pragma once
// The scalar arithmetic of one entry: from a position to its place in the block table, and from a block to a slot (R1-R4,
// R6-R9). Total: every bit pattern has a result. No division, and nothing that wrapped counts.

#include "kernels/remap_view.h"

namespace slotproof {

// Where the block of a position stands in its request's row of the block table. A column holds a block of each rank, so it spans
// N * S positions; they are whole rounds, for S is a multiple of I (A11).
struct TablePlace {
  uint32_t column;
  uint32_t offset;  // in the block, below S
  bool is_owned;    // by the launch's rank; else offset means nothing
};

// Any position in [0, 2^31). Of a larger number, a negative position, the place means nothing.
template <Dcp kDcp, Sizes kSizes>
SLOTPROOF_HD TablePlace table_place_of(const RemapView& view, uint32_t position) {
  const uint32_t column = view.column_span.quotient<kSizes>(position);
  const uint32_t in_column = view.column_span.remainder<kSizes>(position, column);
  if constexpr (kDcp == Dcp::kOff) {
    return {column, in_column, true};
  } else {
    const OwnedPosition owned = owned_position_of<kSizes>(view.ranks, in_column);
    return {column, owned.local, owned.owned};
  }
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
