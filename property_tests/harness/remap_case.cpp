#include "property_tests/harness/remap_case.h"

#include <algorithm>

namespace slotproof::harness {

const char* name_of(Tensor tensor) {
  switch (tensor) {
    case Tensor::kReqId: return "req_id";
    case Tensor::kBlockTable: return "block_table";
    case Tensor::kTokenIndices: return "token_indices";
    case Tensor::kPrefillRequestId: return "prefill_request_id";
    case Tensor::kWorkspaceStarts: return "workspace_starts";
    case Tensor::kSlots: return "slots";
    case Tensor::kValidCounts: return "valid_counts";
  }
  return "unknown";
}

const char* name_of(ArgumentEdit::Kind kind) {
  switch (kind) {
    case ArgumentEdit::Kind::kRows: return "rows";
    case ArgumentEdit::Kind::kColumns: return "columns";
    case ArgumentEdit::Kind::kRowStride: return "row_stride";
    case ArgumentEdit::Kind::kNull: return "null";
    case ArgumentEdit::Kind::kByteOffset: return "byte_offset";
    case ArgumentEdit::Kind::kAlias: return "alias";
    case ArgumentEdit::Kind::kDrop: return "drop";
  }
  return "unknown";
}

OwnedMatrix OwnedMatrix::filled(int32_t rows, int32_t columns, int32_t value, int32_t storage_columns) {
  OwnedMatrix matrix;
  matrix.rows = std::max(rows, 0);
  matrix.columns = std::max(columns, 0);
  matrix.storage_columns = std::max(storage_columns, matrix.columns);
  matrix.storage.assign(size_t(matrix.rows) * size_t(matrix.storage_columns), value);
  return matrix;
}

OwnedMatrix OwnedMatrix::of(std::vector<std::vector<int32_t>> rows, int32_t columns) {
  size_t widest = 0;
  for (const auto& row : rows) widest = std::max(widest, row.size());
  const auto width = int32_t(widest);
  OwnedMatrix matrix = filled(int32_t(rows.size()), columns < 0 ? width : columns, spec::kNone, width);
  for (size_t row = 0; row < rows.size(); ++row) {  // shorter rows end in -1
    std::copy(rows[row].begin(), rows[row].end(), matrix.storage.begin() + int64_t(row) * matrix.storage_columns);
  }
  return matrix;
}

}  // namespace slotproof::harness
