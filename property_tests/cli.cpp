// The program as its users run it: exit codes, reports, and every planted fault found, shrunk and replayed.


#include "kernels/kernel_path.h"
#include "property_tests/places.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace slotproof {
namespace {

std::string vectors(const std::string& files) { return (source_dir() / "property_tests/vectors" / files).string(); }

struct Ran {
  int code = -1;
  std::string output;  // stdout and stderr
};

Ran run(const std::string& arguments) {
  Ran ran;
  const std::string command = program().string() + " " + arguments + " 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return ran;
  std::array<char, 4096> buffer{};
  while (const size_t size = fread(buffer.data(), 1, buffer.size(), pipe)) ran.output.append(buffer.data(), size);
  const int status = pclose(pipe);
  ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ran;
}

// A folder of this test's own, gone with it.
class Program : public testing::Test {
 protected:
  Program() {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    std::string name = std::string(info->test_suite_name()) + "-" + info->name();
    std::replace(name.begin(), name.end(), '/', '-');
    folder_ = std::filesystem::temp_directory_path() / ("slotproof-" + name + "-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  ~Program() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  nlohmann::json json(const std::string& name) const { return nlohmann::json::parse(std::ifstream(path(name))); }

 private:
  std::filesystem::path folder_;
};

TEST_F(Program, ChecksOurBackEndsAndReportsThem) {
  const Ran ran = run("check --cases 400 --findings " + path("findings") + " --json " + path("report.json") + " --junit " + path("report.xml"));
  EXPECT_EQ(ran.code, 0) << ran.output;
  EXPECT_NE(ran.output.find("writer_reader_agreement"), std::string::npos);
  EXPECT_NE(ran.output.find("Corners reached"), std::string::npos);
  const auto report = json("report.json");
  EXPECT_EQ(report["holds"], true);
  ASSERT_GE(report["backends"].size(), 2u);
  for (const auto& backend : report["backends"]) {
    EXPECT_GT(backend["cases"], 390) << backend["name"];  // an edited call that leaves its own memory is not run
    for (const auto& [name, tally] : backend["invariants"].items()) EXPECT_GT(tally["exercised"], 0) << backend["name"] << " " << name;
    EXPECT_EQ(backend["laws"].size(), 13u);
    for (const auto& [name, tally] : backend["laws"].items()) EXPECT_GT(tally["exercised"], 0) << backend["name"] << " " << name;
  }
  std::ifstream junit(path("report.xml"));
  const std::string xml(std::istreambuf_iterator<char>(junit), {});
  EXPECT_NE(xml.find("<testsuite name=\"slotproof check\""), std::string::npos);
  EXPECT_NE(xml.find("failures=\"0\""), std::string::npos);
}

TEST_F(Program, DrawsTheSameCasesFromTheSameSeedAndGoesOnWhereItStopped) {
  const auto corners = [&](const std::string& options, const std::string& file) {
    EXPECT_EQ(run("check --backend reference " + options + " --json " + path(file)).code, 0);
    return json(file)["corners"];
  };
  const auto whole = corners("--seed 9 --cases 200", "whole.json");
  auto first = corners("--seed 9 --cases 120", "first.json");
  const auto second = corners("--seed 9 --first-case 120 --cases 80", "second.json");
  EXPECT_EQ(json("first.json")["next_case"], 120);
  for (auto& [corner, count] : first.items()) count = count.get<int64_t>() + second[corner].get<int64_t>();
  EXPECT_EQ(first, whole);
}

TEST_F(Program, SaysWhatIsWrongWithItsUsage) {
  const std::pair<const char*, const char*> calls[] = {
      {"", "subcommand"},
      {"check --no-such-option", "no-such-option"},
      {"check --backend no-such", "no-such"},
      {"check --backend plugin:/no/such.so", "/no/such.so"},
      {"check --fault no-such", "no-request-row-guard"},  // it lists the ones there are
      {"check --accept D99", "D99"},
      {"check --level high", "high"},
      {"check --cases 1 --seconds 1", "excludes"},
      {"check --topk 5", "--bulk"},
      {"check --bulk --backend reference", "host-fast"},
      {"check --bulk --level core", "--level"},
      {"replay /no/such.json", "/no/such.json"},
      {"explain /no/such.json", "/no/such.json"},
      {"rules R99", "R99"},
  };
  for (const auto& [arguments, says] : calls) {
    const Ran ran = run(arguments);
    EXPECT_EQ(ran.code, 2) << arguments << "\n" << ran.output;
    EXPECT_NE(ran.output.find(says), std::string::npos) << arguments << "\n" << ran.output;
  }
}

// A problem to whose answer no invariant objects may still break a law: its counterexample is replayed with --laws.
TEST_F(Program, ReplaysACounterexampleOfALaw) {
  const std::string replay = "replay " + path("law.json"), plugin = " --backend plugin:" + (fault_dir() / "interleave-ignored.so").string();
  std::ofstream(path("law.json")) << R"({"format": "slotproof-cases", "version": 1, "cases": [{"id": "law", "op": "remap", "problem": {"req_id": [0],
    "block_table": [[0]], "token_indices": [[0, 0]], "block_size": 2, "block_stride_rows": 2, "compact": false, "dcp": {"size": 2, "rank": 0, "interleave": 2}}}]})";
  EXPECT_EQ(run(replay + plugin).code, 0);
  EXPECT_EQ(run(replay + " --laws --backend reference --backend host").code, 0);
  const Ran ran = run(replay + " --laws" + plugin);
  EXPECT_EQ(ran.code, 1) << ran.output;
  EXPECT_NE(ran.output.find("law P3 (alignment)"), std::string::npos) << ran.output;
}

