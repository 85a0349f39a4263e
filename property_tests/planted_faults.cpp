// Every planted fault of the remap is found, shrunk, explained by a rule of its own, and replayed; every invariant and every law sees
// some fault. faults.json says of each which rules it breaks, and which others a broken one brings with it ("also").

#include "property_tests/harness/decoder.h"
#include "property_tests/harness/judge.h"
#include "property_tests/program.h"

#include <chrono>
#include <map>
#include <set>
#include <vector>

namespace slotproof {
namespace {

nlohmann::json fault_list() { return nlohmann::json::parse(std::ifstream(source_dir() / "property_tests/faults/faults.json")); }

nlohmann::json fault_called(const std::string& name) {
  const auto list = fault_list();
  for (const char* kind : {"faults", "path_faults"}) {
    for (const auto& fault : list[kind]) {
      if (fault["name"] == name) return fault;
    }
  }
  throw std::runtime_error("no fault " + name);
}

std::set<std::string> strings_of(const nlohmann::json& fault, const char* member) { return fault.value(member, std::set<std::string>()); }

// Rules about what comes out, whatever went wrong before: any fault may break them. The others each have a cause of their own.
const std::set<std::string> kRulesOfOutputs = {"R8", "P3", "P4", "V4", "V5", "R10", "R11", "R12", "R12u", "R13", "R14", "R15"};

bool may_break(const nlohmann::json& fault, const std::string& rule) {
  return kRulesOfOutputs.contains(rule) || strings_of(fault, "rules").contains(rule) || strings_of(fault, "also").contains(rule);
}

std::string plugin_of(const std::string& fault) { return "plugin:" + (fault_dir() / (fault + ".so")).string(); }

class Faults : public Program, public testing::WithParamInterface<std::string> {};

TEST_P(Faults, AreFoundShrunkAndReplayed) {
  const auto fault = fault_called(GetParam());
  const auto begin = std::chrono::steady_clock::now();
  const Ran ran = run("check --fault " + GetParam() + " --findings " + path("findings") + " --json " + path("report.json"));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  ASSERT_EQ(ran.code, 1) << ran.output;
  EXPECT_LT(seconds, 30.0);
  const auto backend = json("report.json")["backends"][0];
  const auto found = backend["counterexample"];
  EXPECT_LE(found["rows"], 2) << ran.output;
  EXPECT_LE(found["columns"], fault.value("columns", 8)) << ran.output;
  EXPECT_TRUE(!found.contains("rule") || may_break(fault, found["rule"])) << ran.output;
  for (const std::string& law : strings_of(fault, "laws")) EXPECT_GT(backend["laws"][law]["failures"], 0) << "law " << law << "\n" << ran.output;
  const std::string file = found["file"];
  const Ran replayed = run("replay " + file + " --laws --backend " + plugin_of(GetParam()));
  EXPECT_EQ(replayed.code, 1) << replayed.output;
  const Ran ours = run("replay " + file + " --backend reference --backend host");
  EXPECT_EQ(ours.code, 0) << ours.output;
}

// What shows on one path of the kernels is found by the cases that take the paths. Rows there are wide, and stay so when shrunk.
class PathFaults : public Program, public testing::WithParamInterface<std::string> {};

TEST_P(PathFaults, AreFoundOnThePathsOfTheKernelsAndReplayed) {
  const Ran ran = run("check --fault " + GetParam() + " --every-path --cases 0 --shrink-seconds 2 --findings " + path("findings") + " --json " + path("report.json"));
  ASSERT_EQ(ran.code, 1) << ran.output;
  const auto found = json("report.json")["backends"][0]["counterexample"];
  EXPECT_TRUE(found["case"].get<std::string>().starts_with("path ")) << ran.output;
  const std::string file = found["file"];
  EXPECT_EQ(run("replay " + file + " --backend " + plugin_of(GetParam())).code, 1);
  EXPECT_EQ(run("replay " + file + " --backend reference --backend host").code, 0);
}

std::vector<std::string> planted_faults(const char* list) {
  std::vector<std::string> names;
  const auto json = fault_list();
  for (const auto& fault : json[list]) names.push_back(fault["name"]);
  return names;
}
std::string name_of_fault(const testing::TestParamInfo<std::string>& tested) {
  std::string name = tested.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Planted, Faults, testing::ValuesIn(planted_faults("faults")), name_of_fault);
INSTANTIATE_TEST_SUITE_P(Planted, PathFaults, testing::ValuesIn(planted_faults("path_faults")), name_of_fault);

// The other way round: what sees no fault could be left out, and nobody would notice.
TEST(FaultMatrix, EveryInvariantSeesAFaultAndNamesItsRule) {
  constexpr uint64_t kCases = 200;
  std::map<std::string, std::set<std::string>> seen_by;
  const auto list = fault_list();
  for (const auto& fault : list["faults"]) {
    const std::string name = fault["name"];
    const auto [backend, reason] = harness::make_backend(plugin_of(name));
    ASSERT_NE(backend, nullptr) << reason;
    for (uint64_t i = 0; i < kCases; ++i) {
      for (const harness::Finding& finding : harness::judge(*backend, harness::draw_remap(1, i, {})).findings) {
        seen_by[std::string(finding.name())].insert(name);
        EXPECT_TRUE(!finding.violation || may_break(fault, std::string(spec::id_of(finding.violation->rule)))) << name << ", case " << i << ": " << describe(finding);
      }
    }
  }
  for (const spec::InvariantText& invariant : spec::invariants()) EXPECT_FALSE(seen_by[std::string(invariant.name)].empty()) << invariant.name;
  EXPECT_FALSE(seen_by["no_fault"].empty());
}

TEST(FaultMatrix, EveryLawSeesAFault) {
  std::set<std::string> broken;
  const auto list = fault_list();
  for (const auto& fault : list["faults"]) broken.merge(strings_of(fault, "laws"));
  for (const spec::LawText& law : spec::laws()) EXPECT_TRUE(broken.contains(std::string(law.id))) << law.id;
}

TEST(FaultList, HasEveryPatchOnceAndKnownRules) {
  std::set<std::string> names;
  const auto list = fault_list();
  for (const char* kind : {"faults", "path_faults", "diagnosis_faults"}) {
    std::set<std::string> wrongs;
    for (const auto& fault : list[kind]) {
      EXPECT_TRUE(names.insert(fault["name"]).second) << fault["name"];
      EXPECT_TRUE(wrongs.insert(fault["wrong"]).second) << fault["wrong"];
      for (const char* rules : {"rules", "also"}) {
        for (const std::string& rule : strings_of(fault, rules)) EXPECT_TRUE(spec::rule_of(rule)) << fault["name"] << ": " << rule;
      }
    }
  }
  EXPECT_GE(names.size(), 50u);
  const auto of_cuda = nlohmann::json::parse(std::ifstream(source_dir() / "property_tests/faults/cuda.json"));
  for (const auto& fault : of_cuda["faults"]) names.insert(fault["name"]);
  for (const auto& entry : std::filesystem::directory_iterator(source_dir() / "property_tests/faults")) {
    EXPECT_TRUE(entry.path().extension() != ".patch" || names.contains(entry.path().stem())) << entry.path();
  }
}

// The control: the same sources without a patch, as the same kind of plug-in.
TEST_F(Program, FindsNothingInThePluginWithoutAFault) {
  const Ran ran = run("check --backend plugin:" + (fault_dir() / "slotproof_host.so").string() + " --cases 3000 --findings " + path("findings"));
  EXPECT_EQ(ran.code, 0) << ran.output;
}

}  // namespace
}  // namespace slotproof
