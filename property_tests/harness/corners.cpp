// Corners of rows and entries.

#include "property_tests/harness/corners.h"

#include "property_tests/harness/corners_parts.h"
#include "spec/arguments.h"
#include "spec/remap.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <vector>

namespace slotproof::harness {
namespace {

using spec::Rule;
constexpr int32_t kIntMax = std::numeric_limits<int32_t>::max();
constexpr int32_t kTileOfAWarp = 512;
constexpr int32_t kVectorWords = 4;

// What the entries of one row add up to.
struct Row {
  int32_t t = 0;
  bool is_workspace = false;
  int32_t request = 0;
  std::vector<bool> is_slot;
  std::vector<int32_t> slots;
  std::set<int64_t> columns_with_slots, columns_without_block;  // of the table

  bool has_slots() const { return !slots.empty(); }
};

class CornerReader {
 public:
  explicit CornerReader(const spec::RemapProblem& problem) : problem_(problem) {}

  CornerSet read() {
    read_call(problem_, marks_);
    for (int32_t t = 0; t < problem_.num_tokens(); ++t) read_row(t);
    return marks_.set;
  }

 private:
  void mark(Corner corner, bool is_reached = true) { marks_.mark(corner, is_reached); }
  bool is_compacted() const { return problem_.placement == spec::Placement::kCompacted; }
  bool is_request(int32_t request) const { return request >= 0 && request < problem_.block_table.rows; }

  void read_row(int32_t t) {
    const int32_t topk = problem_.topk();
    Row row{t, problem_.prefill_request_id && problem_.prefill_request_id->view()[t] >= 0, problem_.req_id.view()[t], {}, {}, {}, {}};
    if (problem_.prefill_request_id) read_prefill_id(problem_.prefill_request_id->view()[t]);
    if (topk == 0) return;
    int32_t num_foreign = 0;
    for (int32_t k = 0; k < topk; ++k) {
      const int32_t tok = problem_.token_indices.view()(t, k);
      const spec::Entry entry = spec::entry_of(problem_, t, k);
      read_entry(row, tok, entry);
      num_foreign += entry.decided_by == Rule::R3;
      row.is_slot.push_back(!entry.is_none());
      if (!entry.is_none()) row.slots.push_back(entry.slot);
    }
    mark(Corner::kRankOwnsNothing, topk > 1 && num_foreign == topk);
    if (!row.is_workspace) read_request(row);
    mark(Corner::kWorkspaceWithoutRequest, row.is_workspace && row.has_slots() && !is_request(row.request));
    read_order(t);
    read_shape(row);
    read_addresses(row);
    for (const int64_t column : row.columns_without_block) {
      const auto& with = row.columns_with_slots;
      mark(Corner::kTableHole, !with.empty() && *with.begin() < column && column < *with.rbegin());
    }
    has_earlier_slots_ |= row.has_slots();
    if (row.has_slots() && !row.is_workspace) {
      requests_with_slots_.insert(row.request);
      mark(Corner::kSeveralRequests, requests_with_slots_.size() > 1);
    }
    previous_ = {is_request(row.request) && !row.is_workspace && row.has_slots(), row.request};
  }

  void read_prefill_id(int32_t prefill_id) {
    const auto& starts = *problem_.workspace_starts;
    (prefill_id >= 0 ? has_workspace_rows_ : has_decode_rows_) = true;
    mark(Corner::kWorkspaceRow, prefill_id >= 0);
    mark(Corner::kWorkspaceAndDecode, has_workspace_rows_ && has_decode_rows_);
    mark(Corner::kPrefillIdFirst, prefill_id == 0 && starts.size > 0);
    mark(Corner::kPrefillIdLast, prefill_id >= 0 && prefill_id == starts.size - 1);
    mark(Corner::kPrefillIdBeyond, prefill_id >= starts.size);
    mark(Corner::kPrefillIdOtherNegative, prefill_id < -1);
    mark(Corner::kNegativeStart, prefill_id >= 0 && prefill_id < starts.size && starts.view()[prefill_id] < 0);
    mark(Corner::kWorkspaceRowsZero, prefill_id >= 0 && problem_.num_workspace_rows == 0);
  }

