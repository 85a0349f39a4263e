// What is wrong with a case file, and where: the texts that a user reads.

#include "property_tests/harness/case_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace slotproof::harness {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// One case of each op.
const char* const kGood = R"({"format": "slotproof-cases", "version": 1, "cases": [
{"id": "edge", "op": "remap", "problem": {"req_id": [0, 0], "block_table": [[7, 9]], "token_indices": [[0, 5], [1, -1]],
  "block_size": 4, "block_stride_rows": 4, "compact": false}, "expected": {"out": [[28, 37], [29, -1]], "valid_counts": [2, 1]}},
{"id": "view", "op": "flat_kv_row_view", "problem": {"num_blocks": 3, "block_size": 2, "head_dim": 4, "block_stride": 20},
  "expected": {"num_rows": 12, "block_stride_rows": 5}},
{"id": "length", "op": "dcp_local_length", "problem": {"lengths": [8, 9], "dcp": {"size": 2, "rank": 1, "interleave": 1}},
  "expected": {"local_lengths": [4, 4]}}]})";

struct Fault {
  const char* place;  // JSON pointer
  const char* value;  // what to put there; empty: remove it
  const char* error;
};

const Fault kFaults[] = {
    {"/format", R"("slots")", R"(format: expected "slotproof-cases", got "slots")"},
    {"/version", "2", "version: this program reads version 1, got 2"},
    {"/cases", "", "cases: missing"},
    {"/cases", "7", "cases: expected a list, got 7"},
    {"/notes", "1", R"(unknown field "notes"; the fields here are format, version, cases)"},
    {"/cases/1", "[]", "cases[1]: expected an object, got []"},
    {"/cases/1/id", "", "cases[1]: id: missing"},
    {"/cases/1/id", "5", "cases[1]: id: expected a string, got 5"},
    {"/cases/1/id", R"("edge")", R"(cases[1] (id "edge"): id: cases[0] has it already)"},
    {"/cases/0/op", R"("map")", R"(cases[0] (id "edge"): op: "map" is none of remap, flat_kv_row_view, dcp_local_length)"},
    {"/cases/0/note", "[1]", R"(cases[0] (id "edge"): note: expected a string, got [1])"},
    {"/cases/0/problem/block_size", R"("x")",
     R"(cases[0] (id "edge"): problem.block_size: expected an integer in int32, got "x")"},
    {"/cases/0/problem/block_size", "2147483648",
     R"(cases[0] (id "edge"): problem.block_size: expected an integer in int32, got 2147483648)"},
    {"/cases/0/problem/block_size", "4.0", R"(cases[0] (id "edge"): problem.block_size: expected an integer in int32, got 4.0)"},
    {"/cases/0/problem/block_size", "", R"(cases[0] (id "edge"): problem.block_size: missing)"},
    {"/cases/0/problem/num_blocks", "1e30",
     R"(cases[0] (id "edge"): problem.num_blocks: expected an integer in int64, got 1e+30)"},
    {"/cases/0/problem/req_id/1", "true", R"(cases[0] (id "edge"): problem.req_id[1]: expected an integer in int32, got true)"},
    {"/cases/0/problem/token_indices/1/0", "-2147483649",
     R"(cases[0] (id "edge"): problem.token_indices[1][0]: expected an integer in int32, got -2147483649)"},
    {"/cases/0/problem/token_indices/1", "[1, 2, 3]",
     R"(cases[0] (id "edge"): problem.token_indices[1]: ragged: the row has 3 columns, row 0 has 2)"},
    {"/cases/0/problem/token_indices/1", "1", R"(cases[0] (id "edge"): problem.token_indices[1]: expected a list, got 1)"},
    {"/cases/0/problem/block_table", R"({"storage": [[1, 2]], "columns": 3})",
     R"(cases[0] (id "edge"): problem.block_table.columns: 3 is more than the 2 columns of the storage)"},
    {"/cases/0/problem/block_table", R"({"storage": [], "columns": -1})",
     R"(cases[0] (id "edge"): problem.block_table.columns: negative: -1)"},
    {"/cases/0/problem/block_table", R"({"storage": [], "columns": 4, "row_stride": 3})",
     R"(cases[0] (id "edge"): problem.block_table.row_stride: 3 is less than the 4 columns)"},
    {"/cases/0/problem/block_table", R"({"storage": [[1, 2]], "columns": 1, "row_stride": 2})",
     R"(cases[0] (id "edge"): problem.block_table.row_stride: only a tensor without rows says it; rows have that of their storage)"},
    {"/cases/0/problem/block_table", R"({"storage": [[1], []], "columns": 1})",
     R"(cases[0] (id "edge"): problem.block_table.storage[1]: ragged: the row has 0 columns, row 0 has 1)"},
    {"/cases/0/problem/block_table", "null",
     R"(cases[0] (id "edge"): problem.block_table: expected a list of rows or {"storage": rows, "columns": n}, got null)"},
    {"/cases/0/problem/compact", "1", R"(cases[0] (id "edge"): problem.compact: expected true or false, got 1)"},
    {"/cases/0/problem/order", R"("random")", R"(cases[0] (id "edge"): problem.order: "random" is none of stable, unspecified)"},
    {"/cases/0/problem/counts", "false", R"(cases[0] (id "edge"): problem.counts: false, but expected has valid_counts)"},
    {"/cases/0/problem/dcp", R"({"size": 2, "rank": 0, "interleave": 1, "rnk": 1})",
     R"(cases[0] (id "edge"): problem.dcp: unknown field "rnk"; the fields here are size, rank, interleave)"},
    {"/cases/0/problem/prefill", R"({"request_ids": [0, 0]})",
     R"(cases[0] (id "edge"): problem.prefill.workspace_starts: missing)"},
    {"/cases/0/problem/layout", R"({"slots_storage_columns": 1})",
     R"(cases[0] (id "edge"): problem.layout.slots_storage_columns: 1 is less than the 2 columns of the slots)"},
    {"/cases/0/problem/layout", R"({"slots_storage_columns": 2147483647})",
     R"(cases[0] (id "edge"): problem.layout.slots_storage_columns: asks for more than 2^26 words)"},
    {"/cases/0/problem/layout", R"({"misalignment": {"slots": 4}})",
     R"(cases[0] (id "edge"): problem.layout.misalignment.slots: expected 0 to 3 words, got 4)"},
    {"/cases/0/problem/layout", R"({"misalignment": {"slot": 1}})",
     R"(cases[0] (id "edge"): problem.layout.misalignment: "slot" is none of req_id, block_table, token_indices, prefill_request_id, workspace_starts, slots, valid_counts)"},
    {"/cases/0/problem/schedule", R"({"cta_order_seed": -1})",
     R"(cases[0] (id "edge"): problem.schedule.cta_order_seed: expected an integer in uint64, got -1)"},
    {"/cases/0/problem/edits", R"([{"kind": "move", "tensor": "slots"}])",
     R"(cases[0] (id "edge"): problem.edits[0].kind: "move" is none of rows, columns, row_stride, null, byte_offset, alias, drop)"},
    {"/cases/0/problem/edits", R"([{"kind": "rows", "tensor": "slots"}])",
     R"(cases[0] (id "edge"): problem.edits[0].value: missing)"},
    {"/cases/0/problem/edits", R"([{"kind": "drop", "tensor": "slots", "value": 1}])",
     R"(cases[0] (id "edge"): problem.edits[0]: unknown field "value"; the fields here are kind, tensor)"},
    {"/cases/0/problem/edits", R"([{"kind": "row_stride", "tensor": "token_indices", "value": 100000}])",
     R"(cases[0] (id "edge"): problem.edits: the edited call is not refused, yet reaches outside the memory of the case)"},
    {"/cases/0/expected", "[]", R"(cases[0] (id "edge"): expected: expected an object, got [])"},
    {"/cases/0/expected", R"({"error": "A16"})",
     R"(cases[0] (id "edge"): expected.error: expected true or the id of a refusal (A1 ... A15), got "A16")"},
    {"/cases/0/expected", R"({"error": "VA1"})",
     R"(cases[0] (id "edge"): expected.error: expected true or the id of a refusal (A1 ... A15), got "VA1")"},
    {"/cases/0/expected/out", "[[1, 2]]",
     R"(cases[0] (id "edge"): expected.out: has 1 elements, but there are 2 rows of token_indices)"},
    {"/cases/0/expected/out", "[[1], [2]]", R"(cases[0] (id "edge"): expected.out: has 1 columns, token_indices 2)"},
    {"/cases/0/expected/valid_counts", "[1, 2, 3]",
     R"(cases[0] (id "edge"): expected.valid_counts: has 3 elements, but there are 2 rows of token_indices)"},
    {"/cases/1/problem/strides", "[20, 4, 1]",
     R"(cases[1] (id "view"): problem.block_stride: given as well as strides, which begin with it)"},
    {"/cases/1/problem/extents", "[3, 2]", R"(cases[1] (id "view"): problem.extents: expected 3 numbers, got 2)"},
    {"/cases/1/problem/block_stride", "", R"(cases[1] (id "view"): problem.block_stride: missing)"},
    {"/cases/1/expected/gap_rows", "[1.5]",
     R"(cases[1] (id "view"): expected.gap_rows[0]: expected an integer in int64, got 1.5)"},
    {"/cases/2/problem/dcp/size", "0", R"(cases[2] (id "length"): problem.dcp.size: expected at least 1, got 0)"},
    {"/cases/2/problem/dcp/rank", "2", R"(cases[2] (id "length"): problem.dcp.rank: expected a rank in [0, 2), got 2)"},
    {"/cases/2/problem/dcp/interleave", "0", R"(cases[2] (id "length"): problem.dcp.interleave: expected at least 1, got 0)"},
    {"/cases/2/expected/local_lengths", "[]",
     R"(cases[2] (id "length"): expected.local_lengths: has 0 elements, but there are 2 lengths)"},
    {"/cases/2/expected", R"({"error": "A1"})",
     R"(cases[2] (id "length"): expected.error: expected true or the id of a refusal (P2), got "A1")"},
};

