#pragma once
// What comes back from judging a batch, and no more than that.

#include <cstdint>

namespace slotproof::harness {

using BulkCount = unsigned long long;  // what device atomics take

// Corners that are read off a row on the device, of one row in kBulkCornerRows. harness/bulk_corners.cpp names them.
enum class BulkCorner : uint8_t {
  kMinusOne,
  kOtherNegative,
  kIntMin,
  kPositionIntMax,
  kWorkspaceRow,
  kPrefillIdLast,
  kPrefillIdBeyond,
  kPrefillIdOtherNegative,
  kNegativeStart,
  kWorkspaceLastRow,
  kWorkspaceRowBeyond,
  kWorkspaceUnrepresentable,
  kWorkspacePastTableWidth,
  kOwned,
  kForeign,
  kRankOwnsNothing,
  kGroupEdge,
  kRequestNegative,
  kRequestLast,
  kRequestBeyond,
  kColumnLast,
  kColumnBeyond,
  kBaseNegative,
  kBaseLast,
  kBaseBeyond,
  kBaseAbove24Bits,
  kStrideAboveBlock,
  kStrideAboveBlockUnderDcp,
  kSlotZero,
  kSlotIntMax,
  kSlotUnrepresentable,
  kOffsetUnrepresentable,
  kSlotOneTooLarge,
  kLeadingNone,
  kAllNone,
  kNoneMissing,
  kFullTileMisalignedOutput,
};
inline constexpr int kNumBulkCorners = int(BulkCorner::kFullTileMisalignedOutput) + 1;
inline constexpr int32_t kBulkCornerRows = 16;

// What differs from what must be. In the order in which a row's are told.
enum class BulkMismatch : uint8_t {
  kEntry,   // a slot or none that is not the reference's
  kTail,    // behind the kept entries of a compacted row: not -1
  kPrefix,  // order unspecified: the prefix holds other slots; told of column 0
  kGap,     // a word between two output rows was written; the column is the word's, K or more
  kCount,   // valid_counts; told of column 0
  kInput,   // a position is not the one that was drawn: somebody wrote to the input
  kGuard,   // a guard word of an output; told of row T, the column is the number of the guard word
};

struct BulkVerdict {
  BulkCount num_mismatches;
  BulkCount first;  // the least of bulk_place_of; all ones where nothing differs
  BulkCount num_corner_rows;
  BulkCount corners[kNumBulkCorners];
};

constexpr BulkCount kNoMismatch = ~BulkCount{0};
constexpr BulkCount bulk_place_of(int32_t row, int32_t column, BulkMismatch kind) {
  return BulkCount(uint32_t(row)) << 32 | BulkCount(uint32_t(column)) << 3 | BulkCount(kind);
}
constexpr int32_t row_of(BulkCount place) {
  return int32_t(place >> 32);
}
constexpr int32_t column_of(BulkCount place) {
  return int32_t(uint32_t(place) >> 3);
}
constexpr BulkMismatch kind_of(BulkCount place) {
  return BulkMismatch(place & 7);
}

}  // namespace slotproof::harness
