// Corners of a call as a whole: sizes, strides, addresses.

#include "property_tests/harness/corners_parts.h"

#include <limits>

namespace slotproof::harness {
namespace {

constexpr int32_t kIntMax = std::numeric_limits<int32_t>::max();
// The widest pass of a team that ships: 256 threads of 16 entries.
constexpr int32_t kWidestTile = 4096;

bool has_null(const spec::RemapProblem& p) {
  return p.req_id.data == nullptr || p.block_table.data == nullptr || p.token_indices.data == nullptr || p.slots.data == nullptr ||
         (p.prefill_request_id && p.prefill_request_id->data == nullptr) || (p.workspace_starts && p.workspace_starts->data == nullptr) ||
         (p.valid_counts && p.valid_counts->data == nullptr);
}

void read_ranks(const spec::RemapProblem& p, CornerMarks& marks) {
  const auto& [size, rank, interleave] = p.dcp;
  marks.mark(Corner::kOneRank, size == 1);
  marks.mark(Corner::kInterleaveWithOneRank, size == 1 && interleave > 1);
  if (size == 1) return;
  marks.mark(Corner::kFirstRank, rank == 0);
  marks.mark(Corner::kLastRank, rank == size - 1);
  marks.mark(Corner::kInterleaveOne, interleave == 1);
  marks.mark(Corner::kInterleaved, interleave > 1);
  marks.mark(Corner::kInterleaveDividesBlock, interleave > 1 && interleave < p.block_size);
  marks.mark(Corner::kInterleaveIsBlock, interleave > 1 && interleave == p.block_size);
}

void read_memory(const spec::RemapProblem& p, CornerMarks& marks) {
  const auto misaligned = [](const int32_t* data) { return reinterpret_cast<uintptr_t>(data) % 16 != 0; };
  const auto repeats_a_row = [](const spec::InputMatrix& matrix) { return matrix.rows > 1 && matrix.row_stride == 0; };
  marks.mark(Corner::kMisalignedInput, misaligned(p.token_indices.data));
  marks.mark(Corner::kMisalignedOutput, misaligned(p.slots.data));
  marks.mark(Corner::kStridedInput, p.token_indices.row_stride > p.topk());
  marks.mark(Corner::kInputStrideZero, repeats_a_row(p.token_indices) || (repeats_a_row(p.block_table) && p.block_table.columns > 0));
  marks.mark(Corner::kHiddenTableColumns, p.block_table.row_stride > p.block_table.columns);
  marks.mark(Corner::kStridedOutput, p.slots.row_stride > p.topk());
  marks.mark(Corner::kDenseOutput, p.num_tokens() > 1 && p.slots.row_stride == p.topk());
  marks.mark(Corner::kOutputStrideOfOneRow, p.num_tokens() == 1 && p.slots.row_stride < p.topk());
  const int32_t* last_position = p.token_indices.data + (p.num_tokens() - 1) * p.token_indices.row_stride;
  marks.mark(Corner::kOutputBetweenInputRows, p.slots.data > p.token_indices.data && p.slots.data < last_position);
}

}  // namespace

void read_call(const spec::RemapProblem& p, CornerMarks& marks) {
  const bool is_compacted = p.placement == spec::Placement::kCompacted;
  const bool has_entries = p.num_tokens() > 0 && p.topk() > 0;
  const int64_t round = int64_t{p.dcp.size} * p.dcp.interleave;
  marks.mark(Corner::kRoundIntMax, round == kIntMax && has_entries);
  marks.mark(Corner::kRoundBeyondInt32, round > kIntMax);
  marks.mark(Corner::kStrideBeyondInt32, p.block_stride_rows > kIntMax);
  marks.mark(Corner::kOrderUnspecified, is_compacted && p.order == spec::Order::kUnspecified);
  marks.mark(Corner::kCounted, p.valid_counts.has_value());
  marks.mark(Corner::kUncounted, !p.valid_counts);
  marks.mark(Corner::kNoTokens, p.num_tokens() == 0);
  marks.mark(Corner::kNoColumns, p.topk() == 0 && p.num_tokens() > 0);
  marks.mark(Corner::kNullWithoutElements, has_null(p));
  constexpr int64_t kLargestStride = int64_t{1} << 60;
  marks.mark(Corner::kStrideLargest,
             p.block_table.row_stride == kLargestStride || p.token_indices.row_stride == kLargestStride || p.slots.row_stride == kLargestStride);
  marks.mark(Corner::kOneColumn, p.topk() == 1);
  marks.mark(Corner::kOddWidth, p.topk() > 4 && p.topk() % 4 != 0);
  marks.mark(Corner::kExplicitTile, p.tile.has_value());
  if (!has_entries) return;
  read_ranks(p, marks);
  marks.mark(Corner::kInPlace, !is_compacted);
  marks.mark(Corner::kCompacted, is_compacted);
  marks.mark(Corner::kCompactedWithoutDcp, is_compacted && p.dcp.size == 1);
  marks.mark(Corner::kNoTableColumns, p.block_table.columns == 0);
  marks.mark(Corner::kNoRequests, p.block_table.rows == 0);
  marks.mark(Corner::kNoWorkspaceStarts, p.workspace_starts && p.workspace_starts->size == 0);
  marks.mark(Corner::kOneTokenBlocks, p.block_size == 1);
  marks.mark(Corner::kSeveralTiles, p.topk() > kWidestTile || (p.tile && *p.tile < p.topk()));
  marks.mark(Corner::kTileIsRow, p.tile && *p.tile == p.topk());
  read_memory(p, marks);
}

}  // namespace slotproof::harness