TEST(CaseFileErrors, NameTheFieldThatIsWrong) {
  ASSERT_EQ(parse_cases(kGood).error, "");
  for (const Fault& fault : kFaults) {
    Json broken = Json::parse(kGood);
    const Json::json_pointer place(fault.place);
    if (*fault.value == '\0') {
      broken[place.parent_pointer()].erase(place.back());
    } else {
      broken[place] = Json::parse(fault.value);
    }
    const CaseFile file = parse_cases(broken.dump());
    EXPECT_EQ(file.error, fault.error);
    EXPECT_TRUE(file.cases.empty()) << fault.place;
  }
}

TEST(CaseFileErrors, NameLineAndColumnOfWhatIsNotJson) {
  EXPECT_EQ(parse_cases("").error.rfind("not JSON: line 1, column 1: ", 0), 0u) << parse_cases("").error;
  EXPECT_EQ(parse_cases("{\n \"format\": ?").error.rfind("not JSON: line 2, column 12: ", 0), 0u)
      << parse_cases("{\n \"format\": ?").error;
  EXPECT_EQ(parse_cases("{}{}").error.rfind("not JSON: line 1, column 3: ", 0), 0u) << parse_cases("{}{}").error;
  const std::string bytes = parse_cases("{\"format\xff\x01").error;
  EXPECT_TRUE(std::all_of(bytes.begin(), bytes.end(), [](char c) { return c >= ' ' && c <= '~'; })) << bytes;
}

