#include "cli/case_text.h"

#include <fmt/format.h>

namespace slotproof::cli {
namespace {

constexpr size_t kMaxShown = 16;

std::string rows_text_of(const harness::OwnedMatrix& matrix, const std::string& indent) {
  if (matrix.rows == 0 || matrix.columns == 0) return fmt::format("no elements, [{}, {}]", matrix.rows, matrix.columns);
  std::string text;
  for (int32_t row = 0; row < matrix.rows && size_t(row) < kMaxShown; ++row) {
    const auto begin = matrix.storage.begin() + int64_t{row} * matrix.storage_columns;
    if (row > 0) text += "\n" + indent;
    text += text_of(std::vector<int32_t>(begin, begin + matrix.columns));
    if (matrix.storage_columns > matrix.columns) {
      text += " hidden behind it " + text_of(std::vector<int32_t>(begin + matrix.columns, begin + matrix.storage_columns));
    }
  }
  if (size_t(matrix.rows) > kMaxShown) text += fmt::format("\n{}... {} rows", indent, matrix.rows);
  return text;
}

template <class Value>
void add(std::string& text, const char* name, const Value& value) {
  text += fmt::format("  {:<20} {}\n", name, value);
}

}  // namespace

std::string text_of(const std::vector<int32_t>& values) {
  std::string text = "[";
  for (size_t i = 0; i < values.size() && i < kMaxShown; ++i) text += fmt::format("{}{}", i ? ", " : "", values[i]);
  if (values.size() > kMaxShown) text += fmt::format(", ... {} in all", values.size());
  return text + "]";
}

std::string text_of(const harness::RemapCase& c) {
  const std::string indent(23, ' ');
  std::string text;
  add(text, "req_id", text_of(c.req_id));
  add(text, "block_table", rows_text_of(c.block_table, indent));
  add(text, "token_indices", rows_text_of(c.token_indices, indent));
  add(text, "block_size", c.block_size);
  if (c.block_stride_rows != c.block_size) add(text, "block_stride_rows", c.block_stride_rows);
  if (c.num_blocks) add(text, "num_blocks", *c.num_blocks);
  if (c.dcp.size != 1 || c.dcp.interleave != 1) add(text, "dcp", fmt::format("size {}, rank {}, interleave {}", c.dcp.size, c.dcp.rank, c.dcp.interleave));
  if (c.prefill) {
    add(text, "prefill_request_id", text_of(c.prefill->request_ids));
    add(text, "workspace_starts", text_of(c.prefill->workspace_starts));
    if (c.prefill->num_workspace_rows) add(text, "num_workspace_rows", *c.prefill->num_workspace_rows);
  }
  if (c.placement == spec::Placement::kCompacted) {
    add(text, "placement", c.order == spec::Order::kStable ? "compacted, stable" : "compacted, order unspecified");
  }
  if (c.tile) add(text, "tile", *c.tile);
  for (const harness::ArgumentEdit& edit : c.edits) {
    add(text, "argument edited", fmt::format("{} of {}: {}", name_of(edit.kind), name_of(edit.tensor), edit.value));
  }
  return text;
}

}  // namespace slotproof::cli
