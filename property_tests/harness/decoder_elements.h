#pragma once
// The second half of the decoder: from a problem's shape to its elements. Each function draws one element from a stream of choices.
// A small case draws all of its elements from one stream, one after another; a bulk case gives every element a stream of its own, so
// that a GPU makes them in any order and the host makes any row of them again.
//
// constexpr and without containers, so that nvcc compiles the same functions for the device.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

namespace slotproof::harness {

inline constexpr int32_t kInt32Max = std::numeric_limits<int32_t>::max();
inline constexpr int32_t kInt32Min = std::numeric_limits<int32_t>::min();

constexpr int32_t clamp32(int64_t value) {
  return value < kInt32Min ? kInt32Min : value > kInt32Max ? kInt32Max : int32_t(value);
}

// ---- Choices of a few kinds. Choice 0 is the plainest.

template <class Stream>
constexpr bool one_in(Stream& choices, uint32_t n) {
  return choices.below(n) == n - 1;  // choice 0 says no
}
template <class Stream>
constexpr int32_t up_to(Stream& choices, int32_t most) {
  return int32_t(choices.below(uint32_t(std::max(most, 0)) + 1));
}
template <class Stream>
constexpr int32_t any_int32(Stream& choices) {
  return int32_t(uint32_t(choices.bits64()));
}

// The value of number `index`. Comparisons, no array: on a GPU a run-time index would put it into memory.
template <class T, class... Rest>
constexpr T value_at(uint32_t index, T first, Rest... rest) {
  if constexpr (sizeof...(rest) == 0) return first;
  else return index == 0 ? first : value_at<T>(index - 1, T(rest)...);
}
template <class T, class Stream, class... Values>
constexpr T pick(Stream& choices, Values... values) {
  return value_at<T>(choices.below(uint32_t(sizeof...(values))), T(values)...);
}

// ---- What the elements depend on.

struct RemapShape {
  int32_t dcp_size = 1, dcp_rank = 0, dcp_interleave = 1;
  bool is_compacted = false, is_any_order = false, has_counts = false;
  std::optional<int32_t> tile;
  int32_t block_size = 1;
  int64_t block_stride_rows = 1;
  std::optional<int64_t> num_blocks;
  bool has_prefill = false;
  std::optional<int64_t> num_workspace_rows;

  int32_t num_tokens = 0, topk = 0, num_requests = 0, table_columns = 0, num_starts = 0;
  int32_t indices_storage_columns = 0, table_storage_columns = 0, slots_storage_columns = 0;  // row strides
  uint8_t misalignment[7] = {};                                                               // words from a 16-byte boundary, in the order of Tensor