  void read_request(const Row& row) {
    const int32_t request = row.request;
    const bool is_last = row.t == problem_.num_tokens() - 1;
    mark(Corner::kRequestNegative, request < 0);
    mark(Corner::kRequestFirst, request == 0 && is_request(request));
    mark(Corner::kRequestLast, request >= 0 && request == problem_.block_table.rows - 1);
    mark(Corner::kRequestOneBeyond, request == problem_.block_table.rows);
    mark(Corner::kRequestBeyond, request >= problem_.block_table.rows);
    mark(Corner::kSharedRequest, !requests_.insert(request).second && is_request(request));
    mark(Corner::kSpeculativeRows, previous_.has_slots && row.has_slots() && previous_.request == request);
    if (!is_last || !has_earlier_slots_) return;
    const auto positions = problem_.token_indices.view().row(row.t);
    mark(Corner::kGraphPaddingRow, !is_request(request) && (positions.array() >= 0).any());
    mark(Corner::kPaddingRow, (positions.array() == spec::kNone).all());
  }

  // How the positions of a row follow each other.
  void read_order(int32_t t) {
    const auto positions = problem_.token_indices.view().row(t);
    std::set<int32_t> seen;
    int32_t num_up = 0, num_down = 0;
    for (int32_t k = 0; k < problem_.topk(); ++k) {
      if (positions[k] < 0) continue;
      mark(Corner::kDuplicates, !seen.insert(positions[k]).second);
      if (k == 0 || positions[k - 1] < 0) continue;
      num_up += positions[k] > positions[k - 1];
      num_down += positions[k] < positions[k - 1];
    }
    const int32_t num_steps = problem_.topk() - 1;
    mark(Corner::kAscending, num_steps >= 2 && num_up == num_steps);
    mark(Corner::kDescending, num_steps >= 2 && num_down == num_steps);
    mark(Corner::kUnsorted, num_up > 0 && num_down > 0);
  }

  void read_shape(const Row& row) {
    const bool is_full = row.slots.size() == row.is_slot.size(), is_wide = row.is_slot.size() >= 2;
    mark(Corner::kAllNone, is_wide && !row.has_slots());
    mark(Corner::kNoneInRow, is_wide && is_full);
    mark(Corner::kCountZero, problem_.valid_counts && !row.has_slots());
    mark(Corner::kCountFull, problem_.valid_counts && is_wide && is_full);
    mark(Corner::kCompactedEmpty, is_compacted() && !row.has_slots());
    mark(Corner::kCompactedFull, is_compacted() && is_wide && is_full);
    if (!row.has_slots()) return;
    mark(Corner::kLeadingNone, !row.is_slot.front());
    mark(Corner::kTrailingNone, !row.is_slot.back());
    const auto first = std::find(row.is_slot.begin(), row.is_slot.end(), true);
    const auto last = std::find(row.is_slot.rbegin(), row.is_slot.rend(), true).base();
    const bool has_holes = std::find(first, last, false) != last;
    mark(Corner::kInnerNone, has_holes);
    mark(Corner::kInnerHolesUnderDcp, has_holes && row.slots.size() >= 3 && problem_.dcp.size > 1 && is_compacted());
    mark(Corner::kOrderUnspecifiedWithHoles, has_holes && is_compacted() && problem_.order == spec::Order::kUnspecified);
    mark(Corner::kDuplicatesCompacted, is_compacted() && std::set<int32_t>(row.slots.begin(), row.slots.end()).size() < row.slots.size());
  }

