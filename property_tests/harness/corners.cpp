#include "property_tests/harness/corners.h"

#include "spec/arguments.h"
#include "spec/remap.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>
#include <vector>

namespace slotproof::harness {
namespace {

using spec::Rule;
constexpr int32_t kIntMax = std::numeric_limits<int32_t>::max();
// The widest pass of a team that ships: 256 threads of 16 entries.
constexpr int32_t kWidestTile = 4096;
constexpr int32_t kTileOfAWarp = 512;

constexpr std::array<CornerText, kNumCorners> kCorners = {{
    {Corner::kMinusOne, "minus_one", "a position -1"},
    {Corner::kOtherNegative, "other_negative", "a negative position other than -1"},
    {Corner::kIntMin, "int_min", "a position -2^31"},
    {Corner::kPositionIntMax, "position_int_max", "a position 2^31 - 1"},
    {Corner::kWorkspaceRow, "workspace_row", "a prefill row"},
    {Corner::kWorkspaceAndDecode, "workspace_and_decode", "prefill and decode rows in one batch"},
    {Corner::kPrefillIdLast, "prefill_id_last", "p = P - 1"},
    {Corner::kPrefillIdBeyond, "prefill_id_beyond", "p >= P"},
    {Corner::kPrefillIdOtherNegative, "prefill_id_other_negative", "a negative p other than -1"},
    {Corner::kNegativeStart, "negative_start", "a workspace start below 0"},
    {Corner::kWorkspaceLastRow, "workspace_last_row", "the last row of the workspace"},
    {Corner::kWorkspaceRowBeyond, "workspace_row_beyond", "a row at or above num_workspace_rows"},
    {Corner::kWorkspaceUnrepresentable, "workspace_unrepresentable", "a workspace row above 2^31 - 1"},
    {Corner::kWorkspacePastTableWidth, "workspace_past_table_width", "a prefill position beyond the table's width"},
    {Corner::kOwned, "owned", "a position of this rank, N > 1"},
    {Corner::kForeign, "foreign", "a position of another rank"},
    {Corner::kRankOwnsNothing, "rank_owns_nothing", "a row of positions none of which is this rank's"},
    {Corner::kGroupEdge, "group_edge", "the last position of a group, I > 1"},
    {Corner::kRoundBeyondInt32, "round_beyond_int32", "N * I > 2^31 - 1"},
    {Corner::kInterleaved, "interleaved", "N > 1 and I > 1"},
    {Corner::kRequestNegative, "request_negative", "req_id < 0"},
    {Corner::kRequestLast, "request_last", "req_id = R - 1"},
    {Corner::kRequestBeyond, "request_beyond", "req_id >= R"},
    {Corner::kSharedRequest, "shared_request", "two rows of one request"},
    {Corner::kColumnLast, "column_last", "the table's last column"},
    {Corner::kColumnBeyond, "column_beyond", "a position beyond the table's last column"},
    {Corner::kBaseNegative, "base_negative", "a negative table entry"},
    {Corner::kBaseLast, "base_last", "base = num_blocks - 1"},
    {Corner::kBaseBeyond, "base_beyond", "base >= num_blocks"},
    {Corner::kBaseAbove24Bits, "base_above_24_bits", "a base that float32 cannot hold exactly, with a slot"},
    {Corner::kSharedBlock, "shared_block", "two rows of different requests in one physical block"},
    {Corner::kStrideAboveBlock, "stride_above_block", "L > S, with a slot of a block other than 0"},
    {Corner::kStrideAboveBlockUnderDcp, "stride_above_block_under_dcp", "the same with N > 1"},
    {Corner::kStrideBeyondInt32, "stride_beyond_int32", "L > 2^31 - 1"},
    {Corner::kSlotZero, "slot_zero", "slot 0, which is a real one"},
    {Corner::kSlotIntMax, "slot_int_max", "slot 2^31 - 1"},
    {Corner::kSlotUnrepresentable, "slot_unrepresentable", "a slot above 2^31 - 1"},
    {Corner::kOffsetUnrepresentable, "offset_unrepresentable", "a slot above 2^31 - 1 in a block whose first row has a slot"},
    {Corner::kSlotOneTooLarge, "slot_one_too_large", "a slot that would be 2^31"},
    {Corner::kDuplicates, "duplicates", "a position selected twice in a row"},
    {Corner::kAscending, "ascending", "a row of at least three ascending positions"},
    {Corner::kLeadingNone, "leading_none", "a row that begins with none and has slots"},
    {Corner::kInnerNone, "inner_none", "none between two slots of a row"},
    {Corner::kAllNone, "all_none", "a row of at least two entries without a slot"},
    {Corner::kNoneInRow, "none_missing", "a row of at least two entries, all slots"},
    {Corner::kInnerHolesUnderDcp, "inner_holes_under_dcp", "compaction under DCP of a row with inner holes that keeps at least three"},
    {Corner::kCompacted, "compacted", "compaction"},
    {Corner::kCompactedWithoutDcp, "compacted_without_dcp", "compaction with N = 1"},
    {Corner::kOrderUnspecified, "order_unspecified", "compaction in any order"},
    {Corner::kCounted, "counted", "counts asked for"},
    {Corner::kUncounted, "uncounted", "counts not asked for"},
    {Corner::kNoTokens, "no_tokens", "T = 0"},
    {Corner::kNoColumns, "no_columns", "K = 0 with rows"},
    {Corner::kNoTableColumns, "no_table_columns", "B = 0 with positions"},
    {Corner::kNoRequests, "no_requests", "R = 0 with positions"},
    {Corner::kOneColumn, "one_column", "K = 1"},
    {Corner::kOddWidth, "odd_width", "K > 4, no multiple of 4"},
    {Corner::kSeveralTiles, "several_tiles", "a row that the team takes in several passes"},
    {Corner::kFullTileMisalignedOutput, "full_tile_misaligned_output", "a compacted row that all but fills the tile of one or two warps, off a 16-byte boundary"},
    {Corner::kExplicitTile, "explicit_tile", "a tile named by the caller"},
    {Corner::kMisalignedInput, "misaligned_input", "positions not on a 16-byte boundary"},
    {Corner::kMisalignedOutput, "misaligned_output", "slots not on a 16-byte boundary"},
    {Corner::kStridedInput, "strided_input", "positions in a wider storage"},
    {Corner::kHiddenTableColumns, "hidden_table_columns", "a block table in a wider storage"},
    {Corner::kStridedOutput, "strided_output", "slots in a wider storage"},
    {Corner::kOutputBetweenInputRows, "output_between_input_rows", "slots that lie between the rows of the positions"},
    {Corner::kRefused, "refused", "a call that must be refused"},
    {Corner::kAcceptedDespiteOddArgument, "accepted_despite_odd_argument", "an odd argument that does not matter"},
}};

constexpr bool table_follows_the_enumeration() {
  for (std::size_t i = 0; i < kNumCorners; ++i) {
    if (kCorners[i].corner != Corner(i)) return false;
  }
  return true;
}
static_assert(table_follows_the_enumeration());

class CornerReader {
 public:
  explicit CornerReader(const spec::RemapProblem& problem) : problem_(problem) {}

