#pragma once
// Corners: what a run should have come across. They are read off a problem and its meaning, never off the decoder, so a corner counts as
// reached only where the compared problem truly had it. The list is normative: each corner stands for an edge of a rule, or for a kind of
// fault that was reported in public. docs/corners.md is made from it.

#include "spec/problem.h"
#include "spec/rules.h"

#include <array>
#include <bitset>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace slotproof::harness {

enum class Corner : uint8_t {
  // Positions (R1)
  kMinusOne, kOtherNegative, kIntMin, kPositionZero, kPositionIntMax,
  // Workspace rows (R2)
  kWorkspaceRow, kWorkspaceAndDecode, kWorkspaceWithoutRequest, kPrefillIdFirst, kPrefillIdLast, kPrefillIdBeyond, kPrefillIdOtherNegative,
  kNoWorkspaceStarts, kNegativeStart, kWorkspaceStartZero, kWorkspaceRowsZero, kWorkspaceLastRow, kWorkspaceRowOneBeyond, kWorkspaceRowBeyond,
  kWorkspaceRowIntMax, kWorkspaceUnrepresentable, kWorkspacePastTableWidth,
  // Ranks (R3, R4)
  kOneRank, kInterleaveWithOneRank, kFirstRank, kLastRank, kOwned, kForeign, kRankOwnsNothing, kInterleaveOne, kInterleaved, kInterleaveDividesBlock,
  kInterleaveIsBlock, kGroupFirst, kGroupEdge, kGroupAtBlockBegin, kGroupAtBlockEnd, kBlockOfSeveralGroups, kRoundIntMax, kRoundBeyondInt32,
  // Requests (R5)
  kRequestNegative, kRequestFirst, kRequestLast, kRequestOneBeyond, kRequestBeyond, kGraphPaddingRow, kPaddingRow, kSharedRequest, kSpeculativeRows,
  kSeveralRequests,
  // The table (R6, R7)
  kColumnFirst, kColumnLast, kColumnOneBeyond, kColumnBeyond, kHiddenTableColumns, kBaseNegative, kBaseZero, kBaseLast, kBaseOneBeyond, kBaseBeyond,
  kNumBlocksZero, kTableHole, kSharedBlock, kSharedPrefix,
  // Slots (R8, R9)
  kOneTokenBlocks, kBlockFirstOffset, kBlockInnerOffset, kBlockLastOffset, kStrideIsBlock, kStrideAboveBlock, kStrideAboveBlockUnderDcp, kStrideBeyondInt32, kBaseAbove24Bits,
  kBaseNearLimit, kBaseBeyondLimit, kSlotZero, kSlotElementOffset, kSlotIntMax, kSlotOneTooLarge, kSlotUnrepresentable, kOffsetUnrepresentable,
  // Rows and counts (R10-R12)
  kInPlace, kDuplicates, kAscending, kDescending, kUnsorted, kLeadingNone, kInnerNone, kTrailingNone, kAllNone, kNoneInRow, kCounted, kUncounted, kCountZero,
  kCountFull, kCompacted, kCompactedWithoutDcp, kCompactedEmpty, kCompactedFull, kDuplicatesCompacted, kInnerHolesUnderDcp, kOrderUnspecified,
  kOrderUnspecifiedWithHoles,
  // Empty calls (R15)
  kNoTokens, kNoColumns, kNoTableColumns, kNoRequests, kNullWithoutElements,
  // Shapes and memory (R13, R14)
  kOneColumn, kOddWidth, kSeveralTiles, kFullTileMisalignedOutput, kExplicitTile, kTileIsRow, kMisalignedInput, kMisalignedOutput, kInputHead, kInputTail,
  kOutputHead, kOutputTail, kHeadsDiffer, kNarrowRow, kStridedInput, kInputStrideZero, kStrideLargest, kStridedOutput, kDenseOutput, kOutputStrideOfOneRow,
  kOutputBetweenInputRows,
  // Arguments (A1-A15)
  kAcceptedDespiteOddArgument, kRefused, kRefusedA1, kRefusedA2, kRefusedA3, kRefusedA4, kRefusedA5, kRefusedA6, kRefusedA7, kRefusedA8, kRefusedA9,
  kRefusedA10, kRefusedA11, kRefusedA12, kRefusedA13, kRefusedA14, kRefusedA15,
};
inline constexpr std::size_t kNumCorners = std::size_t(Corner::kRefusedA15) + 1;
using CornerSet = std::bitset<kNumCorners>;

// The rules on whose edge a corner lies; four at most.
struct CornerRules {
  std::array<spec::Rule, 4> list{};
  std::size_t size = 0;
  constexpr CornerRules() = default;
  template <class... Rules>
  constexpr CornerRules(spec::Rule first, Rules... rest) : list{first, rest...}, size(1 + sizeof...(rest)) {}
  constexpr std::span<const spec::Rule> all() const { return {list.data(), size}; }
};

struct CornerText {
  Corner corner;
  std::string_view id;    // "column_beyond"
  std::string_view what;
  CornerRules rules;
  std::string_view reports;  // cases of public-reports.json for whose kind it stands, "B01 B06"; each of them has the corner
};
std::span<const CornerText> corners();  // in the order of the enumeration
std::optional<Corner> corner_of(std::string_view id);
// The kind of a case of public-reports.json by its id: "bounds" of "B01".
std::string_view report_kind_of(std::string_view id);

CornerSet corners_of(const spec::RemapProblem& problem, bool has_edits);

}  // namespace slotproof::harness
