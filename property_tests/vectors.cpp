// The committed vectors: of the stated format, fresh, and covering what they claim to cover.

#include "property_tests/harness/vectors.h"

#include "property_tests/harness/frame.h"
#include "property_tests/places.h"
#include "spec/arguments.h"
#include "spec/remap.h"

#include <gtest/gtest.h>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include <fstream>
#include <iterator>
#include <set>

namespace slotproof::harness {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Adapter = valijson::adapters::NlohmannJsonAdapter;

const fs::path kFolder = source_dir() / "property_tests" / "vectors";

std::string text_of(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  EXPECT_TRUE(stream) << path;
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::vector<fs::path> committed_files() {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(kFolder)) {
    if (entry.path().extension() == ".json") paths.push_back(entry.path());
  }
  return paths;
}

bool follows_schema(const Json& file) {
  static const valijson::Schema& schema = [] {
    static valijson::Schema parsed;
    const Json json = Json::parse(text_of(kFolder.parent_path() / "cases.schema.json"));
    valijson::SchemaParser(valijson::SchemaParser::kDraft7).populateSchema(Adapter(json), parsed);
    return std::ref(parsed);
  }();
  return valijson::Validator(valijson::Validator::kStrongTypes).validate(schema, Adapter(file), nullptr);
}

TEST(Vectors, FollowTheSchema) {
  for (const fs::path& path : committed_files()) {
    Json file = Json::parse(text_of(path));
    EXPECT_TRUE(follows_schema(file)) << path;
    const Json cases = file["cases"];
    for (const Json& value : cases) {  // one by one, because the validator does not say which
      file["cases"] = Json::array({value});
      EXPECT_TRUE(follows_schema(file)) << path << " " << value["id"];
    }
  }
}

TEST(Vectors, CanBeRead) {
  for (const fs::path& path : committed_files()) EXPECT_EQ(read_cases(path).error, "") << path;
}

struct Breakage {
  const char* place;
  const char* value;
};
const Breakage kBreakages[] = {
    {"/format", R"("slotproof")"},
    {"/version", "2"},
    {"/extra", "1"},
    {"/cases", "{}"},
    {"/cases/0/id", R"("")"},
    {"/cases/0/op", R"("remap2")"},
    {"/cases/0/op", R"("dcp_local_length")"},
    {"/cases/0/problem/block_sise", "4"},
    {"/cases/0/problem/block_size", R"("4")"},
    {"/cases/0/problem/block_size", "4.5"},
    {"/cases/0/problem/req_id/0", "2147483648"},
    {"/cases/0/problem/token_indices", "[0, 1]"},
    {"/cases/0/problem/block_table", R"({"storage": [[1]]})"},
    {"/cases/0/problem/order", R"("any")"},
    {"/cases/0/problem/dcp", R"({"size": 2, "rank": 0})"},
    {"/cases/0/problem/layout", R"({"misalignment": {"slots": 4}})"},
    {"/cases/0/problem/edits", R"([{"kind": "null", "tensor": "slots", "value": 1}])"},
    {"/cases/0/problem/edits", R"([{"kind": "rows", "tensor": "out", "value": 1}])"},
    {"/cases/0/expected", R"({"error": "R1"})"},
    {"/cases/0/expected", R"({"error": true, "out": []})"},
    {"/cases/0/expected/counts", "[]"},
};

// What the schema refuses, the reader refuses, too.
TEST(Schema, RefusesBrokenFiles) {
  const Json good = Json::parse(text_of(kFolder / "public-reports.json"));
  for (const auto& [place, value] : kBreakages) {
    Json broken = good;
    broken[Json::json_pointer(place)] = Json::parse(value);
    EXPECT_FALSE(follows_schema(broken)) << place << " " << value;
    EXPECT_NE(parse_cases(broken.dump()).error, "") << place << " " << value;
  }
  for (const char* place : {"id", "op", "problem"}) {
    Json broken = good;
    broken["cases"][0].erase(place);
    EXPECT_FALSE(follows_schema(broken)) << place;
    EXPECT_NE(parse_cases(broken.dump()).error, "") << place;
  }
}

TEST(Vectors, AreWhatTheProgramWrites) {
  size_t num_bytes = 0;
  for (const VectorFile& file : make_vector_files()) {
    const std::string text = text_of(kFolder / file.name);
    num_bytes += text.size();
    EXPECT_TRUE(text == write_cases(file.cases)) << file.name
                                                 << " is stale: run build/bin/generate_vectors property_tests/vectors (target "
                                                    "generate_vectors) and look at the difference";
  }
  EXPECT_LT(num_bytes, 400'000u);
}

TEST(Vectors, KeepThePublicReports) {
  const CaseFile file = read_cases(kFolder / "public-reports.json");
  EXPECT_EQ(file.error, "");
  EXPECT_EQ(file.cases.size(), 52u);
}

TEST(Vectors, HaveTheirOwnIds) {
  std::set<std::string> ids;
  for (const Case& value : make_rule_vectors()) EXPECT_TRUE(ids.insert(value.id).second) << value.id;
}

// Each rule that can decide about an entry does so in some vector.
TEST(Vectors, LetEachRuleDecide) {
  std::set<spec::Rule> deciding;
  for (const Case& value : make_rule_vectors()) {
    if (!std::holds_alternative<ExpectedRemap>(value.expected)) continue;
    Frame frame(std::get<RemapCase>(value.problem), 0);
    const spec::RemapProblem problem = frame.problem();
    for (int32_t t = 0; t < problem.num_tokens(); ++t) {
      for (int32_t k = 0; k < problem.topk(); ++k) deciding.insert(spec::entry_of(problem, t, k).decided_by);
    }
  }
  using enum spec::Rule;
  EXPECT_EQ(deciding, (std::set{R1, R2, R3, R5, R6, R7, R8, R9}));
}

// A case named after a refusal is refused by it; all refusals occur.
TEST(Vectors, CiteTheRuleTheyAreNamedAfter) {
  std::set<spec::Rule> cited;
  for (const Case& value : make_rule_vectors()) {
    const auto* refusal = std::get_if<ExpectedRefusal>(&value.expected);
    const auto named = spec::rule_of(value.kind);
    const bool may_be_refused = named && (*named == spec::Rule::P2 || (*named >= spec::Rule::VA1 && *named <= spec::Rule::VA6) ||
                                          *named >= spec::Rule::A1);
    if (refusal != nullptr) {
      ASSERT_TRUE(refusal->rule) << value.id;
      EXPECT_EQ(spec::id_of(*refusal->rule), value.kind) << value.id;
      cited.insert(*refusal->rule);
    } else if (may_be_refused && *named != spec::Rule::P2) {
      EXPECT_NE(value.id.find("allowed"), std::string::npos) << value.id;
    }
  }
  for (int number = 1; number <= 15; ++number) EXPECT_TRUE(cited.contains(spec::argument_rule_of(number))) << "A" << number;
  for (const char* id : {"VA1", "VA2", "VA3", "VA4", "VA5", "VA6", "P2"}) EXPECT_TRUE(cited.contains(*spec::rule_of(id))) << id;
}

// A compaction that keeps two entries, or a run of neighbours, cannot tell stable from lucky.
TEST(Vectors, CompactRanksWithInnerHoles) {
  int num_cases = 0;
  for (const Case& value : make_rule_vectors()) {
    if (value.id.rfind("R12-ranks", 0) != 0) continue;
    ++num_cases;
    Frame frame(std::get<RemapCase>(value.problem), 0);
    const spec::RemapProblem problem = frame.problem();
    for (int32_t t = 0; t < problem.num_tokens(); ++t) {
      int32_t count = 0, first = -1, last = -1;
      for (int32_t k = 0; k < problem.topk(); ++k) {
        if (spec::entry_of(problem, t, k).is_none()) continue;
        first = count++ == 0 ? k : first;
        last = k;
      }
      EXPECT_GE(count, 3) << value.id << " row " << t;
      EXPECT_GT(last - first + 1, count) << value.id << " row " << t;
    }
  }
  EXPECT_GE(num_cases, 12);
}

}  // namespace
}  // namespace slotproof::harness