  CornerSet read() {
    read_call();
    for (int32_t t = 0; t < problem_.num_tokens(); ++t) read_row(t);
    return corners_;
  }

 private:
  void mark(Corner corner, bool is_reached = true) {
    if (is_reached) corners_.set(std::size_t(corner));
  }

  void read_call() {
    const auto& p = problem_;
    const bool is_compacted = p.placement == spec::Placement::kCompacted;
    const auto misaligned = [](const int32_t* data) { return reinterpret_cast<uintptr_t>(data) % 16 != 0; };
    const bool has_entries = p.num_tokens() > 0 && p.topk() > 0;
    mark(Corner::kRoundBeyondInt32, int64_t{p.dcp.size} * p.dcp.interleave > kIntMax);
    mark(Corner::kInterleaved, p.dcp.size > 1 && p.dcp.interleave > 1);
    mark(Corner::kStrideBeyondInt32, p.block_stride_rows > kIntMax);
    mark(Corner::kCompacted, is_compacted && has_entries);
    mark(Corner::kCompactedWithoutDcp, is_compacted && p.dcp.size == 1 && has_entries);
    mark(Corner::kOrderUnspecified, is_compacted && p.order == spec::Order::kUnspecified);
    mark(Corner::kCounted, p.valid_counts.has_value());
    mark(Corner::kUncounted, !p.valid_counts);
    mark(Corner::kNoTokens, p.num_tokens() == 0);
    mark(Corner::kNoColumns, p.topk() == 0 && p.num_tokens() > 0);
    mark(Corner::kNoTableColumns, p.block_table.columns == 0 && has_entries);
    mark(Corner::kNoRequests, p.block_table.rows == 0 && has_entries);
    mark(Corner::kOneColumn, p.topk() == 1);
    mark(Corner::kOddWidth, p.topk() > 4 && p.topk() % 4 != 0);
    mark(Corner::kSeveralTiles, has_entries && (p.topk() > kWidestTile || (p.tile && *p.tile < p.topk())));
    mark(Corner::kExplicitTile, p.tile.has_value());
    mark(Corner::kMisalignedInput, has_entries && misaligned(p.token_indices.data));
    mark(Corner::kMisalignedOutput, has_entries && misaligned(p.slots.data));
    mark(Corner::kStridedInput, has_entries && p.token_indices.row_stride > p.topk());
    mark(Corner::kHiddenTableColumns, p.block_table.row_stride > p.block_table.columns && has_entries);
    mark(Corner::kStridedOutput, has_entries && p.slots.row_stride > p.topk());
    if (!has_entries) return;
    const int32_t* last_position = p.token_indices.data + (p.num_tokens() - 1) * p.token_indices.row_stride;
    mark(Corner::kOutputBetweenInputRows, p.slots.data > p.token_indices.data && p.slots.data < last_position);
  }

