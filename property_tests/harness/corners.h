#pragma once
// Corners: what a run should have come across. They are read off a problem and its meaning, never off the decoder, so a
// corner counts as reached only where the compared problem truly had it.

#include "spec/problem.h"

#include <bitset>
#include <cstdint>
#include <span>
#include <string_view>

namespace slotproof::harness {

enum class Corner : uint8_t {
  kMinusOne, kOtherNegative, kIntMin, kPositionIntMax,
  kWorkspaceRow, kWorkspaceAndDecode, kPrefillIdLast, kPrefillIdBeyond, kPrefillIdOtherNegative, kNegativeStart, kWorkspaceLastRow,
  kWorkspaceRowBeyond, kWorkspaceUnrepresentable, kWorkspacePastTableWidth,
  kOwned, kForeign, kRankOwnsNothing, kGroupEdge, kRoundBeyondInt32, kInterleaved,
  kRequestNegative, kRequestLast, kRequestBeyond, kSharedRequest,
  kColumnLast, kColumnBeyond, kBaseNegative, kBaseLast, kBaseBeyond, kBaseAbove24Bits, kSharedBlock,
  kStrideAboveBlock, kStrideAboveBlockUnderDcp, kStrideBeyondInt32, kSlotZero, kSlotIntMax, kSlotUnrepresentable, kOffsetUnrepresentable, kSlotOneTooLarge,
  kDuplicates, kAscending, kLeadingNone, kInnerNone, kAllNone, kNoneInRow, kInnerHolesUnderDcp,
  kCompacted, kCompactedWithoutDcp, kOrderUnspecified, kCounted, kUncounted,
  kNoTokens, kNoColumns, kNoTableColumns, kNoRequests,
  kOneColumn, kOddWidth, kSeveralTiles, kFullTileMisalignedOutput, kExplicitTile, kMisalignedInput, kMisalignedOutput, kStridedInput, kHiddenTableColumns, kStridedOutput, kOutputBetweenInputRows,
  kRefused, kAcceptedDespiteOddArgument,
};
inline constexpr std::size_t kNumCorners = std::size_t(Corner::kAcceptedDespiteOddArgument) + 1;
using CornerSet = std::bitset<kNumCorners>;

struct CornerText {
  Corner corner;
  std::string_view id;    // "column_beyond"
  std::string_view what;
};
std::span<const CornerText> corners();  // in the order of the enumeration

CornerSet corners_of(const spec::RemapProblem& problem, bool has_edits);

}  // namespace slotproof::harness