  // Where the row's memory begins and ends against 16-byte boundaries.
  void read_addresses(const Row& row) {
    const auto words_of = [](const int32_t* data) { return int32_t(reinterpret_cast<uintptr_t>(data) / 4 % kVectorWords); };
    const int32_t topk = problem_.topk();
    const int32_t input = words_of(problem_.token_indices.data + row.t * problem_.token_indices.row_stride);
    const int32_t output = words_of(problem_.slots.data + row.t * problem_.slots.row_stride);
    const auto read_one = [&](int32_t words, Corner head, Corner tail) {
      const int32_t num_in_head = (kVectorWords - words) % kVectorWords;
      if (topk < num_in_head + kVectorWords) return false;
      mark(head, num_in_head > 0);
      mark(tail, (topk - num_in_head) % kVectorWords > 0);
      return true;
    };
    const bool has_vectors = read_one(input, Corner::kInputHead, Corner::kInputTail);
    mark(Corner::kNarrowRow, !has_vectors);
    mark(Corner::kHeadsDiffer, read_one(output, Corner::kOutputHead, Corner::kOutputTail) && has_vectors && input != output);
    // Up to three columns fewer than the register tile of a team of one or two warps holds.
    const int32_t left = topk <= kTileOfAWarp ? kTileOfAWarp - topk : 2 * kTileOfAWarp - topk;
    mark(Corner::kFullTileMisalignedOutput, left >= 0 && left < 4 && output != 0 && is_compacted() && topk - std::ssize(row.slots) < 16);
  }

  void read_entry(Row& row, int32_t tok, const spec::Entry& entry) {
    mark(Corner::kMinusOne, tok == -1);
    mark(Corner::kOtherNegative, tok < -1);
    mark(Corner::kIntMin, tok == std::numeric_limits<int32_t>::min());
    mark(Corner::kPositionZero, tok == 0);
    mark(Corner::kPositionIntMax, tok == kIntMax);
    if (tok < 0) return;
    if (row.is_workspace) return read_workspace_entry(row, tok, entry);
    mark(Corner::kForeign, entry.decided_by == Rule::R3);
    if (entry.decided_by == Rule::R3 || entry.decided_by == Rule::R5) return;
    const auto& [size, rank, interleave] = problem_.dcp;
    const bool has_groups = size > 1 && interleave > 1;
    mark(Corner::kOwned, size > 1);
    mark(Corner::kGroupFirst, has_groups && tok >= interleave && tok % interleave == 0);
    mark(Corner::kGroupEdge, has_groups && tok % interleave == interleave - 1);
    const int64_t local = int64_t{tok} / (int64_t{size} * interleave) * interleave + tok % interleave;
    mark(Corner::kColumnBeyond, entry.decided_by == Rule::R6);
    mark(Corner::kColumnOneBeyond, local == int64_t{problem_.block_table.columns} * problem_.block_size);
    if (entry.decided_by == Rule::R6) return;
    const int64_t column = local / problem_.block_size, offset = local % problem_.block_size;
    const int32_t base = problem_.block_table.view()(row.request, column);
    read_base(column, offset, base, entry);
    if (entry.decided_by == Rule::R7) row.columns_without_block.insert(column);
    if (entry.is_none()) return;
    row.columns_with_slots.insert(column);
    read_slot(row, column, offset, base, entry.slot);
    mark(Corner::kGroupAtBlockBegin, has_groups && tok % interleave == 0 && offset == 0 && column > 0);
    mark(Corner::kGroupAtBlockEnd, has_groups && tok % interleave == interleave - 1 && offset == problem_.block_size - 1);
    mark(Corner::kBlockOfSeveralGroups, has_groups && offset >= interleave);
  }

  void read_base(int64_t column, int64_t offset, int32_t base, const spec::Entry& entry) {
    const int64_t stride = problem_.block_stride_rows;
    const auto& num_blocks = problem_.num_blocks;
    mark(Corner::kColumnFirst, column == 0);
    mark(Corner::kColumnLast, column == problem_.block_table.columns - 1);
    mark(Corner::kBaseNegative, base < 0);
    mark(Corner::kBaseLast, num_blocks && base >= 0 && base == *num_blocks - 1);
    mark(Corner::kBaseOneBeyond, num_blocks && base == *num_blocks);
    mark(Corner::kBaseBeyond, num_blocks && base >= *num_blocks);
    mark(Corner::kNumBlocksZero, num_blocks == 0);
    mark(Corner::kSlotUnrepresentable, entry.decided_by == Rule::R9);
    if (entry.decided_by != Rule::R9) return;
    mark(Corner::kBaseBeyondLimit, int64_t{base} == kIntMax / stride + 1);
    if (stride > kIntMax / base) return;  // base > 0: block 0 has all its slots
    mark(Corner::kOffsetUnrepresentable);
    mark(Corner::kSlotOneTooLarge, base * stride + offset == int64_t{kIntMax} + 1);
  }