  void read_row(int32_t t) {
    const int32_t topk = problem_.topk();
    const int32_t request = problem_.req_id.view()[t];
    const auto positions = problem_.token_indices.view();
    const bool is_workspace = problem_.prefill_request_id && problem_.prefill_request_id->view()[t] >= 0;
    if (problem_.prefill_request_id) read_prefill_id(problem_.prefill_request_id->view()[t]);
    if (!is_workspace && topk > 0) {
      mark(Corner::kRequestNegative, request < 0);
      mark(Corner::kRequestLast, request >= 0 && request == problem_.block_table.rows - 1);
      mark(Corner::kRequestBeyond, request >= problem_.block_table.rows);
      mark(Corner::kSharedRequest, !requests_.insert(request).second && request >= 0 && request < problem_.block_table.rows);
    }
    std::set<int32_t> seen;
    std::vector<bool> is_slot;
    int32_t num_foreign = 0, num_ascending = 0;
    for (int32_t k = 0; k < topk; ++k) {
      const int32_t tok = positions(t, k);
      const spec::Entry entry = spec::entry_of(problem_, t, k);
      read_entry(t, tok, entry, is_workspace);
      if (tok >= 0) mark(Corner::kDuplicates, !seen.insert(tok).second);
      num_ascending += k > 0 && tok >= 0 && positions(t, k - 1) >= 0 && tok > positions(t, k - 1);
      num_foreign += entry.decided_by == Rule::R3;
      is_slot.push_back(!entry.is_none());
    }
    mark(Corner::kRankOwnsNothing, topk > 1 && num_foreign == topk);
    mark(Corner::kAscending, topk >= 3 && num_ascending == topk - 1);
    read_shape_of_row(is_slot);
    const auto num_slots = std::count(is_slot.begin(), is_slot.end(), true);
    const int32_t left = topk <= kTileOfAWarp ? kTileOfAWarp - topk : 2 * kTileOfAWarp - topk;
    if (left < 0 || left >= 4) return;
    const bool is_misaligned = reinterpret_cast<uintptr_t>(problem_.slots.data + t * problem_.slots.row_stride) % 16 != 0;
    mark(Corner::kFullTileMisalignedOutput, problem_.placement == spec::Placement::kCompacted && is_misaligned && topk - num_slots < 16);
  }

  void read_shape_of_row(const std::vector<bool>& is_slot) {
    const auto num_slots = std::count(is_slot.begin(), is_slot.end(), true);
    if (is_slot.size() >= 2) {
      mark(Corner::kAllNone, num_slots == 0);
      mark(Corner::kNoneInRow, num_slots == std::ssize(is_slot));
    }
    if (num_slots == 0) return;
    mark(Corner::kLeadingNone, !is_slot.front());
    const auto first = std::find(is_slot.begin(), is_slot.end(), true);
    const auto last = std::find(is_slot.rbegin(), is_slot.rend(), true).base();
    const bool has_holes = std::find(first, last, false) != last;
    mark(Corner::kInnerNone, has_holes);
    mark(Corner::kInnerHolesUnderDcp, has_holes && num_slots >= 3 && problem_.dcp.size > 1 && problem_.placement == spec::Placement::kCompacted);
  }

  void read_prefill_id(int32_t prefill_id) {
    const auto& starts = *problem_.workspace_starts;
    (prefill_id >= 0 ? has_workspace_rows_ : has_decode_rows_) = true;
    mark(Corner::kWorkspaceRow, prefill_id >= 0);
    mark(Corner::kWorkspaceAndDecode, has_workspace_rows_ && has_decode_rows_);
    mark(Corner::kPrefillIdLast, prefill_id >= 0 && prefill_id == starts.size - 1);
    mark(Corner::kPrefillIdBeyond, prefill_id >= starts.size);
    mark(Corner::kPrefillIdOtherNegative, prefill_id < -1);
    mark(Corner::kNegativeStart, prefill_id >= 0 && prefill_id < starts.size && starts.view()[prefill_id] < 0);
  }

