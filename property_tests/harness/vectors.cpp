#include "property_tests/harness/vectors.h"

#include "property_tests/harness/frame.h"
#include "property_tests/harness/vectors_parts.h"
#include "spec/arguments.h"
#include "spec/flat_row_view.h"
#include "spec/rank_ownership.h"
#include "spec/remap.h"

#include <iterator>

namespace slotproof::harness {
namespace {

constexpr int64_t kMaxListedRows = 1000;  // gap rows are listed only for views that a reader can check

Case unanswered(std::string id, std::string note) {
  Case result;
  result.kind = id.substr(0, id.find('-'));
  result.id = std::move(id);
  result.note = std::move(note);
  return result;
}

ExpectedRemap expected_of(const spec::ExpectedOutputs& outputs, bool counts) {
  ExpectedRemap expected;
  expected.out = OwnedMatrix::filled(int32_t(outputs.slots.rows()), int32_t(outputs.slots.cols()), spec::kNone);
  for (int32_t row = 0; row < expected.out.rows; ++row) {
    for (int32_t column = 0; column < expected.out.columns; ++column) expected.out.at(row, column) = outputs.slots(row, column);
  }
  if (counts) expected.valid_counts.emplace(outputs.valid_counts.begin(), outputs.valid_counts.end());
  return expected;
}

void append(std::vector<Case>& cases, std::vector<Case> more) {
  cases.insert(cases.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

Case answered(std::string id, std::string note, RemapCase problem) {
  Case result = unanswered(std::move(id), std::move(note));
  Frame frame(problem, 0);
  const spec::RemapProblem raw = frame.problem();
  if (const auto refusal = spec::refusal_of(raw)) {
    result.expected = ExpectedRefusal{refusal->rule};
  } else {
    result.expected = expected_of(spec::expected_outputs(raw), problem.counts);
  }
  result.problem = std::move(problem);
  return result;
}

Case answered(std::string id, std::string note, const spec::FlatRowViewProblem& problem) {
  Case result = unanswered(std::move(id), std::move(note));
  result.problem = problem;
  if (const auto refusal = spec::refusal_of(problem)) {
    result.expected = ExpectedRefusal{refusal->rule};
    return result;
  }
  const spec::FlatRowView view = spec::flat_row_view(problem);
  ExpectedView expected{view.num_rows, view.block_stride_rows, std::nullopt};
  if (view.num_rows <= kMaxListedRows) expected.gap_rows = spec::gap_rows(problem);
  result.expected = std::move(expected);
  return result;
}

Case answered(std::string id, std::string note, LocalLengthProblem problem) {
  Case result = unanswered(std::move(id), std::move(note));
  ExpectedLocalLengths expected;
  bool is_refused = false;
  for (const int32_t length : problem.lengths) {
    const auto local = spec::local_length(problem.dcp, length);
    is_refused = is_refused || !local;
    expected.local_lengths.push_back(local.value_or(0));
  }
  if (is_refused) {
    result.expected = ExpectedRefusal{spec::Rule::P2};
  } else {
    result.expected = std::move(expected);
  }
  result.problem = std::move(problem);
  return result;
}

RemapCase RemapVectors::plain_problem() {
  RemapCase problem;
  problem.req_id = {0};
  problem.block_table = OwnedMatrix::of({{7, 9}});
  problem.token_indices = OwnedMatrix::of({{0, 5}});
  problem.block_size = 4;
  problem.block_stride_rows = 4;
  return problem;
}

void RemapVectors::add_row(std::string id, std::string note, std::vector<int32_t> positions) {
  add(std::move(id), std::move(note), [&](RemapCase& c) { c.token_indices = OwnedMatrix::of({std::move(positions)}); });
}

std::vector<VectorFile> make_vector_files() {
  VectorFile remap{"rules-remap.json", make_translation_vectors()};
  append(remap.cases, make_workspace_vectors());
  append(remap.cases, make_row_vectors());
  return {std::move(remap),
          {"rules-arguments.json", make_argument_vectors()},
          {"rules-view.json", make_view_vectors()},
          {"rules-local-length.json", make_local_length_vectors()}};
}

std::vector<Case> make_rule_vectors() {
  std::vector<Case> cases;
  for (VectorFile& file : make_vector_files()) append(cases, std::move(file.cases));
  return cases;
}

}  // namespace slotproof::harness
