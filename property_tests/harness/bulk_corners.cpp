#include "property_tests/harness/bulk_corners.h"

#include <array>

namespace slotproof::harness {
namespace {

// In the order of BulkCorner.
constexpr std::array<Corner, size_t(kNumBulkCorners)> kRowCorners = {
    Corner::kMinusOne,
    Corner::kOtherNegative,
    Corner::kIntMin,
    Corner::kPositionIntMax,
    Corner::kWorkspaceRow,
    Corner::kPrefillIdLast,
    Corner::kPrefillIdBeyond,
    Corner::kPrefillIdOtherNegative,
    Corner::kNegativeStart,
    Corner::kWorkspaceLastRow,
    Corner::kWorkspaceRowBeyond,
    Corner::kWorkspaceUnrepresentable,
    Corner::kWorkspacePastTableWidth,
    Corner::kOwned,
    Corner::kForeign,
    Corner::kRankOwnsNothing,
    Corner::kGroupEdge,
    Corner::kRequestNegative,
    Corner::kRequestLast,
    Corner::kRequestBeyond,
    Corner::kColumnLast,
    Corner::kColumnBeyond,
    Corner::kBaseNegative,
    Corner::kBaseLast,
    Corner::kBaseBeyond,
    Corner::kBaseAbove24Bits,
    Corner::kStrideAboveBlock,
    Corner::kStrideAboveBlockUnderDcp,
    Corner::kSlotZero,
    Corner::kSlotIntMax,
    Corner::kSlotUnrepresentable,
    Corner::kOffsetUnrepresentable,
    Corner::kSlotOneTooLarge,
    Corner::kLeadingNone,
    Corner::kAllNone,
    Corner::kNoneInRow,
    Corner::kFullTileMisalignedOutput,
};

constexpr Corner kCallCorners[] = {
    Corner::kRoundBeyondInt32,   Corner::kInterleaved,   Corner::kStrideBeyondInt32, Corner::kCompacted,        Corner::kCompactedWithoutDcp,
    Corner::kOrderUnspecified,   Corner::kCounted,       Corner::kUncounted,         Corner::kOneColumn,        Corner::kOddWidth,
    Corner::kSeveralTiles,       Corner::kExplicitTile,  Corner::kMisalignedInput,   Corner::kMisalignedOutput, Corner::kStridedInput,
    Corner::kHiddenTableColumns, Corner::kStridedOutput,
};

}  // namespace

Corner corner_of(BulkCorner corner) {
  return kRowCorners[size_t(corner)];
}

CornerSet row_corners() {
  CornerSet set;
  for (const Corner corner : kRowCorners) set.set(size_t(corner));
  return set;
}

CornerSet call_corners() {
  CornerSet set;
  for (const Corner corner : kCallCorners) set.set(size_t(corner));
  return set;
}

// As corners_of reads them off a call, which has at least one row and one column in bulk.
CornerSet call_corners_of(const RemapShape& shape) {
  CornerSet set;
  const auto mark = [&](Corner corner, bool is_there) { set.set(size_t(corner), is_there); };
  constexpr int32_t kWidestTile = 4096;
  mark(Corner::kRoundBeyondInt32, int64_t{shape.dcp_size} * shape.dcp_interleave > kInt32Max);
  mark(Corner::kInterleaved, shape.dcp_size > 1 && shape.dcp_interleave > 1);
  mark(Corner::kStrideBeyondInt32, shape.block_stride_rows > kInt32Max);
  mark(Corner::kCompacted, shape.is_compacted);
  mark(Corner::kCompactedWithoutDcp, shape.is_compacted && shape.dcp_size == 1);
  mark(Corner::kOrderUnspecified, shape.is_any_order);
  mark(Corner::kCounted, shape.has_counts);
  mark(Corner::kUncounted, !shape.has_counts);
  mark(Corner::kOneColumn, shape.topk == 1);
  mark(Corner::kOddWidth, shape.topk > 4 && shape.topk % 4 != 0);
  mark(Corner::kSeveralTiles, shape.topk > kWidestTile || (shape.tile && *shape.tile < shape.topk));
  mark(Corner::kExplicitTile, shape.tile.has_value());
  mark(Corner::kMisalignedInput, shape.misalignment[size_t(Tensor::kTokenIndices)] != 0);
  mark(Corner::kMisalignedOutput, shape.misalignment[size_t(Tensor::kSlots)] != 0);
  mark(Corner::kStridedInput, shape.indices_storage_columns > shape.topk);
  mark(Corner::kHiddenTableColumns, shape.table_storage_columns > shape.table_columns);
  mark(Corner::kStridedOutput, shape.slots_storage_columns > shape.topk);
  return set;
}

}  // namespace slotproof::harness
