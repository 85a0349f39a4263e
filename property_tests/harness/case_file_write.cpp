#include "property_tests/harness/case_file_parts.h"

#include <algorithm>

namespace slotproof::harness {
namespace {

using Ordered = nlohmann::ordered_json;

// An object that holds some fields without moving: its names are const, so moving a field copies all that is in it.
Ordered object_with_room() {
  Ordered object = Ordered::object();
  object.get_ref<Ordered::object_t&>().reserve(18);
  return object;
}

Ordered rows_json(const OwnedMatrix& matrix) {
  Ordered rows = Ordered::array();
  for (int32_t row = 0; row < matrix.rows; ++row) {
    const auto begin = matrix.storage.begin() + int64_t{row} * matrix.storage_columns;
    rows.push_back(std::vector<int32_t>(begin, begin + matrix.storage_columns));
  }
  return rows;
}

// The object form only where a nested list would lose the width or the row stride.
Ordered tensor_json(const OwnedMatrix& matrix) {
  const bool has_hidden_columns = matrix.storage_columns != matrix.columns;
  if (!has_hidden_columns && (matrix.rows > 0 || matrix.columns == 0)) return rows_json(matrix);
  Ordered json = {{"storage", rows_json(matrix)}, {"columns", matrix.columns}};
  if (has_hidden_columns && matrix.rows == 0) json["row_stride"] = matrix.storage_columns;
  return json;
}

Ordered dcp_json(const spec::RankOwnership& dcp) {
  return {{"size", dcp.size}, {"rank", dcp.rank}, {"interleave", dcp.interleave}};
}

Ordered prefill_json(const OwnedPrefill& prefill) {
  Ordered json = {{"request_ids", prefill.request_ids}, {"workspace_starts", prefill.workspace_starts}};
  if (prefill.num_workspace_rows) json["num_workspace_rows"] = *prefill.num_workspace_rows;
  return json;
}

Ordered layout_json(const Layout& layout) {
  Ordered json = Ordered::object();
  if (layout.slots_storage_columns >= 0) json["slots_storage_columns"] = layout.slots_storage_columns;
  for (size_t i = 0; i < kNumTensors; ++i) {
    if (layout.misalignment[i] != 0) json["misalignment"][name_of(Tensor(i))] = layout.misalignment[i];
  }
  return json;
}

Ordered edit_json(const ArgumentEdit& edit) {
  using Kind = ArgumentEdit::Kind;
  Ordered json = {{"kind", name_of(edit.kind)}, {"tensor", name_of(edit.tensor)}};
  if (edit.kind != Kind::kNull && edit.kind != Kind::kDrop) json["value"] = edit.value;
  if (edit.kind == Kind::kAlias) json["other"] = name_of(edit.other);
  return json;
}

Ordered problem_json(const RemapCase& problem, const Expectation& expected) {
  Ordered json = object_with_room();
  json["req_id"] = problem.req_id;
  json["block_table"] = tensor_json(problem.block_table);
  json["token_indices"] = tensor_json(problem.token_indices);
  json["block_size"] = problem.block_size;
  json["block_stride_rows"] = problem.block_stride_rows;
  if (problem.num_blocks) json["num_blocks"] = *problem.num_blocks;
  const auto& dcp = problem.dcp;
  if (dcp.size != 1 || dcp.rank != 0 || dcp.interleave != 1) json["dcp"] = dcp_json(dcp);
  if (problem.prefill) json["prefill"] = prefill_json(*problem.prefill);
  json["compact"] = problem.placement == spec::Placement::kCompacted;
  if (problem.order == spec::Order::kUnspecified) json["order"] = "unspecified";
  if (problem.tile) json["tile"] = *problem.tile;
  if (problem.counts != asks_for_counts_by_default(expected)) json["counts"] = problem.counts;
  if (Ordered layout = layout_json(problem.layout); !layout.empty()) json["layout"] = std::move(layout);
  if (problem.schedule != Schedule{}) {
    json["schedule"] = {{"team_width", problem.schedule.team_width},
                        {"thread_order_seed", problem.schedule.thread_order_seed},
                        {"cta_order_seed", problem.schedule.cta_order_seed}};
    if (problem.schedule.planned_rows != 0) json["schedule"]["planned_rows"] = problem.schedule.planned_rows;
  }
  for (const ArgumentEdit& edit : problem.edits) json["edits"].push_back(edit_json(edit));
  return json;
}

Ordered problem_json(const spec::FlatRowViewProblem& problem, const Expectation&) {
  Ordered json = {{"num_blocks", problem.num_blocks}, {"block_size", problem.block_size}, {"head_dim", problem.head_dim}};
  const int64_t extents[] = {problem.num_blocks, problem.block_size, problem.head_dim};
  if (!std::ranges::equal(problem.extents, extents)) json["extents"] = problem.extents;
  if (problem.strides[1] == problem.head_dim && problem.strides[2] == 1) {
    json["block_stride"] = problem.strides[0];
  } else {
    json["strides"] = problem.strides;
  }
  return json;
}

Ordered problem_json(const LocalLengthProblem& problem, const Expectation&) {
  return {{"lengths", problem.lengths}, {"dcp", dcp_json(problem.dcp)}};
}

Ordered expected_json(const std::monostate&) { return nullptr; }
Ordered expected_json(const ExpectedRemap& expected) {
  Ordered json = {{"out", rows_json(expected.out)}};
  if (expected.valid_counts) json["valid_counts"] = *expected.valid_counts;
  return json;
}
Ordered expected_json(const ExpectedView& expected) {
  Ordered json = {{"num_rows", expected.num_rows}, {"block_stride_rows", expected.block_stride_rows}};
  if (expected.gap_rows) json["gap_rows"] = *expected.gap_rows;
  return json;
}
Ordered expected_json(const ExpectedLocalLengths& expected) { return {{"local_lengths", expected.local_lengths}}; }
Ordered expected_json(const ExpectedRefusal& expected) {
  Ordered json = {{"error", true}};
  if (expected.rule) json["error"] = std::string(spec::id_of(*expected.rule));
  return json;
}

}  // namespace

Ordered to_json(const Case& value) {
  Ordered json = object_with_room();
  json["id"] = value.id;
  if (!value.kind.empty()) json["kind"] = value.kind;
  if (!value.report.empty()) json["report"] = value.report;
  if (!value.note.empty()) json["note"] = value.note;
  json["op"] = kOpNames[value.problem.index()];
  json["problem"] = std::visit([&](const auto& problem) { return problem_json(problem, value.expected); }, value.problem);
  Ordered expected = std::visit([](const auto& alternative) { return expected_json(alternative); }, value.expected);
  if (!expected.is_null()) json["expected"] = std::move(expected);
  return json;
}

std::string write_cases(const std::vector<Case>& cases) {
  std::string text = R"({"format": "slotproof-cases", "version": 1, "cases": [)";
  for (size_t i = 0; i < cases.size(); ++i) {
    text += i == 0 ? "\n" : ",\n";
    text += to_json(cases[i]).dump(-1, ' ', /*ensure_ascii=*/false, Ordered::error_handler_t::replace);
  }
  return text + "\n]}\n";
}

}  // namespace slotproof::harness