TEST_F(Program, PrintsTheRules) {
  EXPECT_NE(run("rules R8").output.find("base * L + local % S"), std::string::npos);
  EXPECT_NE(run("rules M3").output.find("Premise: A permutation of blocks"), std::string::npos);
  const Ran all = run("rules");
  for (const char* id : {"R1 ", "R12u", "V5", "VA6", "P4", "G6", "A15", "M9"}) EXPECT_NE(all.output.find(id), std::string::npos) << id;
  std::stringstream page;
  page << std::ifstream(SLOTPROOF_SOURCE_DIR "/docs/spec.md").rdbuf();
  EXPECT_EQ(page.str(), run("rules --markdown").output) << "docs/spec.md is not what `slotproof rules --markdown` prints";
}

TEST_F(Program, PrintsTheCorners) {
  EXPECT_NE(run("corners column_beyond").output.find("rules R6, P4; public reports: bounds B06 B11, sentinel S01"), std::string::npos);
  EXPECT_EQ(run("corners no_such").code, 2);
  std::stringstream page;
  page << std::ifstream(source_dir() / "docs/corners.md").rdbuf();
  EXPECT_EQ(page.str(), run("corners --markdown").output) << "docs/corners.md is not what `slotproof corners --markdown` prints";
}

TEST_F(Program, FailsWhereACornerIsRequiredAndNotReached) {
  const std::string options = " --backend reference --require-corners --findings " + path("findings");
  const Ran enough = run("check --cases 4000" + options), few = run("check --cases 20" + options);
  EXPECT_EQ(enough.code, 0) << enough.output;
  EXPECT_NE(enough.output.find("Every corner was reached"), std::string::npos) << enough.output;
  EXPECT_EQ(few.code, 1) << few.output;
  EXPECT_NE(few.output.find("CORNERS WERE NOT REACHED"), std::string::npos) << few.output;
}

TEST_F(Program, ReplaysTheCommittedVectorsWithTheLawsOfEach) {
  const Ran ran = run("replay --laws " + vectors("*.json"));
  EXPECT_EQ(ran.code, 0) << ran.output;
  EXPECT_NE(ran.output.find("reference: "), std::string::npos);
  EXPECT_NE(ran.output.find("host: "), std::string::npos);
}