  bool is_guarded = true;        // elements may leave the seed's contract
  bool has_odd_entries = false;  // so may entries of the table
  bool is_nearly_full = false;   // rows keep all but a few entries
  int32_t most_id = 0;           // physical blocks are drawn from [0, most_id]
};

// The last base whose first row has a slot.
constexpr int64_t last_base_of(const RemapShape& shape) {
  return kInt32Max / shape.block_stride_rows;
}
// Positions that this rank's table can hold.
constexpr int64_t num_local_of(const RemapShape& shape) {
  return int64_t{shape.table_columns} * shape.block_size;
}

// The position at a local place of this rank, at most 2^31 - 1: what the rules at the table's edges are reached through.
constexpr int32_t position_at(const RemapShape& shape, int64_t local) {
  if (local > kInt32Max) return kInt32Max;  // no position is before its local place
  const int64_t round = int64_t{shape.dcp_size} * shape.dcp_interleave;
  const int32_t group = int32_t(local) / shape.dcp_interleave;
  if (round > kInt32Max ? group > 0 : int64_t{group} * round > kInt32Max) return kInt32Max;
  return clamp32(group * round + int64_t{shape.dcp_rank} * shape.dcp_interleave + int32_t(local) % shape.dcp_interleave);
}

// ---- Elements of the table and the vectors.

template <class Stream>
constexpr int32_t request_of(const RemapShape& shape, Stream& choices) {
  const int32_t request = up_to(choices, shape.num_requests - 1);
  if (!shape.is_guarded || !one_in(choices, 12)) return request;
  const uint32_t odd = choices.below(6);
  if (odd == 5) return any_int32(choices);
  return value_at<int32_t>(odd, -1, shape.num_requests, shape.num_requests - 1, kInt32Max, kInt32Min);
}

template <class Stream>
constexpr int32_t prefill_id_of(const RemapShape& shape, Stream& choices) {
  const bool is_workspace_row = one_in(choices, 2) && shape.num_starts > 0;
  const int32_t prefill_id = is_workspace_row ? up_to(choices, shape.num_starts - 1) : -1;
  if (!shape.is_guarded || !one_in(choices, 8)) return prefill_id;
  return pick<int32_t>(choices, shape.num_starts, shape.num_starts - 1, -2, kInt32Min, kInt32Max, shape.num_starts + 1);
}

template <class Stream>
constexpr int32_t workspace_start_of(const RemapShape& shape, Stream& choices) {
  const int32_t start = up_to(choices, 100);
  if (!shape.is_guarded || !one_in(choices, 6)) return start;
  return pick<int32_t>(choices, -1, kInt32Min, kInt32Max, kInt32Max - 5, 0);
}

template <class Stream>
constexpr int32_t table_entry_of(const RemapShape& shape, Stream& choices) {
  const int32_t entry = up_to(choices, shape.most_id);
  // A slot above 2^31 - 1 is outside the core contract: an offset behind the last base leaves int32.
  if (!shape.is_guarded && entry * shape.block_stride_rows > kInt32Max - shape.block_size) return 0;
  if (!shape.has_odd_entries || !one_in(choices, 6)) return entry;
  const uint32_t odd = choices.below(10);
  if (odd == 9) return any_int32(choices);
  const int64_t last = last_base_of(shape), num_blocks = shape.num_blocks ? *shape.num_blocks : shape.most_id;
  return value_at<int32_t>(odd, -1, clamp32(num_blocks), clamp32(num_blocks - 1), clamp32(last), clamp32(last + 1), clamp32(last - 1), kInt32Max, kInt32Min,
                           1 << 24);
}

// ---- Rows of positions.

struct RowStyle {
  enum Kind : uint8_t { kOwn, kAny, kRun, kHoles, kFew, kNone, kEdges, kBackwards, kNearlyFull, kFull };
  Kind kind = kOwn;
  int32_t first = 0;           // where runs begin
  int64_t workspace_edge = 0;  // of a workspace row with a start: the first position without a row; else 0
};

// The edge of a row whose request's workspace begins at `start`.
constexpr int64_t workspace_edge_of(const RemapShape& shape, int32_t start) {
  return (shape.num_workspace_rows ? *shape.num_workspace_rows : int64_t{kInt32Max} + 1) - start;
}

template <class Stream>
constexpr RowStyle row_style_of(const RemapShape& shape, int64_t workspace_edge, Stream& choices) {
  RowStyle row;
  const uint32_t kind = choices.below(11);  // two of them twice
  row.kind = kind == 8 ? RowStyle::kOwn : kind == 9 ? RowStyle::kHoles : kind == 10 ? RowStyle::kFull : RowStyle::Kind(kind);
  if (shape.is_nearly_full && !one_in(choices, 4)) row.kind = RowStyle::kNearlyFull;
  row.first = position_at(shape, up_to(choices, clamp32(std::min<int64_t>(num_local_of(shape) - 1, 8))));
  row.workspace_edge = workspace_edge;
  return row;
}

// One of the positions at which some rule changes its mind.
template <class Stream>
constexpr int64_t edge_position_of(const RemapShape& shape, const RowStyle& row, Stream& choices) {
  const int64_t num_local = num_local_of(shape), block = shape.block_size;
  const int64_t local = pick<int64_t>(choices, num_local - 1, num_local, num_local - block, block - 1, block, 0, num_local + block);
  const int32_t tok = position_at(shape, std::max<int64_t>(local, 0));
  switch (choices.below(8)) {
    case 0: return int64_t{tok} + 1;
    case 1: return int64_t{tok} - 1;
    case 2: return shape.is_guarded ? kInt32Max : tok;
    case 3:
    case 4: return shape.is_guarded && row.workspace_edge > 0 ? row.workspace_edge - up_to(choices, 1) : tok;
    default: return tok;
  }
}

template <class Stream>
constexpr int32_t negative_position_of(const RemapShape& shape, Stream& choices) {
  if (!shape.is_guarded) return -1;
  const uint32_t odd = choices.below(5);
  return odd == 4 ? any_int32(choices) : value_at<int32_t>(odd, -1, -2, kInt32Min, -shape.block_size);
}

// Column k of a row. Takes four numbers at most, which is one block of Philox.
template <class Stream>
constexpr int32_t position_of(const RemapShape& shape, const RowStyle& row, int32_t k, Stream& choices) {
  const uint32_t chance = choices.below(256);
  if (row.kind == RowStyle::kNearlyFull || row.kind == RowStyle::kFull) {
    return chance == 255 && row.kind == RowStyle::kNearlyFull ? -1 : position_at(shape, up_to(choices, clamp32(num_local_of(shape) - 1)));
  }
  if (chance >= 240) return negative_position_of(shape, choices);
  if (row.kind == RowStyle::kEdges || (chance >= 224 && row.kind != RowStyle::kNone)) return clamp32(edge_position_of(shape, row, choices));
  if (row.kind == RowStyle::kNone) return -1;
  if (row.kind == RowStyle::kRun) return clamp32(int64_t{row.first} + k);
  if (row.kind == RowStyle::kBackwards) return clamp32(std::max<int64_t>(int64_t{row.first} + shape.topk - k, 0));
  const uint32_t twelfths = row.kind == RowStyle::kHoles ? choices.below(12) : row.kind == RowStyle::kFew ? choices.below(16) : 0;
  if (row.kind == RowStyle::kHoles ? twelfths >= 8 : row.kind == RowStyle::kFew && twelfths != 15) return -1;
  const bool is_own = row.kind == RowStyle::kOwn || (row.kind == RowStyle::kHoles && twelfths < 6);
  const int64_t num_local = num_local_of(shape);
  if (is_own) return position_at(shape, up_to(choices, clamp32(num_local - 1)));
  return up_to(choices, num_local > kInt32Max / shape.dcp_size ? kInt32Max : int32_t(num_local * shape.dcp_size));
}

}  // namespace slotproof::harness