  void read_entry(int32_t t, int32_t tok, const spec::Entry& entry, bool is_workspace) {
    mark(Corner::kMinusOne, tok == -1);
    mark(Corner::kOtherNegative, tok < -1);
    mark(Corner::kIntMin, tok == std::numeric_limits<int32_t>::min());
    mark(Corner::kPositionIntMax, tok == kIntMax);
    if (tok < 0) return;
    if (is_workspace) return read_workspace_entry(t, tok, entry);
    const auto& dcp = problem_.dcp;
    mark(Corner::kForeign, entry.decided_by == Rule::R3);
    if (entry.decided_by == Rule::R3 || entry.decided_by == Rule::R5) return;
    mark(Corner::kOwned, dcp.size > 1);
    mark(Corner::kGroupEdge, dcp.size > 1 && dcp.interleave > 1 && tok % dcp.interleave == dcp.interleave - 1);
    mark(Corner::kColumnBeyond, entry.decided_by == Rule::R6);
    if (entry.decided_by == Rule::R6) return;
    const int64_t local = int64_t{tok} / (int64_t{dcp.size} * dcp.interleave) * dcp.interleave + tok % dcp.interleave;
    const int64_t column = local / problem_.block_size;
    const int32_t request = problem_.req_id.view()[t], base = problem_.block_table.view()(request, column);
    mark(Corner::kColumnLast, column == problem_.block_table.columns - 1);
    mark(Corner::kBaseNegative, base < 0);
    mark(Corner::kBaseLast, problem_.num_blocks && base >= 0 && base == *problem_.num_blocks - 1);
    mark(Corner::kBaseBeyond, problem_.num_blocks && base >= *problem_.num_blocks);
    mark(Corner::kSlotUnrepresentable, entry.decided_by == Rule::R9);
    const int64_t stride = problem_.block_stride_rows, offset = local % problem_.block_size;
    if (entry.decided_by == Rule::R9 && stride <= kIntMax / base) {  // base > 0: block 0 has all its slots
      mark(Corner::kOffsetUnrepresentable);
      mark(Corner::kSlotOneTooLarge, base * stride + offset == int64_t{kIntMax} + 1);
    }
    if (entry.is_none()) return;
    const auto [owner, is_new] = request_of_block_.try_emplace(base, request);
    mark(Corner::kSharedBlock, !is_new && owner->second != request);
    mark(Corner::kBaseAbove24Bits, base > 1 << 24);
    mark(Corner::kStrideAboveBlock, base > 0 && problem_.block_stride_rows > problem_.block_size);
    mark(Corner::kStrideAboveBlockUnderDcp, base > 0 && problem_.block_stride_rows > problem_.block_size && dcp.size > 1);
    mark(Corner::kSlotZero, entry.slot == 0);
    mark(Corner::kSlotIntMax, entry.slot == kIntMax);
  }

  void read_workspace_entry(int32_t t, int32_t tok, const spec::Entry& entry) {
    const bool is_row_beyond = entry.decided_by == Rule::R2 && entry.is_none() && problem_.num_workspace_rows;
    const int32_t prefill_id = problem_.prefill_request_id->view()[t];
    const bool has_start = prefill_id < problem_.workspace_starts->size && problem_.workspace_starts->view()[prefill_id] >= 0;
    mark(Corner::kWorkspaceRowBeyond, is_row_beyond && has_start);
    mark(Corner::kWorkspaceUnrepresentable, entry.decided_by == Rule::R9);
    if (entry.is_none()) return;
    mark(Corner::kWorkspaceLastRow, problem_.num_workspace_rows && entry.slot == *problem_.num_workspace_rows - 1);
    mark(Corner::kWorkspacePastTableWidth, tok / problem_.block_size >= problem_.block_table.columns);
  }

  const spec::RemapProblem& problem_;
  CornerSet corners_;
  std::set<int32_t> requests_;
  std::map<int32_t, int32_t> request_of_block_;
  bool has_workspace_rows_ = false, has_decode_rows_ = false;
};

}  // namespace

std::span<const CornerText> corners() { return kCorners; }

CornerSet corners_of(const spec::RemapProblem& problem, bool has_edits) {
  CornerSet set;
  if (spec::refusal_of(problem)) {
    set.set(std::size_t(Corner::kRefused));
    return set;
  }
  set = CornerReader(problem).read();
  if (has_edits) set.set(std::size_t(Corner::kAcceptedDespiteOddArgument));
  return set;
}

}  // namespace slotproof::harness