TEST(CaseFileErrors, NameThePlaceOfWhatIsNoCaseFile) {
  EXPECT_EQ(parse_cases("[]").error, "expected an object, got []");
  EXPECT_EQ(parse_cases(R"({"format": 1, "cases": [{}, {"id": 1, "id": 2}]})").error, "cases[1].id: the field is given twice");
  EXPECT_EQ(parse_cases(R"({"cases": [0, [0, 1e999]]})").error, "cases[1][1]: a number too large for any field");
  const std::string deep = R"({"cases": )" + std::string(1'000'000, '[');
  EXPECT_EQ(parse_cases(deep).error, "cases[0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0]: nested deeper than 16 levels");
  const std::string wide = parse_cases(R"({"format": ")" + std::string(100'000, 'x') + "\"}").error;
  EXPECT_LT(wide.size(), 300u);
}

TEST(CaseFileErrors, NameTheFile) {
  EXPECT_EQ(read_cases("/nowhere/cases.json").error, "/nowhere/cases.json: cannot be opened");
  EXPECT_EQ(read_cases(testing::TempDir()).error, testing::TempDir() + ": cannot be opened");
  EXPECT_EQ(save_cases("/nowhere/cases.json", {}), "/nowhere/cases.json: cannot be written");
  const fs::path path = fs::path(testing::TempDir()) / "broken.json";
  std::ofstream(path) << R"({"format": "slotproof-cases", "version": 1})";
  EXPECT_EQ(read_cases(path).error, path.string() + ": cases: missing");
  fs::remove(path);
}

