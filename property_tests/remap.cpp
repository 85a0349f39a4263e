// Every invariant as a property, the same code for every back end.

#include "property_tests/generators.h"
#include "property_tests/harness/judge.h"
#include "spec/arguments.h"
#include "spec/remap.h"

#include <rapidcheck/gtest.h>
#include <slotproof/plugin.h>

namespace slotproof::harness {
namespace {

using spec::Invariant;

struct Subject {
  std::string backend;
  Invariant invariant;
};
void PrintTo(const Subject& subject, std::ostream* os) { *os << subject.backend << " " << spec::name_of(subject.invariant); }

class EveryInvariant : public testing::TestWithParam<Subject> {};

TEST_P(EveryInvariant, HoldsOnDrawnProblems) {
  const Subject& subject = GetParam();
  const auto [backend, reason] = make_backend(subject.backend);
  if (!backend) GTEST_SKIP() << "back end " << subject.backend << " is absent: " << reason;
  int num_exercised = 0;
  const bool holds = rc::check(subject.backend + " keeps " + std::string(spec::name_of(subject.invariant)), [&, &made = backend] {
    const RemapCase remap_case = *remap_cases().as("case");
    const Verdict verdict = judge(*made, remap_case);
    num_exercised += verdict.is_exercised[size_t(subject.invariant)];
    for (const Finding& finding : verdict.findings) {
      if (!finding.violation || finding.violation->invariant == subject.invariant) RC_FAIL(describe(finding));
    }
  });
  EXPECT_TRUE(holds);
  EXPECT_GT(num_exercised, 0) << "no drawn problem put the invariant to the test";
}

std::vector<Subject> all_subjects() {
  std::vector<Subject> subjects;
  for (const std::string& backend : kBackends) {
    for (const spec::InvariantText& invariant : spec::invariants()) subjects.push_back({backend, invariant.invariant});
  }
  return subjects;
}
std::string name_of_subject(const testing::TestParamInfo<Subject>& tested) {
  return tested.param.backend + "_" + std::string(spec::name_of(tested.param.invariant));
}
INSTANTIATE_TEST_SUITE_P(Remap, EveryInvariant, testing::ValuesIn(all_subjects()), name_of_subject);

// The invariants see a wrong output at all: on the reference's own answer with one entry changed, some invariant speaks.
RC_GTEST_PROP(Remap, EveryChangedEntryIsSeenBySomeInvariant, ()) {
  const RemapCase remap_case = *remap_cases({.level = Level::kCore});
  RC_PRE(remap_case.num_tokens() > 0 && remap_case.topk() > 0);
  const auto made = make_reference_backend();
  Frame frame(remap_case, 1);
  made.backend->run(frame, {});
  const spec::RemapProblem problem = frame.problem();
  RC_ASSERT(spec::check_all(problem, {std::nullopt, frame.memory(), {}}).violations.empty());

  const int32_t t = *rc::gen::inRange(0, problem.num_tokens()), k = *rc::gen::inRange(0, problem.topk());
  int32_t& entry = problem.slots.data[int64_t{t} * problem.slots.row_stride + k];
  const int32_t right = entry;
  entry = *rc::gen::distinctFrom(rc::gen::element(-1, 0, 1, right + 1, right - 1, 1 << 30), right);
  // Under R12u a changed entry is still seen: none of these is another slot of the row's prefix in its place.
  RC_ASSERT(!spec::check_all(problem, {std::nullopt, frame.memory(), {}}).violations.empty());
}

RC_GTEST_PROP(Remap, AWrongCountIsSeen, ()) {
  const RemapCase remap_case = *remap_cases({.level = Level::kCore});
  RC_PRE(remap_case.counts && remap_case.num_tokens() > 0);
  Frame frame(remap_case, 1);
  make_reference_backend().backend->run(frame, {});
  const spec::RemapProblem problem = frame.problem();
  problem.valid_counts->data[0] += *rc::gen::element(-1, 1);
  const auto violations = spec::check(Invariant::kValidCountExactness, problem, {std::nullopt, frame.memory(), {}});
  RC_ASSERT(violations.size() == 1u && violations[0].place == "valid_counts[0]");
}

// Any word of the frame but an output changed: the frame invariant names the tensor whose memory it is.
RC_GTEST_PROP(Remap, AStrayWriteIsSeenWhereverItGoes, ()) {
  const RemapCase remap_case = *remap_cases({.level = Level::kCore});
  Frame frame(remap_case, 1);
  make_reference_backend().backend->run(frame, {});
  const Tensor tensor = Tensor(*rc::gen::inRange(0, kNumTensors));
  const Frame::Region& region = frame.region(tensor);
  RC_PRE(region.is_present);
  const bool is_behind = *rc::gen::arbitrary<bool>();
  const int64_t word = is_behind ? region.end - 1 : region.begin;  // a guard word
  frame.arena()[word] ^= 1;
  const auto violations = spec::check(Invariant::kFrame, frame.problem(), {std::nullopt, frame.memory(), {}});
  RC_ASSERT(violations.size() == 1u);
  RC_ASSERT(violations[0].place.starts_with(name_of(tensor)));
  RC_ASSERT(violations[0].rule == spec::Rule::R13);
}

using Identity = BackendTest;

// The kernels alone have teams, and refuse one of 7 threads, each back end in words of its own. So what calls itself host or cuda
// runs the kernels there, and what calls itself reference does not.
TEST_P(Identity, IsTheBackEndThatItsNameSays) {
  RemapCase remap_case;
  remap_case.req_id = {0};
  remap_case.block_table = OwnedMatrix::of({{5}});
  remap_case.token_indices = OwnedMatrix::of({{3}});
  remap_case.block_size = 4;
  remap_case.block_stride_rows = 4;
  Frame frame(remap_case, 1);
  EXPECT_EQ(backend().info().name, GetParam());
  const RunOutcome with_odd_team = backend().run(frame, {.team_width = 7});
  if (GetParam() != "reference") {
    EXPECT_EQ(with_odd_team.kind, RunOutcome::Kind::kFault);
    EXPECT_NE(with_odd_team.message.find("team_width is 7"), std::string::npos) << with_odd_team.message;
  } else {
    EXPECT_EQ(with_odd_team.kind, RunOutcome::Kind::kDone) << with_odd_team.message;
  }
  ASSERT_EQ(backend().run(frame, {.team_width = 32}).kind, RunOutcome::Kind::kDone);
  EXPECT_EQ(frame.problem().slots.data[0], 23);
}
INSTANTIATE_TEST_SUITE_P(Backends, Identity, testing::ValuesIn(kBackends), name_of_parameter);

}  // namespace
}  // namespace slotproof::harness
