// Case files: what is written can be read, what is wrong is named, and no bytes crash the reader.

#include "property_tests/harness/case_file.h"

#include "property_tests/places.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <fstream>
#include <iterator>
#include <limits>

namespace slotproof::harness {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Kind = ArgumentEdit::Kind;

const fs::path kPublicReports = source_dir() / "property_tests" / "vectors" / "public-reports.json";

std::string text_of(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// ---- Cases drawn at random, of every shape that the format can say.

int pick(int end) { return *rc::gen::inRange(0, end); }
bool flip() { return pick(2) == 1; }
int64_t number(int64_t min, int64_t max) {
  const int64_t corners[] = {min, max, 0, 1, -1, *rc::gen::inRange<int64_t>(-9, 99)};
  return std::clamp(corners[pick(6)], min, max);
}
template <class Integer>
Integer any() {
  return Integer(number(std::numeric_limits<Integer>::min(), std::numeric_limits<Integer>::max()));
}
template <class Integer>
std::vector<Integer> any_list(int size) {
  std::vector<Integer> list(size_t(size), 0);
  for (Integer& element : list) element = any<Integer>();
  return list;
}
template <class Value, class Draw>
std::optional<Value> perhaps(Draw draw) {
  return flip() ? std::optional<Value>(draw()) : std::nullopt;
}

std::string any_text() {
  const std::string parts[] = {"a", "\"", "\\", "\n", "\u00e9", std::string(1, '\0'), "}"};
  std::string text;
  for (int length = pick(5); length > 0; --length) text += parts[pick(7)];
  return text;
}

OwnedMatrix any_matrix(int rows) {
  const int columns = pick(4);
  OwnedMatrix matrix = OwnedMatrix::filled(rows, columns, 0, columns + pick(3));
  matrix.storage = any_list<int32_t>(int(matrix.storage.size()));
  return matrix;
}

spec::RankOwnership any_dcp() { return {any<int32_t>(), any<int32_t>(), any<int32_t>()}; }

// Ends with an edit that refuses every call: others must stay inside memory.
std::vector<ArgumentEdit> any_edits() {
  std::vector<ArgumentEdit> edits;
  for (int left = pick(3); left > 0; --left) {
    ArgumentEdit edit{Kind(pick(int(Kind::kDrop) + 1)), Tensor(pick(kNumTensors)), any<int64_t>(), {}};
    if (edit.kind == Kind::kRows || edit.kind == Kind::kColumns) edit.value = any<int32_t>();
    if (edit.kind == Kind::kNull || edit.kind == Kind::kDrop) edit.value = 0;
    if (edit.kind == Kind::kAlias) edit.other = Tensor(pick(kNumTensors));
    edits.push_back(edit);
  }
  if (!edits.empty()) edits.push_back({Kind::kRows, Tensor::kTokenIndices, -1, {}});
  return edits;
}

RemapCase any_remap() {
  RemapCase c;
  const int rows = pick(3);
  c.token_indices = any_matrix(rows);
  c.block_table = any_matrix(pick(3));
  c.req_id = any_list<int32_t>(pick(4));
  c.block_size = any<int32_t>();
  c.block_stride_rows = any<int64_t>();
  c.num_blocks = perhaps<int64_t>(any<int64_t>);
  if (flip()) c.dcp = any_dcp();
  c.prefill = perhaps<OwnedPrefill>([] {
    return OwnedPrefill{any_list<int32_t>(pick(3)), any_list<int32_t>(pick(3)), perhaps<int64_t>(any<int64_t>)};
  });
  c.placement = spec::Placement(pick(2));
  c.order = spec::Order(pick(2));
  c.tile = perhaps<int32_t>(any<int32_t>);
  c.counts = flip();
  if (flip()) c.schedule = {any<int32_t>(), *rc::gen::arbitrary<uint64_t>(), uint64_t(any<int64_t>())};
  if (flip()) c.layout.slots_storage_columns = c.topk() + pick(3);
  for (uint8_t& words : c.layout.misalignment) words = uint8_t(pick(4));
  if (flip()) c.edits = any_edits();
  return c;
}

Case any_case() {
  Case c{"i" + any_text(), any_text(), any_text(), any_text(), {}, {}};
  const int kind = pick(3), expectation = pick(3);
  const auto refusal = [&](spec::Rule first, int count) {
    return ExpectedRefusal{perhaps<spec::Rule>([&] { return spec::Rule(int(first) + pick(count)); })};
  };
  if (kind == 0) {
    RemapCase problem = any_remap();
    if (expectation == 1) c.expected = refusal(spec::Rule::A1, 15);
    if (expectation == 2) {
      ExpectedRemap expected{OwnedMatrix::filled(problem.num_tokens(), problem.topk(), 0), std::nullopt};
      expected.out.storage = any_list<int32_t>(int(expected.out.storage.size()));
      if (problem.counts && flip()) expected.valid_counts = any_list<int32_t>(problem.num_tokens());
      c.expected = expected;
    }
    c.problem = problem;
  } else if (kind == 1) {
    spec::FlatRowViewProblem problem{any<int64_t>(), any<int64_t>(), any<int64_t>(), {}, {}};
    const int64_t extents[] = {problem.num_blocks, problem.block_size, problem.head_dim}, strides[] = {0, problem.head_dim, 1};
    for (int axis = 0; axis < 3; ++axis) {
      problem.extents[axis] = pick(3) > 0 ? extents[axis] : any<int64_t>();
      problem.strides[axis] = axis > 0 && pick(3) > 0 ? strides[axis] : any<int64_t>();
    }
    c.problem = problem;
    if (expectation == 1) c.expected = refusal(spec::Rule::VA1, 6);
    if (expectation == 2) {
      const auto gaps = perhaps<std::vector<int64_t>>([] { return any_list<int64_t>(pick(3)); });
      c.expected = ExpectedView{any<int64_t>(), any<int64_t>(), gaps};
    }
  } else {
    const int size = 1 + pick(9);
    LocalLengthProblem problem{any_list<int32_t>(pick(4)), {size, pick(size), 1 + pick(9)}};
    if (expectation == 1) c.expected = refusal(spec::Rule::P2, 1);
    if (expectation == 2) c.expected = ExpectedLocalLengths{any_list<int32_t>(int(problem.lengths.size()))};
    c.problem = problem;
  }
  return c;
}

TEST(CaseFile, ReadsWhatItWrote) {
  EXPECT_TRUE(rc::check("write, then parse, is the identity", [] {
    std::vector<Case> cases;
    for (int i = pick(3); i >= 0; --i) {
      cases.push_back(any_case());
      cases.back().id += "#" + std::to_string(i);
    }
    const std::string text = write_cases(cases);
    const CaseFile read = parse_cases(text);
    if (!read.error.empty()) RC_FAIL(read.error + " in " + text);
    RC_ASSERT(read.cases.size() == cases.size());
    for (size_t i = 0; i < cases.size(); ++i) {
      if (read.cases[i] != cases[i]) RC_FAIL("differs: " + to_json(cases[i]).dump());
    }
    RC_ASSERT(write_cases(read.cases) == text);
  }));
}

TEST(CaseFile, SurvivesAnyBytes) {
  EXPECT_TRUE(rc::check("random bytes", [](const std::string& bytes) { RC_ASSERT(parse_cases(bytes).error != ""); }));
  const std::string good = text_of(kPublicReports);
  EXPECT_TRUE(rc::check("a valid file with one stretch replaced", [&good] {
    std::string text = good;
    const size_t begin = *rc::gen::inRange<size_t>(0, text.size());
    text.replace(begin, size_t(pick(4)),
                 *rc::gen::element<std::string>("", "\"", "[", "}", "-", "9999999999", "\xff", "null,", ":"));
    const CaseFile file = parse_cases(text);
    RC_ASSERT(file.error.empty() != file.cases.empty());
  }));
}

TEST(CaseFile, RefusesEveryTruncation) {
  const std::string text = text_of(kPublicReports).substr(0, 1200);
  for (size_t size = 0; size <= text.size(); ++size) {
    const CaseFile file = parse_cases(text.substr(0, size));
    EXPECT_NE(file.error, "") << size;
    EXPECT_TRUE(file.cases.empty()) << size;
  }
}

TEST(CaseFile, KeepsTheMeaningOfThePublicReports) {
  const CaseFile file = read_cases(kPublicReports);
  ASSERT_EQ(file.error, "");
  Json expected = Json::parse(text_of(kPublicReports));
  for (Json& value : expected["cases"]) value.erase("known_wrong_out");
  EXPECT_EQ(Json::parse(write_cases(file.cases)), expected);
}

}  // namespace
}  // namespace slotproof::harness
