// A campaign whose back end breaks a law that no invariant sees in the cases drawn so far: the counterexample is the law's.

#include "cli/campaign.h"

#include "cli/report.h"
#include "property_tests/backends.h"
#include "property_tests/harness/laws.h"
#include "reference/remap.h"
#include "spec/arguments.h"

#include <filesystem>
#include <unistd.h>

namespace slotproof::cli {
namespace {

class Campaign : public testing::Test {
 protected:
  ~Campaign() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  CampaignReport run(uint64_t first_case, uint64_t num_cases, harness::MadeBackend::Run run_case) {
    CampaignOptions options;
    options.first_case = first_case;
    options.num_cases = num_cases;
    options.findings = folder_;
    std::vector<std::unique_ptr<harness::Backend>> backends;
    backends.push_back(std::make_unique<harness::MadeBackend>(std::move(run_case)));
    return run_campaign(options, backends, [](const Progress&) {}, [] { return false; });
  }

 private:
  std::filesystem::path folder_ = std::filesystem::temp_directory_path() / ("slotproof-campaign-" + std::to_string(getpid()));
};

harness::RunOutcome right(harness::Frame& frame, const harness::Schedule&) {
  const auto refusal = reference::remap(frame.problem());
  return refusal ? harness::RunOutcome{harness::RunOutcome::Kind::kRefused, refusal->rule, refusal->message} : harness::RunOutcome{};
}

// The interleave counts with one rank, which few drawn problems have, and every one that is prepared for M6.
bool is_mistaken_for_ranks(const spec::RemapProblem& p) {
  return p.dcp.size == 1 && p.dcp.interleave > 1 && !p.prefill_request_id && !spec::refusal_of(p);
}
harness::RunOutcome wrong(harness::Frame& frame, const harness::Schedule& schedule) {
  spec::RemapProblem problem = frame.problem();
  if (!is_mistaken_for_ranks(problem)) return right(frame, schedule);
  problem.dcp = {problem.dcp.interleave, 0, 1};
  reference::remap(problem);
  return {};
}

// A case at which it is M6's turn, and M6 breaks, while the drawn problem shows nothing.
uint64_t case_of_the_law() {
  harness::MadeBackend backend(wrong);
  for (uint64_t index = 100;; ++index) {
    harness::Frame drawn(harness::draw_remap(1, index, {}), 1);
    if (index % spec::kNumLaws != uint64_t(spec::Law::kOneRank) || is_mistaken_for_ranks(drawn.problem())) continue;
    const auto prepared = harness::draw_for_law(spec::Law::kOneRank, 1, index, {}, backend.info());
    if (!harness::check_law(spec::Law::kOneRank, backend, prepared).findings.empty()) return index;
  }
}

TEST_F(Campaign, GivesTheCounterexampleOfALaw) {
  const uint64_t index = case_of_the_law();
  const CampaignReport report = run(index, 1, wrong);
  EXPECT_FALSE(report.holds());
  const BackendTally& tally = report.backends[0];
  ASSERT_TRUE(tally.counterexample);
  const Counterexample& found = *tally.counterexample;
  EXPECT_EQ(found.finding.name(), "M6");
  EXPECT_EQ(found.case_name, "case " + std::to_string(index) + " law M6");
  EXPECT_EQ(found.shrunk.num_tokens(), 1);
  EXPECT_EQ(found.shrunk.topk(), 1);
  EXPECT_TRUE(std::filesystem::exists(found.file)) << found.save_error;
  EXPECT_EQ(tally.laws[size_t(spec::Law::kOneRank)].num_failures, 1);
  EXPECT_EQ(tally.laws[size_t(spec::Law::kRows)].num_failures, 0);
  EXPECT_GT(tally.laws[size_t(spec::Law::kRows)].num_exercised, 0) << "who failed is put to every law";
  const std::string text = text_of(found, tally);
  EXPECT_NE(text.find("law                  M6, one rank: With N = 1"), std::string::npos) << text;
  EXPECT_NE(text.find("premise              S % I == 0."), std::string::npos) << text;
  EXPECT_NE(text.find("dcp                  size 1, rank 0, interleave 2"), std::string::npos) << text;
  EXPECT_NE(text.find("laws broken          P1 partition, "), std::string::npos) << text;
  EXPECT_NE(text.find("M6 one rank"), std::string::npos) << text;
  EXPECT_NE(text.find(" --laws\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("explain"), std::string::npos) << text;
}

TEST_F(Campaign, TakesTheLawsInTurnBehindTheFirstCases) {
  const CampaignReport report = run(90, 10 + 13 * 8, right);
  EXPECT_TRUE(report.holds());
  const CampaignReport first = run(0, 100, right);
  for (const spec::LawText& law : spec::laws()) {
    EXPECT_GE(report.backends[0].laws[size_t(law.law)].num_exercised, 1) << law.id;
    EXPECT_LE(report.backends[0].laws[size_t(law.law)].num_exercised, 8) << law.id;
    EXPECT_EQ(first.backends[0].laws[size_t(law.law)].num_exercised, 0) << law.id;
  }
}

// A count is wrong in every problem; that padding became a slot shows in a single entry alone.
TEST_F(Campaign, ExplainsAShrunkProblemByWhatItShowsBest) {
  harness::RemapCase large;
  large.req_id = {0, 0};
  large.block_table = harness::OwnedMatrix::of({{1}});
  large.token_indices = harness::OwnedMatrix::filled(2, 5, -1);
  const auto finding_of = [](spec::Invariant invariant, spec::Rule rule) { return harness::Finding{spec::Violation{invariant, rule, "", "", ""}, {}}; };
  const harness::Finding count = finding_of(spec::Invariant::kValidCountExactness, spec::Rule::R11);
  ShrinkSetting setting;
  setting.judge = [&](const harness::RemapCase& c) {
    harness::Verdict verdict;
    if (c.num_tokens() > 0 && c.topk() > 0) verdict.findings.push_back(count);
    if (c.num_tokens() == 1 && c.topk() == 1) verdict.findings.push_back(finding_of(spec::Invariant::kMinusOnePropagation, spec::Rule::R1));
    return verdict;
  };
  setting.should_stop = [] { return false; };
  setting.folder = std::filesystem::temp_directory_path();
  setting.id = "slotproof-minimize-" + std::to_string(getpid());
  const Counterexample found = minimize(large, count, setting);
  std::filesystem::remove(found.file);
  EXPECT_EQ(found.shrunk.num_tokens() * found.shrunk.topk(), 1);
  EXPECT_EQ(found.finding.name(), "minus_one_propagation");
}

}  // namespace
}  // namespace slotproof::cli
