// The list of corners.

#include "property_tests/harness/corners.h"

namespace slotproof::harness {
namespace {

using enum spec::Rule;

constexpr std::array<CornerText, kNumCorners> kCorners = {{
    {Corner::kMinusOne, "minus_one", "a position -1", {R1}, "S01 S02 S04"},
    {Corner::kOtherNegative, "other_negative", "a negative position other than -1", {R1}, ""},
    {Corner::kIntMin, "int_min", "a position -2^31", {R1}, ""},
    {Corner::kPositionZero, "position_zero", "position 0, the least that is none of the padding", {R1}, ""},
    {Corner::kPositionIntMax, "position_int_max", "a position 2^31 - 1", {R6, R9}, ""},

    {Corner::kWorkspaceRow, "workspace_row", "a prefill row", {R2, A12, A13}, ""},
    {Corner::kWorkspaceAndDecode, "workspace_and_decode", "prefill and decode rows in one batch", {R2}, "W01"},
    {Corner::kWorkspaceWithoutRequest, "workspace_without_request", "a prefill row with slots whose req_id is outside the table", {R2, R5}, ""},
    {Corner::kPrefillIdFirst, "prefill_id_first", "p = 0", {R2}, ""},
    {Corner::kPrefillIdLast, "prefill_id_last", "p = P - 1", {R2}, "W04"},
    {Corner::kPrefillIdBeyond, "prefill_id_beyond", "p >= P", {R2}, ""},
    {Corner::kPrefillIdOtherNegative, "prefill_id_other_negative", "a negative p other than -1", {R2}, ""},
    {Corner::kNoWorkspaceStarts, "no_workspace_starts", "P = 0 with rows", {R2, A1}, ""},
    {Corner::kNegativeStart, "negative_start", "a workspace start below 0", {R2}, ""},
    {Corner::kWorkspaceStartZero, "workspace_start_zero", "a workspace start 0, with a slot", {R2}, "W04"},
    {Corner::kWorkspaceRowsZero, "workspace_rows_zero", "num_workspace_rows = 0 with a prefill row", {R2, A7}, ""},
    {Corner::kWorkspaceLastRow, "workspace_last_row", "the last row of the workspace", {R2}, ""},
    {Corner::kWorkspaceRowOneBeyond, "workspace_row_one_beyond", "the row behind the last one of the workspace", {R2}, ""},
    {Corner::kWorkspaceRowBeyond, "workspace_row_beyond", "a row at or above num_workspace_rows", {R2}, ""},
    {Corner::kWorkspaceRowIntMax, "workspace_row_int_max", "workspace row 2^31 - 1", {R2, R9}, ""},
    {Corner::kWorkspaceUnrepresentable, "workspace_unrepresentable", "a workspace row above 2^31 - 1", {R2, R9}, ""},
    {Corner::kWorkspacePastTableWidth, "workspace_past_table_width", "a prefill position beyond the table's width", {R2, R6}, "B05"},

    {Corner::kOneRank, "one_rank", "N = 1", {R3, A8}, "D09"},
    {Corner::kInterleaveWithOneRank, "interleave_with_one_rank", "N = 1 with I > 1", {R3, R4}, ""},
    {Corner::kFirstRank, "first_rank", "r = 0 of several", {R3, A9}, ""},
    {Corner::kLastRank, "last_rank", "r = N - 1, not 0", {R3, A9}, ""},
    {Corner::kOwned, "owned", "a position of this rank, N > 1", {R3, P1}, "D07 D10"},
    {Corner::kForeign, "foreign", "a position of another rank", {R3, P1}, "D01"},
    {Corner::kRankOwnsNothing, "rank_owns_nothing", "a row of positions none of which is this rank's", {R3, R11}, "T05 D20"},
    {Corner::kInterleaveOne, "interleave_one", "N > 1 and I = 1", {R3, A10}, ""},
    {Corner::kInterleaved, "interleaved", "N > 1 and I > 1", {R3, R4}, ""},
    {Corner::kInterleaveDividesBlock, "interleave_divides_block", "N > 1 and 1 < I < S", {R4, P3, A11}, "D02"},
    {Corner::kInterleaveIsBlock, "interleave_is_block", "N > 1 and I = S > 1", {R4, P3, A11}, "D20"},
    {Corner::kGroupFirst, "group_first", "the first position of a group behind the first, I > 1", {R3, R4}, ""},
    {Corner::kGroupEdge, "group_edge", "the last position of a group, I > 1", {R3, R4}, ""},
    {Corner::kGroupAtBlockBegin, "group_at_block_begin", "a group, I > 1, that begins a block other than the first, with a slot", {R4, P3, P4}, ""},
    {Corner::kGroupAtBlockEnd, "group_at_block_end", "a group, I > 1, that ends a block, with a slot", {R4, P3, P4}, ""},
    {Corner::kBlockOfSeveralGroups, "block_of_several_groups", "a slot in the second group of a block or a later one, I > 1", {R4, P3, P4}, "D02"},
    {Corner::kRoundIntMax, "round_int_max", "N * I = 2^31 - 1, the longest round that a position can leave", {R4}, ""},
    {Corner::kRoundBeyondInt32, "round_beyond_int32", "N * I > 2^31 - 1", {R4}, ""},

    {Corner::kRequestNegative, "request_negative", "req_id < 0", {R5}, ""},
    {Corner::kRequestFirst, "request_first", "req_id = 0", {R5}, ""},
    {Corner::kRequestLast, "request_last", "req_id = R - 1", {R5}, ""},
    {Corner::kRequestOneBeyond, "request_one_beyond", "req_id = R", {R5}, "B01"},
    {Corner::kRequestBeyond, "request_beyond", "req_id >= R", {R5}, ""},
    {Corner::kGraphPaddingRow, "graph_padding_row", "a last row with a sentinel request and positions, behind rows with slots", {R5}, "B01"},
    {Corner::kPaddingRow, "padding_row", "a last row of -1 alone, behind rows with slots", {R1, R11}, "T01 D14"},
    {Corner::kSharedRequest, "shared_request", "two rows of one request", {R5}, ""},
    {Corner::kSpeculativeRows, "speculative_rows", "neighbouring rows of one request, both with slots", {R5, R14}, "B14"},
    {Corner::kSeveralRequests, "several_requests", "rows of two requests, both with slots", {R5, R7}, "B04s B16 D12 D13 L07 L13"},

    {Corner::kColumnFirst, "column_first", "the table's first column", {R6}, ""},
    {Corner::kColumnLast, "column_last", "the table's last column", {R6}, ""},
    {Corner::kColumnOneBeyond, "column_one_beyond", "the first position behind the table", {R6, P4}, "B02 B06 B14 D16"},
    {Corner::kColumnBeyond, "column_beyond", "a position beyond the table's last column", {R6, P4}, "B06 B11 S01"},
    {Corner::kHiddenTableColumns, "hidden_table_columns", "a block table in a wider storage", {R6, R7}, "B02"},
    {Corner::kBaseNegative, "base_negative", "a negative table entry", {R7}, "B08"},
    {Corner::kBaseZero, "base_zero", "block 0, with a slot", {R7}, "S05"},
    {Corner::kBaseLast, "base_last", "base = num_blocks - 1", {R7}, ""},
    {Corner::kBaseOneBeyond, "base_one_beyond", "base = num_blocks", {R7}, ""},
    {Corner::kBaseBeyond, "base_beyond", "base >= num_blocks", {R7}, "B09"},
    {Corner::kNumBlocksZero, "num_blocks_zero", "num_blocks = 0 with a position inside the table", {R7, A7}, ""},
    {Corner::kTableHole, "table_hole", "a row of the table with a hole between blocks that give slots", {R7}, ""},
    {Corner::kSharedBlock, "shared_block", "two requests with slots in one physical block", {R7, R14}, ""},
    {Corner::kSharedPrefix, "shared_prefix", "two requests with slots in one physical block, the first of both", {R7, R14}, ""},

    {Corner::kOneTokenBlocks, "one_token_blocks", "S = 1", {R6, R8, A5}, ""},
    {Corner::kBlockFirstOffset, "block_first_offset", "a slot at offset 0 of a column other than the first", {R6, R8}, "L05"},
    {Corner::kBlockInnerOffset, "block_inner_offset", "a slot inside of a block, in a column other than the first", {R6, R8}, "L09 L10 L14"},
    {Corner::kBlockLastOffset, "block_last_offset", "a slot at offset S - 1, S > 1", {R6, R8}, "L06"},
    {Corner::kStrideIsBlock, "stride_is_block", "L = S, with a slot of a block other than 0", {R8, A6}, ""},
    {Corner::kStrideAboveBlock, "stride_above_block", "L > S, with a slot of a block other than 0", {R8, V4, V5}, "L01 L11"},
    {Corner::kStrideAboveBlockUnderDcp, "stride_above_block_under_dcp", "the same with N > 1", {R8, V5}, "D06"},
    {Corner::kStrideBeyondInt32, "stride_beyond_int32", "L > 2^31 - 1", {R8, R9}, ""},
    {Corner::kBaseAbove24Bits, "base_above_24_bits", "a base that float32 cannot hold exactly, with a slot", {R8}, "I01"},
    {Corner::kBaseNearLimit, "base_near_limit", "the last base whose first row is at most 2^31 - 1, with a slot", {R8, R9}, "I01"},
    {Corner::kBaseBeyondLimit, "base_beyond_limit", "the base behind it", {R9}, "I01"},
    {Corner::kSlotZero, "slot_zero", "slot 0, which is a real one", {R8, R11}, "S05"},
    {Corner::kSlotElementOffset, "slot_element_offset", "a slot of 2^22 or more: its offset in elements, 512 a row, leaves int32", {R8, R9}, "I03"},
    {Corner::kSlotIntMax, "slot_int_max", "slot 2^31 - 1", {R9}, "I01"},
    {Corner::kSlotOneTooLarge, "slot_one_too_large", "a slot that would be 2^31", {R9}, ""},
    {Corner::kSlotUnrepresentable, "slot_unrepresentable", "a slot above 2^31 - 1", {R9}, "I01"},
    {Corner::kOffsetUnrepresentable, "offset_unrepresentable", "a slot above 2^31 - 1 in a block whose first row has a slot", {R9}, ""},

    {Corner::kInPlace, "in_place", "entries in place", {R10}, ""},
    {Corner::kDuplicates, "duplicates", "a position selected twice in a row", {R11}, "T04"},
    {Corner::kAscending, "ascending", "a row of at least three ascending positions", {R12}, ""},
    {Corner::kDescending, "descending", "a row of at least three descending positions", {R12}, ""},
    {Corner::kUnsorted, "unsorted", "a row of positions that go up and down", {R12}, ""},
    {Corner::kLeadingNone, "leading_none", "a row that begins with none and has slots", {R10, R12}, ""},
    {Corner::kInnerNone, "inner_none", "none between two slots of a row", {R10, R12}, "S02 T03 T10"},
    {Corner::kTrailingNone, "trailing_none", "a row that ends with none and has slots", {R10, R12}, ""},
    {Corner::kAllNone, "all_none", "a row of at least two entries without a slot", {R11, R12}, ""},
    {Corner::kNoneInRow, "none_missing", "a row of at least two entries, all slots", {R11, R12}, ""},
    {Corner::kCounted, "counted", "counts asked for", {R11, A3}, ""},
    {Corner::kUncounted, "uncounted", "counts not asked for", {R11}, ""},
    {Corner::kCountZero, "count_zero", "a row with columns whose count is 0", {R11}, "T01 D20"},
    {Corner::kCountFull, "count_full", "a row of at least two columns whose count is K", {R11}, ""},
    {Corner::kCompacted, "compacted", "compaction", {R12}, ""},
    {Corner::kCompactedWithoutDcp, "compacted_without_dcp", "compaction with N = 1", {R12}, "S02 T03 T10"},
    {Corner::kCompactedEmpty, "compacted_empty", "a compacted row that is all tail", {R12}, "T01"},
    {Corner::kCompactedFull, "compacted_full", "a compacted row of at least two slots without a tail", {R12}, ""},
    {Corner::kDuplicatesCompacted, "duplicates_compacted", "a slot twice in a compacted row", {R11, R12}, "T04"},
    {Corner::kInnerHolesUnderDcp, "inner_holes_under_dcp", "compaction under DCP of a row with inner holes that keeps at least three", {R3, R12}, ""},
    {Corner::kOrderUnspecified, "order_unspecified", "compaction in any order", {R12u}, ""},
    {Corner::kOrderUnspecifiedWithHoles, "order_unspecified_with_holes", "compaction in any order of a row with inner holes", {R12u}, ""},

    {Corner::kNoTokens, "no_tokens", "T = 0", {R15, A1}, "T07"},
    {Corner::kNoColumns, "no_columns", "K = 0 with rows", {R15, A1}, ""},
    {Corner::kNoTableColumns, "no_table_columns", "B = 0 with positions", {R6, R15, A1}, ""},
    {Corner::kNoRequests, "no_requests", "R = 0 with positions", {R5, R15, A1}, ""},
    {Corner::kNullWithoutElements, "null_without_elements", "a null pointer of a tensor without elements", {A2}, ""},

    {Corner::kOneColumn, "one_column", "K = 1", {R14}, ""},
    {Corner::kOddWidth, "odd_width", "K > 4, no multiple of 4", {R14}, "T08"},
    {Corner::kSeveralTiles, "several_tiles", "a row that the team takes in several passes", {R12, R14}, ""},
    {Corner::kFullTileMisalignedOutput, "full_tile_misaligned_output", "a compacted row that all but fills the tile of one or two warps, off a 16-byte boundary", {R12, R14}, ""},
    {Corner::kExplicitTile, "explicit_tile", "a tile named by the caller", {R14, A14}, ""},
    {Corner::kTileIsRow, "tile_is_row", "a tile named by the caller that is the row", {R14, A14}, ""},
    {Corner::kMisalignedInput, "misaligned_input", "positions not on a 16-byte boundary", {R14}, ""},
    {Corner::kMisalignedOutput, "misaligned_output", "slots not on a 16-byte boundary", {R13, R14}, ""},
    {Corner::kInputHead, "input_head", "a row of positions that begins between boundaries and reaches over a whole vector", {R14}, ""},
    {Corner::kInputTail, "input_tail", "a row of positions that ends between boundaries and reaches over a whole vector", {R14}, ""},
    {Corner::kOutputHead, "output_head", "the same of slots: its begin", {R13, R14}, ""},
    {Corner::kOutputTail, "output_tail", "the same of slots: its end", {R13, R14}, ""},
    {Corner::kHeadsDiffer, "heads_differ", "rows of positions and slots that begin at different words of a vector", {R14}, ""},
    {Corner::kNarrowRow, "narrow_row", "a row of positions too narrow for a whole vector", {R14}, ""},
    {Corner::kStridedInput, "strided_input", "positions in a wider storage", {R14, A4}, ""},
    {Corner::kInputStrideZero, "input_stride_zero", "rows of an input that are all one row, stride 0", {A4}, ""},
    {Corner::kStrideLargest, "stride_largest", "a row stride of 2^60", {A4}, ""},
    {Corner::kStridedOutput, "strided_output", "slots in a wider storage", {R13}, ""},
    {Corner::kDenseOutput, "dense_output", "several rows of slots without gaps", {R13, A4}, ""},
    {Corner::kOutputStrideOfOneRow, "output_stride_of_one_row", "a row stride of the output below K, of the only row", {A4}, ""},
    {Corner::kOutputBetweenInputRows, "output_between_input_rows", "slots that lie between the rows of the positions", {R13, A15}, ""},

    {Corner::kAcceptedDespiteOddArgument, "accepted_despite_odd_argument", "an odd argument that does not matter", {A1, A2, A4}, ""},
    {Corner::kRefused, "refused", "a call that must be refused", {A1}, ""},
    {Corner::kRefusedA1, "refused_a1", "a negative extent", {A1}, ""},
    {Corner::kRefusedA2, "refused_a2", "a null or misaligned pointer of a tensor with elements", {A2}, ""},
    {Corner::kRefusedA3, "refused_a3", "row counts or widths that differ", {A3}, "B04 B17"},
    {Corner::kRefusedA4, "refused_a4", "a stride out of bounds", {A4}, ""},
    {Corner::kRefusedA5, "refused_a5", "S < 1", {A5}, ""},
    {Corner::kRefusedA6, "refused_a6", "L < S", {A6}, ""},
    {Corner::kRefusedA7, "refused_a7", "a negative num_blocks or num_workspace_rows", {A7}, ""},
    {Corner::kRefusedA8, "refused_a8", "N < 1", {A8}, ""},
    {Corner::kRefusedA9, "refused_a9", "r outside [0, N)", {A9}, ""},
    {Corner::kRefusedA10, "refused_a10", "I < 1", {A10}, ""},
    {Corner::kRefusedA11, "refused_a11", "an I that does not divide S", {A11}, "D17"},
    {Corner::kRefusedA12, "refused_a12", "prefill ids without starts, or the reverse", {A12}, ""},
    {Corner::kRefusedA13, "refused_a13", "prefill with N > 1", {A13}, ""},
    {Corner::kRefusedA14, "refused_a14", "a tile that does not divide K, or below 1", {A14}, ""},
    {Corner::kRefusedA15, "refused_a15", "an output that shares an element", {A15}, ""},
}};

constexpr bool table_follows_the_enumeration() {
  for (std::size_t i = 0; i < kNumCorners; ++i) {
    if (kCorners[i].corner != Corner(i)) return false;
  }
  return true;
}
static_assert(table_follows_the_enumeration());

}  // namespace

std::span<const CornerText> corners() { return kCorners; }

std::optional<Corner> corner_of(std::string_view id) {
  for (const CornerText& text : kCorners) {
    if (text.id == id) return text.corner;
  }
  return std::nullopt;
}

std::string_view report_kind_of(std::string_view id) {
  switch (id.empty() ? ' ' : id.front()) {
    case 'B': return "bounds";
    case 'D': return "dcp";
    case 'I': return "int32";
    case 'L': return "layout";
    case 'S': return "sentinel";
    case 'T': return "counts-and-compaction";
    case 'W': return "prefill-workspace";
    default: return "";
  }
}

}  // namespace slotproof::harness