  void read_slot(const Row& row, int64_t column, int64_t offset, int32_t base, int32_t slot) {
    const int64_t stride = problem_.block_stride_rows, size = problem_.block_size;
    const auto [owner, is_new] = request_of_block_.try_emplace(base, row.request);
    mark(Corner::kSharedBlock, !is_new && owner->second != row.request);
    if (column == 0) {
      const auto [first_owner, is_new_first] = request_of_first_block_.try_emplace(base, row.request);
      mark(Corner::kSharedPrefix, !is_new_first && first_owner->second != row.request);
    }
    mark(Corner::kBlockFirstOffset, offset == 0 && column > 0);
    mark(Corner::kBlockInnerOffset, offset > 0 && offset < size - 1 && column > 0);
    mark(Corner::kBlockLastOffset, offset == size - 1 && size > 1);
    mark(Corner::kBaseZero, base == 0);
    mark(Corner::kBaseAbove24Bits, base > 1 << 24);
    mark(Corner::kBaseNearLimit, base > 0 && base == kIntMax / stride);
    mark(Corner::kStrideIsBlock, base > 0 && stride == size);
    mark(Corner::kStrideAboveBlock, base > 0 && stride > size);
    mark(Corner::kStrideAboveBlockUnderDcp, base > 0 && stride > size && problem_.dcp.size > 1);
    mark(Corner::kSlotZero, slot == 0);
    mark(Corner::kSlotElementOffset, slot >= 1 << 22);
    mark(Corner::kSlotIntMax, slot == kIntMax);
  }

  void read_workspace_entry(const Row& row, int32_t tok, const spec::Entry& entry) {
    const int32_t prefill_id = problem_.prefill_request_id->view()[row.t];
    if (prefill_id >= problem_.workspace_starts->size) return;
    const int64_t start = problem_.workspace_starts->view()[prefill_id];
    if (start < 0) return;
    const auto& num_rows = problem_.num_workspace_rows;
    mark(Corner::kWorkspaceRowBeyond, entry.is_none() && entry.decided_by == Rule::R2);
    mark(Corner::kWorkspaceRowOneBeyond, num_rows && start + tok == *num_rows);
    mark(Corner::kWorkspaceUnrepresentable, entry.decided_by == Rule::R9);
    if (entry.is_none()) return;
    mark(Corner::kWorkspaceStartZero, start == 0);
    mark(Corner::kWorkspaceLastRow, num_rows && entry.slot == *num_rows - 1);
    mark(Corner::kWorkspaceRowIntMax, entry.slot == kIntMax);
    mark(Corner::kWorkspacePastTableWidth, tok / problem_.block_size >= problem_.block_table.columns);
  }

  const spec::RemapProblem& problem_;
  CornerMarks marks_;
  std::set<int32_t> requests_, requests_with_slots_;
  std::map<int32_t, int32_t> request_of_block_, request_of_first_block_;
  bool has_workspace_rows_ = false, has_decode_rows_ = false, has_earlier_slots_ = false;
  struct {
    bool has_slots = false;
    int32_t request = 0;
  } previous_;
};

}  // namespace

CornerSet corners_of(const spec::RemapProblem& problem, bool has_edits) {
  CornerMarks marks;
  if (const auto refusal = spec::refusal_of(problem)) {
    marks.mark(Corner::kRefused);
    marks.mark(Corner(int(Corner::kRefusedA1) + spec::argument_number_of(refusal->rule) - 1));
    return marks.set;
  }
  marks.set = CornerReader(problem).read();
  marks.mark(Corner::kAcceptedDespiteOddArgument, has_edits);
  return marks.set;
}

}  // namespace slotproof::harness
