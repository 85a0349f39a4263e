#include "property_tests/harness/case_file_parts.h"

#include "property_tests/harness/frame.h"
#include "spec/arguments.h"

#include <utility>

namespace slotproof::harness {
namespace {

using spec::Rule;

// {"error": true}: by any rule. {"error": "A11"}: by this one, which lies in [first, last].
ExpectedRefusal refusal_from(const Json& error, Rule first, Rule last) {
  const std::string place = "expected.error";
  if (error == true) return {};
  const auto rule = error.is_string() ? spec::rule_of(error.get<std::string>()) : std::nullopt;
  if (!rule || *rule < first || *rule > last) {
    std::string ids(spec::id_of(first));
    if (first != last) ids += " ... " + std::string(spec::id_of(last));
    fail(place, "expected true or the id of a refusal (" + ids + "), got " + excerpt_of(error));
  }
  return {rule};
}

// The refusal where one is expected; nothing where `expected` has other fields.
std::optional<ExpectedRefusal> refusal_if_expected(const Json& expected, Rule first, Rule last) {
  if (!expected.is_object() || !expected.contains("error")) return std::nullopt;
  return refusal_from(Fields(expected, "expected", {"error"}).required("error"), first, last);
}

void check_count(size_t got, int64_t want, const std::string& place, const char* of_what) {
  if (std::cmp_equal(got, want)) return;
  fail(place, "has " + std::to_string(got) + " elements, but there are " + std::to_string(want) + " " + of_what);
}

Expectation expected_remap(const Json& value, const RemapCase& problem) {
  if (const auto refusal = refusal_if_expected(value, Rule::A1, Rule::A15)) return *refusal;
  const Fields fields(value, "expected", {"out", "valid_counts"});
  ExpectedRemap expected;
  expected.out = rows_of(fields.required("out"), "expected.out", problem.topk());
  if (const Json* counts = fields.find("valid_counts")) {
    expected.valid_counts = integers_of<int32_t>(*counts, "expected.valid_counts");
  }
  if (!problem.edits.empty()) return expected;  // which may change the shape
  check_count(size_t(expected.out.rows), problem.num_tokens(), "expected.out", "rows of token_indices");
  if (expected.out.columns != problem.topk()) {
    fail("expected.out",
         "has " + std::to_string(expected.out.columns) + " columns, token_indices " + std::to_string(problem.topk()));
  }
  if (expected.valid_counts) {
    check_count(expected.valid_counts->size(), problem.num_tokens(), "expected.valid_counts", "rows of token_indices");
  }
  return expected;
}

Expectation expected_view(const Json& value) {
  if (const auto refusal = refusal_if_expected(value, Rule::VA1, Rule::VA6)) return *refusal;
  const Fields fields(value, "expected", {"num_rows", "block_stride_rows", "gap_rows"});
  ExpectedView expected;
  expected.num_rows = integer_of<int64_t>(fields.required("num_rows"), "expected.num_rows");
  expected.block_stride_rows = integer_of<int64_t>(fields.required("block_stride_rows"), "expected.block_stride_rows");
  if (const Json* gaps = fields.find("gap_rows")) expected.gap_rows = integers_of<int64_t>(*gaps, "expected.gap_rows");
  return expected;
}

Expectation expected_local_lengths(const Json& value, const LocalLengthProblem& problem) {
  if (const auto refusal = refusal_if_expected(value, Rule::P2, Rule::P2)) return *refusal;
  const Fields fields(value, "expected", {"local_lengths"});
  const std::string place = "expected.local_lengths";
  ExpectedLocalLengths expected{integers_of<int32_t>(fields.required("local_lengths"), place)};
  check_count(expected.local_lengths.size(), int64_t(problem.lengths.size()), place, "lengths");
  return expected;
}

// Settles `counts`, which expectation and problem say together.
void set_counts(RemapCase& problem, const Json& json, const Expectation& expected) {
  problem.counts = asks_for_counts_by_default(expected);
  const auto given = json.find("counts");
  if (given == json.end()) return;
  problem.counts = boolean_of(*given, "problem.counts");
  const auto* outputs = std::get_if<ExpectedRemap>(&expected);
  if (!problem.counts && outputs != nullptr && outputs->valid_counts) {
    fail("problem.counts", "false, but expected has valid_counts");
  }
}

// Edits may describe any call; one that nothing refuses would be run, so it must stay inside memory.
void check_edits(const RemapCase& problem) {
  if (problem.edits.empty()) return;
  Frame frame(problem, 0);
  if (spec::refusal_of(frame.problem()) || frame.holds_every_element()) return;
  fail("problem.edits", "the edited call is not refused, yet reaches outside the memory of the case");
}

std::string optional_string_of(const Fields& fields, std::string_view name) {
  const Json* value = fields.find(name);
  return value == nullptr ? std::string() : string_of(*value, fields.place_of(name));
}

}  // namespace

Case case_of(const Json& value) {
  const Fields fields(value, "", {"id", "kind", "report", "note", "op", "problem", "expected", "known_wrong_out"});
  Case result;
  result.id = string_of(fields.required("id"), "id");
  if (result.id.empty()) fail("id", "empty");
  result.kind = optional_string_of(fields, "kind");
  result.report = optional_string_of(fields, "report");
  result.note = optional_string_of(fields, "note");
  const std::string op = string_of(fields.required("op"), "op");
  const Json& problem = fields.required("problem");
  const Json* expected = fields.find("expected");
  if (op == kOpNames[0]) {
    RemapCase remap = remap_of(problem);
    if (expected != nullptr) result.expected = expected_remap(*expected, remap);
    set_counts(remap, problem, result.expected);
    check_edits(remap);
    result.problem = std::move(remap);
  } else if (op == kOpNames[1]) {
    result.problem = view_of(problem);
    if (expected != nullptr) result.expected = expected_view(*expected);
  } else if (op == kOpNames[2]) {
    LocalLengthProblem lengths = local_length_of(problem);
    if (expected != nullptr) result.expected = expected_local_lengths(*expected, lengths);
    result.problem = std::move(lengths);
  } else {
    fail("op", excerpt_of(op) + " is none of remap, flat_kv_row_view, dcp_local_length");
  }
  return result;
}

}  // namespace slotproof::harness
