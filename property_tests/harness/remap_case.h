#pragma once
// A remap problem together with its memory: what decoder, shrinker and case files work on. A value; copying it is cheap
// enough for small problems.

#include "spec/problem.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace slotproof::harness {

// Tensors of a call, in the order in which a Frame lays them out.
enum class Tensor : uint8_t {
  kReqId, kBlockTable, kTokenIndices, kPrefillRequestId, kWorkspaceStarts, kSlots, kValidCounts,
};
inline constexpr int kNumTensors = 7;
const char* name_of(Tensor tensor);  // "req_id"

// int32[rows, columns] inside storage[rows, storage_columns]: the columns behind are hidden from the call.
struct OwnedMatrix {
  int32_t rows = 0;
  int32_t columns = 0;
  int32_t storage_columns = 0;   // >= columns; the row stride
  std::vector<int32_t> storage;  // rows * storage_columns, row by row

  static OwnedMatrix filled(int32_t rows, int32_t columns, int32_t value, int32_t storage_columns = -1);
  static OwnedMatrix of(std::vector<std::vector<int32_t>> rows, int32_t columns = -1);  // columns: needed without rows
  int32_t& at(int32_t row, int32_t column) { return storage[size_t(row) * size_t(storage_columns) + size_t(column)]; }
  int32_t at(int32_t row, int32_t column) const { return storage[size_t(row) * size_t(storage_columns) + size_t(column)]; }
  bool operator==(const OwnedMatrix&) const = default;
};

struct OwnedPrefill {
  std::vector<int32_t> request_ids;       // [T]
  std::vector<int32_t> workspace_starts;  // [P]
  std::optional<int64_t> num_workspace_rows;
  bool operator==(const OwnedPrefill&) const = default;
};

// How to run the problem; none of it may change the result.
struct Schedule {
  int32_t team_width = 0;
  uint64_t thread_order_seed = 0;
  uint64_t cta_order_seed = 0;
  int32_t planned_rows = 0;
  bool operator==(const Schedule&) const = default;
};

// Where the tensors lie. Words are 4 bytes.
struct Layout {
  int32_t slots_storage_columns = -1;             // row stride of the output; -1: K
  std::array<uint8_t, kNumTensors> misalignment{};  // words from a 16-byte boundary to the tensor's first element, 0..3
  bool operator==(const Layout&) const = default;
};

// A change of the raw arguments behind the tensors' back, for calls that must be refused.
struct ArgumentEdit {
  enum class Kind : uint8_t {
    kRows,        // sets rows (or size, for a vector)
    kColumns,     // sets columns
    kRowStride,   // sets the row stride
    kNull,        // sets the pointer to null
    kByteOffset,  // adds `value` bytes to the pointer
    kAlias,       // points the tensor at word `value` of tensor `other`
    kDrop,        // makes an optional tensor absent
  };
  Kind kind = Kind::kRows;
  Tensor tensor = Tensor::kReqId;
  int64_t value = 0;
  Tensor other = Tensor::kReqId;
  bool operator==(const ArgumentEdit&) const = default;
};
const char* name_of(ArgumentEdit::Kind kind);  // "row_stride"

struct RemapCase {
  std::vector<int32_t> req_id;
  OwnedMatrix block_table;
  OwnedMatrix token_indices;
  int32_t block_size = 1;
  int64_t block_stride_rows = 1;
  std::optional<int64_t> num_blocks;
  spec::RankOwnership dcp;
  std::optional<OwnedPrefill> prefill;
  spec::Placement placement = spec::Placement::kInPlace;
  spec::Order order = spec::Order::kStable;
  std::optional<int32_t> tile;
  bool counts = true;
  Schedule schedule;
  Layout layout;
  std::vector<ArgumentEdit> edits;

  int32_t num_tokens() const { return token_indices.rows; }
  int32_t topk() const { return token_indices.columns; }
  bool operator==(const RemapCase&) const = default;
};

}  // namespace slotproof::harness