TEST_F(Program, FailsOnAVectorThatIsWrong) {
  auto cases = nlohmann::json::parse(std::ifstream(vectors("public-reports.json")));
  cases["cases"][0]["expected"]["out"][0][0] = 12345;
  std::ofstream(path("wrong.json")) << cases;
  const Ran ran = run("replay " + path("wrong.json"));
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.output.find("slots[0, 0]: expected 12345, got 28"), std::string::npos) << ran.output;
}

TEST_F(Program, ExplainsAnEntryRuleByRule) {
  const Ran ran = run("explain " + vectors("public-reports.json") + " --case D06 --row 0 --column 3");
  EXPECT_EQ(ran.code, 0) << ran.output;
  for (const char* line : {"owner = (10 / 1) % 2 = 0", "local = 10 / 2 * 1 + 10 % 1 = 5", "column = 5 / 4 = 1", "slot = base * L + local % S = 3 * 10 + 1 = 31"}) {
    EXPECT_NE(ran.output.find(line), std::string::npos) << line << "\n" << ran.output;
  }
  const Ran foreign = run("explain " SLOTPROOF_SOURCE_DIR "/property_tests/vectors/rules-remap.json --case R3-ranks-2-1-1 --row 0 --column 0");
  EXPECT_NE(foreign.output.find("=>   none by foreign_rank, written -1"), std::string::npos) << foreign.output;
}

TEST_F(Program, MakesAndJudgesWholeBatches) {
  for (const std::string backend : {"host", "host-fast"}) {
    const Ran ran = run("check --bulk --backend " + backend + " --cases 5 --findings " + path("findings") + " --json " + path("bulk.json"));
    EXPECT_EQ(ran.code, 0) << ran.output;
    EXPECT_NE(ran.output.find("All rows are right"), std::string::npos) << ran.output;
    EXPECT_NE(ran.output.find(backend + " ran: "), std::string::npos) << ran.output;
    EXPECT_EQ(json("bulk.json")["modes"]["all"]["batches"], 5);
    EXPECT_GT(json("bulk.json")["corners"]["minus_one"], 0);
  }
}

// Asked for by name or not: batches need a device, and without one this is all that is said.
TEST_F(Program, SaysInOneLineThatABulkRunHasNoDevice) {
  const Ran ran = run("check --bulk --cases 1 --findings " + path("findings"));
  if (ran.code == 0) GTEST_SKIP() << "there is a device";
  EXPECT_EQ(ran.code, 2) << ran.output;
  EXPECT_NE(ran.output.find("--bulk on cuda: "), std::string::npos) << ran.output;
  EXPECT_EQ(std::count(ran.output.begin(), ran.output.end(), '\n'), 1) << ran.output;
}

nlohmann::json fault_list() { return nlohmann::json::parse(std::ifstream(source_dir() / "property_tests/faults/faults.json")); }

// The laws that faults.json says a fault breaks.
std::vector<std::string> laws_broken_by(const std::string& name) {
  const auto list = fault_list();
  for (const auto& fault : list["faults"]) {
    if (fault["name"] == name) return fault.value("laws", std::vector<std::string>());
  }
  return {};
}

class Faults : public Program, public testing::WithParamInterface<std::string> {};