// ---- What is right is read as the page on the format says.

Case only_case(const std::string& problem, const std::string& expected) {
  const CaseFile file =
      parse_cases(R"({"format": "slotproof-cases", "version": 1, "cases": [{"id": "x", "op": "remap", "problem": )" + problem +
                  (expected.empty() ? "" : ", \"expected\": " + expected) + "}]}");
  EXPECT_EQ(file.error, "");
  return file.cases.empty() ? Case{} : file.cases[0];
}

std::string problem_with(const std::string& fields) {
  return R"({"req_id": [], "block_table": [[1]], "token_indices": {"storage": [], "columns": 4}, "block_size": 4, "block_stride_rows": 4,
             "compact": false)" +
         fields + "}";
}

TEST(CaseFile, AsksForCountsWhereTheyAreExpected) {
  const auto counts = [](const std::string& fields, const std::string& expected) {
    return std::get<RemapCase>(only_case(problem_with(fields), expected).problem).counts;
  };
  EXPECT_TRUE(counts("", R"({"out": [], "valid_counts": []})"));
  EXPECT_FALSE(counts("", R"({"out": []})"));
  EXPECT_TRUE(counts("", ""));
  EXPECT_TRUE(counts("", R"({"error": true})"));
  EXPECT_FALSE(counts(R"(, "counts": false)", R"({"error": "A11"})"));
  EXPECT_TRUE(counts(R"(, "counts": true)", R"({"out": []})"));
}

TEST(CaseFile, GivesOutputsWithoutRowsTheWidthOfTheProblem) {
  EXPECT_EQ(std::get<ExpectedRemap>(only_case(problem_with(""), R"({"out": []})").expected).out.columns, 4);
}

TEST(CaseFile, SavesWholeFilesOnly) {
  const fs::path folder = fs::path(testing::TempDir()) / "slotproof-save";
  fs::create_directory(folder);
  const std::vector<Case> cases = parse_cases(kGood).cases;
  EXPECT_EQ(save_cases(folder / "cases.json", {}), "");
  EXPECT_EQ(save_cases(folder / "cases.json", cases), "");  // replaces the first
  EXPECT_EQ(write_cases(read_cases(folder / "cases.json").cases), write_cases(cases));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1);
  fs::create_directory(folder / "taken");
  EXPECT_NE(save_cases(folder / "taken", cases), "");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 2) << "the temporary file is left behind";
  fs::remove_all(folder);
}

}  // namespace
}  // namespace slotproof::harness
