// The program as its users run it: exit codes and reports. On planted faults: planted_faults.cpp.

#include "kernels/kernel_path.h"
#include "property_tests/program.h"

#include <fmt/format.h>

#include <sstream>

namespace slotproof {
namespace {

std::string vectors(const std::string& files) { return (source_dir() / "property_tests/vectors" / files).string(); }

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

TEST_F(Program, KeepsGoingBehindACounterexampleAndCountsWhatSeesIt) {
  const std::string options = "check --fault tail-of-zeros --cases 120 --findings " + path("findings") + " --json " + path("report.json");
  ASSERT_EQ(run(options).code, 1);
  const auto stopped = json("report.json")["backends"][0];
  EXPECT_EQ(stopped["cases_failing"], 1);
  EXPECT_LT(stopped["cases"], 120);
  ASSERT_EQ(run(options + " --keep-going").code, 1);
  const auto whole = json("report.json")["backends"][0];
  EXPECT_EQ(whole["cases"], 120);
  EXPECT_EQ(whole["counterexample"]["case"], stopped["counterexample"]["case"]) << "the first one";
  const auto tail = whole["invariants"]["tail_is_none"];
  EXPECT_GT(tail["failures"], 1);
  EXPECT_LE(tail["failures"], whole["cases_failing"]);
  EXPECT_EQ(tail["first_failure"], stopped["cases"]);
  for (const std::string rule : tail["rules"]) EXPECT_TRUE(rule == "R12" || rule == "R12u") << rule;
  EXPECT_FALSE(whole["invariants"]["argument_validation"].contains("first_failure"));
}

// The plug-in hangs where a block has three rows, which some cases have; the default limit is five seconds a call.
TEST_F(Program, HoldsACallToTheTimeThatItIsGiven) {
  const std::string plugin = "plugin:" + (example_plugin_dir() / "hang.so").string();
  const Ran ran = run("check --backend " + plugin + " --keep-going --cases 40 --time-limit 0.05 --shrink-seconds 0 --findings " + path("findings") + " --json " + path("report.json"));
  EXPECT_EQ(ran.code, 1);
  const auto backend = json("report.json")["backends"][0];
  EXPECT_GT(backend["invariants"]["no_fault"]["failures"], 0) << ran.output;
  EXPECT_LT(backend["seconds"], 4.0) << ran.output;
  EXPECT_LT(backend["counterexample"]["shrink_seconds"], 1.0) << "none was given: one try at most";
}

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

}  // namespace
}  // namespace slotproof