TEST_P(Faults, AreFoundShrunkAndReplayed) {
  const auto begin = std::chrono::steady_clock::now();
  const Ran ran = run("check --fault " + GetParam() + " --findings " + path("findings") + " --json " + path("report.json"));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  ASSERT_EQ(ran.code, 1) << ran.output;
  EXPECT_LT(seconds, 10.0);
  const auto found = json("report.json")["backends"][0]["counterexample"];
  EXPECT_LE(found["rows"], 2) << ran.output;
  EXPECT_LE(found["columns"], 8) << ran.output;
  const auto laws = json("report.json")["backends"][0]["laws"];
  for (const std::string& law : laws_broken_by(GetParam())) EXPECT_GT(laws[law]["failures"], 0) << "law " << law << "\n" << ran.output;
  const std::string file = found["file"], plugin = "plugin:" + (fault_dir() / (GetParam() + ".so")).string();
  const Ran replayed = run("replay " + file + " --backend " + plugin);
  EXPECT_EQ(replayed.code, 1) << replayed.output;
  const Ran ours = run("replay " + file + " --backend reference --backend host");
  EXPECT_EQ(ours.code, 0) << ours.output;
}

// What shows on one path of the kernels is found by the cases that take the paths. Rows there are wide, and stay so when shrunk.
class PathFaults : public Program, public testing::WithParamInterface<std::string> {};

TEST_P(PathFaults, AreFoundOnThePathsOfTheKernelsAndReplayed) {
  const Ran ran = run("check --fault " + GetParam() + " --every-path --cases 0 --findings " + path("findings") + " --json " + path("report.json"));
  ASSERT_EQ(ran.code, 1) << ran.output;
  const auto found = json("report.json")["backends"][0]["counterexample"];
  EXPECT_TRUE(found["case"].get<std::string>().starts_with("path ")) << ran.output;
  const std::string file = found["file"];
  EXPECT_EQ(run("replay " + file + " --backend plugin:" + (fault_dir() / (GetParam() + ".so")).string()).code, 1);
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

TEST_F(Program, LaunchesEveryPathOfTheKernelsWhereThatIsRequired) {
  const Ran ran = run("check --backend host --every-path --require-coverage --cases 1 --findings " + path("findings") + " --json " + path("report.json"));
  EXPECT_EQ(ran.code, 0) << ran.output;
  EXPECT_NE(ran.output.find(fmt::format("host launched all {} paths of the kernels", kNumKernelPaths)), std::string::npos) << ran.output;
  const auto report = json("report.json");
  EXPECT_EQ(report["backends"][0]["kernel_paths"].size(), size_t(kNumKernelPaths));
  for (const auto& [name, launches] : report["backends"][0]["kernel_paths"].items()) EXPECT_GT(launches, 0) << name;
}

TEST_F(Program, FailsWhereAPathOfTheKernelsWasNeverLaunched) {
  const Ran none = run("check --backend host --require-coverage --cases 1 --findings " + path("findings"));
  EXPECT_EQ(none.code, 1);
  EXPECT_NE(none.output.find("NEVER LAUNCHED by host: compacted, dcp, 64 threads of 4, general, input misaligned, output aligned, several passes, counts"), std::string::npos) << none.output;
  const Ran other = run("check --backend reference --require-coverage --cases 1 --findings " + path("findings"));
  EXPECT_EQ(other.code, 1);
  EXPECT_NE(other.output.find("NO BACK END LAUNCHED the kernels"), std::string::npos) << other.output;
}

TEST_F(Program, FindsAFaultWithoutAWorkerAndOnThePathsOfTheKernels) {
  const Ran ran = run("check --fault last-tile-dropped --in-process --every-path --cases 0 --findings " + path("findings") + " --json " + path("report.json"));
  EXPECT_EQ(ran.code, 1) << ran.output;
  EXPECT_TRUE(json("report.json")["backends"][0]["counterexample"]["case"].get<std::string>().starts_with("path ")) << ran.output;
}

// The control: the same sources without a patch, as the same kind of plug-in.
TEST_F(Program, FindsNothingInThePluginWithoutAFault) {
  const Ran ran = run("check --backend plugin:" + (fault_dir() / "slotproof_host.so").string() + " --cases 3000 --findings " + path("findings"));
  EXPECT_EQ(ran.code, 0) << ran.output;
}

}  // namespace
}  // namespace slotproof
