#pragma once
// Corners of an entry and of a row, as bits: property_tests/harness/corners.cpp in a form that a GPU evaluates. Read off the
// arguments and the reference's answers; that the two agree is tested.

#include "property_tests/device/bulk_verdict.h"
#include "reference/remap_entry.h"

#include <slotproof/remap.h>

namespace slotproof::harness {

constexpr uint64_t bit_of(BulkCorner corner, bool is_there = true) {
  return is_there ? uint64_t{1} << int(corner) : 0;
}
static_assert(kNumBulkCorners <= 64);

constexpr uint64_t workspace_corners_of(const RemapArgs& args, int32_t prefill_id, int32_t tok, int32_t entry) {
  const int32_t start = prefill_id < args.workspace_starts->size ? args.workspace_starts->data[prefill_id] : -1;
  if (start < 0) return 0;
  const int64_t row = int64_t{start} + tok;
  const bool is_beyond = args.num_workspace_rows && row >= *args.num_workspace_rows;
  if (entry < 0) return bit_of(BulkCorner::kWorkspaceRowBeyond, is_beyond) | bit_of(BulkCorner::kWorkspaceUnrepresentable, !is_beyond);
  return bit_of(BulkCorner::kWorkspaceLastRow, args.num_workspace_rows && row == *args.num_workspace_rows - 1) |
         bit_of(BulkCorner::kWorkspacePastTableWidth, tok / args.block_size >= args.block_table.columns);
}

constexpr uint64_t slot_corners_of(const RemapArgs& args, int32_t base, int32_t offset, int32_t entry) {
  const bool has_gap = base > 0 && args.block_stride_rows > args.block_size;
  if (entry >= 0) {
    return bit_of(BulkCorner::kBaseAbove24Bits, base > 1 << 24) | bit_of(BulkCorner::kStrideAboveBlock, has_gap) |
           bit_of(BulkCorner::kStrideAboveBlockUnderDcp, has_gap && args.dcp.size > 1) | bit_of(BulkCorner::kSlotZero, entry == 0) |
           bit_of(BulkCorner::kSlotIntMax, entry == INT32_MAX);
  }
  const bool is_out_of_cache = base < 0 || (args.num_blocks && base >= *args.num_blocks);
  if (is_out_of_cache || base == 0) return 0;
  const bool is_by_offset = args.block_stride_rows <= INT32_MAX / base;
  return bit_of(BulkCorner::kSlotUnrepresentable) | bit_of(BulkCorner::kOffsetUnrepresentable, is_by_offset) |
         bit_of(BulkCorner::kSlotOneTooLarge, is_by_offset && base * args.block_stride_rows + offset == int64_t{INT32_MAX} + 1);
}

constexpr uint64_t entry_corners_of(const RemapArgs& args, int32_t t, int32_t tok, int32_t entry) {
  if (tok < 0) return bit_of(BulkCorner::kMinusOne, tok == -1) | bit_of(BulkCorner::kOtherNegative, tok < -1) | bit_of(BulkCorner::kIntMin, tok == INT32_MIN);
  const uint64_t found = bit_of(BulkCorner::kPositionIntMax, tok == INT32_MAX);
  const int32_t prefill_id = args.prefill_request_id ? args.prefill_request_id->data[t] : -1;
  if (prefill_id >= 0) return found | workspace_corners_of(args, prefill_id, tok, entry);
  if (reference::owner_of(args.dcp, tok) != args.dcp.rank) return found | bit_of(BulkCorner::kForeign);
  const int32_t request = args.req_id.data[t];
  if (request < 0 || request >= args.block_table.rows) return found;
  const bool is_group_edge = args.dcp.interleave > 1 && tok % args.dcp.interleave == args.dcp.interleave - 1;
  const uint64_t owned = args.dcp.size > 1 ? bit_of(BulkCorner::kOwned) | bit_of(BulkCorner::kGroupEdge, is_group_edge) : 0;
  const int32_t local = reference::local_of(args.dcp, tok), column = local / args.block_size;
  if (column >= args.block_table.columns) return found | owned | bit_of(BulkCorner::kColumnBeyond);
  const int32_t base = args.block_table.data[request * args.block_table.row_stride + column];
  return found | owned | bit_of(BulkCorner::kColumnLast, column == args.block_table.columns - 1) | bit_of(BulkCorner::kBaseNegative, base < 0) |
         bit_of(BulkCorner::kBaseLast, args.num_blocks && base >= 0 && base == *args.num_blocks - 1) |
         bit_of(BulkCorner::kBaseBeyond, args.num_blocks && base >= *args.num_blocks) | slot_corners_of(args, base, local % args.block_size, entry);
}

// What a row's entries add up to.
struct RowSums {
  int32_t num_slots = 0;
  int32_t num_foreign = 0;  // positions of other ranks
  bool begins_with_none = false;
  bool is_output_misaligned = false;  // not on a 16-byte boundary
};

constexpr uint64_t row_corners_of(const RemapArgs& args, int32_t t, const RowSums& row) {
  const int32_t topk = args.token_indices.columns, request = args.req_id.data[t];
  uint64_t found = bit_of(BulkCorner::kLeadingNone, row.num_slots > 0 && row.begins_with_none) | bit_of(BulkCorner::kAllNone, topk >= 2 && row.num_slots == 0) |
                   bit_of(BulkCorner::kNoneMissing, topk >= 2 && row.num_slots == topk) |
                   bit_of(BulkCorner::kRankOwnsNothing, topk > 1 && row.num_foreign == topk);
  // Up to three columns fewer than the register tile of a team of one or two warps holds.
  const bool is_full_tile = (topk > 508 && topk <= 512) || (topk > 1020 && topk <= 1024);
  found |= bit_of(BulkCorner::kFullTileMisalignedOutput,
                  args.placement == Placement::kCompacted && is_full_tile && row.is_output_misaligned && topk - row.num_slots < 16);
  if (args.prefill_request_id) {
    const int32_t prefill_id = args.prefill_request_id->data[t], num_starts = args.workspace_starts->size;
    found |= bit_of(BulkCorner::kWorkspaceRow, prefill_id >= 0) | bit_of(BulkCorner::kPrefillIdLast, prefill_id >= 0 && prefill_id == num_starts - 1) |
             bit_of(BulkCorner::kPrefillIdBeyond, prefill_id >= num_starts) | bit_of(BulkCorner::kPrefillIdOtherNegative, prefill_id < -1);
    if (prefill_id >= 0 && prefill_id < num_starts) found |= bit_of(BulkCorner::kNegativeStart, args.workspace_starts->data[prefill_id] < 0);
    if (prefill_id >= 0) return found;
  }
  if (topk == 0) return found;
  return found | bit_of(BulkCorner::kRequestNegative, request < 0) | bit_of(BulkCorner::kRequestLast, request >= 0 && request == args.block_table.rows - 1) |
         bit_of(BulkCorner::kRequestBeyond, request >= args.block_table.rows);
}

}  // namespace slotproof::harness
