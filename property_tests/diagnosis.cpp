// The diagnosis: G1-G6 on every back end, its planted faults, and each reason at its edge by hand.

#include "property_tests/generators.h"
#include "property_tests/harness/diagnosis_backend.h"
#include "spec/diagnosis.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <rapidcheck/gtest.h>
#include <slotproof/diagnosis.h>

#include <fstream>
#include <limits>
#include <optional>

namespace slotproof::harness {
namespace {

constexpr int32_t kMax = std::numeric_limits<int32_t>::max();
constexpr int kGuard = 16;  // elements before and behind an output

// The outputs of a call between guards. What they hold beforehand is no count that a call would write.
struct Counters {
  explicit Counters(int32_t num_tokens, bool has_rows = true, int32_t stride = spec::kNumReasons, int64_t total = 1000) : row_stride(stride) {
    totals.assign(size_t(spec::kNumReasons + 2 * kGuard), total);
    rows.assign(has_rows ? size_t(num_tokens) * size_t(stride) + 2 * kGuard : 0, -77);
    if (has_rows) outputs.row_counts = spec::OutputMatrix{rows.data() + kGuard, num_tokens, spec::kNumReasons, stride};
    outputs.totals = totals.data() + kGuard;
  }
  Counters(const Counters&) = delete;
  Counters& operator=(const Counters&) = delete;

  int32_t row_stride;
  std::vector<int32_t> rows;
  std::vector<int64_t> totals;
  spec::DiagnosisOutputs outputs;
};

// Runs a call and compares everything that it could reach with what G1-G6 say. Empty, or what is wrong.
std::string disagreement(DiagnosisBackend& backend, Frame& frame, Counters& counters, const Schedule& schedule) {
  const spec::RemapProblem problem = frame.problem();
  const auto refusal = spec::refusal_of(problem, counters.outputs);
  if (!refusal && !frame.holds_every_element()) return {};
  auto rows = counters.rows;
  auto totals = counters.totals;
  if (!refusal) {
    const spec::ExpectedDiagnosis expected = spec::expected_diagnosis(problem);
    for (int32_t t = 0; t < problem.num_tokens() && !rows.empty(); ++t) {
      for (int32_t c = 0; c < spec::kNumReasons; ++c) rows[size_t(kGuard + t * counters.row_stride + c)] = expected.row_counts(t, c);
      if (expected.row_counts.row(t).sum() != problem.topk()) return fmt::format("G2: the spec's own counts of row {} do not sum to K", t);
    }
    for (size_t c = 0; c < size_t(spec::kNumReasons); ++c) totals[kGuard + c] = int64_t(uint64_t(totals[kGuard + c]) + uint64_t(expected.totals[c]));
  }
  const RunOutcome run = backend.run(problem, counters.outputs, schedule);
  if (run.kind == RunOutcome::Kind::kFault) return "fault: " + run.message;
  if (run.refused != (refusal ? std::optional(refusal->rule) : std::nullopt)) return fmt::format("G5: {}, expected {}", run.message, refusal ? refusal->message : "no refusal");
  if (counters.rows != rows) return fmt::format("row_counts: got {}, expected {}", counters.rows, rows);
  if (counters.totals != totals) return fmt::format("totals: got {}, expected {}", counters.totals, totals);
  for (const spec::MemoryRegion& region : frame.memory()) {
    if (!std::equal(region.before, region.before + region.num_words, region.after)) return fmt::format("G4: {} was written to", region.name);
  }
  return {};
}

class Diagnosis : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    auto [made, reason] = make_diagnosis_backend(GetParam());
    if (!made) GTEST_SKIP() << "back end " << GetParam() << " is absent: " << reason;
    backend_ = std::move(made);
  }
  // The counts of each row, in every team and order, with row counts and without; by the spec and by the back end.
  void expect(const RemapCase& c, const std::vector<std::vector<int32_t>>& rows) {
    for (const int32_t team_width : {0, 32, 64, 128, 256}) {
      for (const uint64_t seed : {0u, 1u, 9u}) {
        Frame frame(c, 3);
        for (const bool has_rows : {true, false}) {
          Counters counters(c.num_tokens(), has_rows, 11);
          ASSERT_EQ(disagreement(*backend_, frame, counters, {team_width, seed, seed}), "");
          for (size_t reason = 0; reason < size_t(spec::kNumReasons); ++reason) {
            int64_t sum = 1000;
            for (size_t t = 0; t < rows.size(); ++t) {
              sum += rows[t][reason];
              if (!has_rows) continue;
              EXPECT_EQ(counters.outputs.row_counts->view()(int32_t(t), int32_t(reason)), rows[t][reason]) << "row " << t << ", " << spec::name_of(spec::NoneReason(reason));
            }
            EXPECT_EQ(counters.outputs.totals[reason], sum) << spec::name_of(spec::NoneReason(reason));
          }
        }
      }
    }
  }
  std::unique_ptr<DiagnosisBackend> backend_;
};
INSTANTIATE_TEST_SUITE_P(Backends, Diagnosis, testing::ValuesIn(kBackends), name_of_parameter);

std::string drawn_disagreement(DiagnosisBackend& backend, const RemapCase& c, int32_t extra_stride, bool has_rows) {
  Frame frame(c, 1);
  Counters counters(c.num_tokens(), has_rows, spec::kNumReasons + extra_stride);
  return disagreement(backend, frame, counters, c.schedule);
}

TEST_P(Diagnosis, CountsWhatTheSpecSaysOnDrawnProblems) {
  EXPECT_TRUE(rc::check("diagnosis by " + GetParam(), [&] {
    const RemapCase c = *remap_cases().as("case");
    const std::string wrong = drawn_disagreement(*backend_, c, *rc::gen::inRange(0, 4), *rc::gen::arbitrary<bool>());
    if (!wrong.empty()) RC_FAIL(wrong);
  }));
}

// Two requests of three blocks of four; blocks 7, 3, 5 and 2, 9, 0.
RemapCase plain(std::vector<std::vector<int32_t>> positions, std::vector<int32_t> requests = {0}) {
  RemapCase c;
  c.req_id = std::move(requests);
  c.block_table = OwnedMatrix::of({{7, 3, 5}, {2, 9, 0}});
  c.token_indices = OwnedMatrix::of(std::move(positions));
  c.block_size = 4;
  c.block_stride_rows = 4;
  return c;
}

//                                             columns: slot, padding, workspace, foreign_rank, request_row, column, physical_block, unrepresentable
TEST_P(Diagnosis, G1Padding) { expect(plain({{-1, 0, std::numeric_limits<int32_t>::min(), 11}}), {{2, 2, 0, 0, 0, 0, 0, 0}}); }
TEST_P(Diagnosis, G1Workspace) {
  RemapCase c = plain({{0, 9, 10, -1}, {0, 9, 10, -1}, {0, 9, 10, -1}, {0, 9, 10, -1}, {0, 9, 10, -1}}, {0, 99, 99, 99, 0});
  c.prefill = OwnedPrefill{{0, 1, 2, kMax, -5}, {90, -1}, 100};
  expect(c, {{2, 1, 1, 0, 0, 0, 0, 0}, {0, 1, 3, 0, 0, 0, 0, 0}, {0, 1, 3, 0, 0, 0, 0, 0}, {0, 1, 3, 0, 0, 0, 0, 0}, {3, 1, 0, 0, 0, 0, 0, 0}});
}
TEST_P(Diagnosis, G1AWorkspaceRowBeyondInt32IsOfTheWorkspace) {
  RemapCase c = plain({{6, 7, 8, kMax}});
  c.prefill = OwnedPrefill{{0}, {kMax - 7}, {}};
  expect(c, {{2, 0, 2, 0, 0, 0, 0, 0}});
}
TEST_P(Diagnosis, G1AForeignPositionIsThatWhateverElseIsWrong) {
  RemapCase c = plain({{0, 1, 2, 3, -1, 1000, 1002}, {0, 1, 2, 3, -1, 1000, 1002}}, {0, 2});
  c.dcp = {2, 1, 2};  // rank 1 owns 2, 3 and 1002
  expect(c, {{2, 1, 0, 3, 0, 1, 0, 0}, {0, 1, 0, 3, 3, 0, 0, 0}});
}
TEST_P(Diagnosis, G1RequestRowsAtTheEdges) {
  expect(plain({{0, 99}, {0, 99}, {0, 99}, {0, 99}}, {1, 2, -1, kMax}), {{1, 0, 0, 0, 0, 1, 0, 0}, {0, 0, 0, 0, 2, 0, 0, 0}, {0, 0, 0, 0, 2, 0, 0, 0}, {0, 0, 0, 0, 2, 0, 0, 0}});
}
TEST_P(Diagnosis, G1ATableWithoutColumnsStillHasItsRequests) {
  RemapCase c = plain({{0, -1}, {0, -1}}, {1, 2});
  c.block_table = OwnedMatrix::of({{}, {}}, 0);
  expect(c, {{0, 1, 0, 0, 0, 1, 0, 0}, {0, 1, 0, 0, 1, 0, 0, 0}});
  c.block_table = OwnedMatrix::of({}, 3);
  expect(c, {{0, 1, 0, 0, 1, 0, 0, 0}, {0, 1, 0, 0, 1, 0, 0, 0}});
}
TEST_P(Diagnosis, G1ColumnsAtTheEdge) { expect(plain({{7, 11, 12, kMax}}), {{2, 0, 0, 0, 0, 2, 0, 0}}); }
TEST_P(Diagnosis, G1PhysicalBlocksAtTheEdges) {
  RemapCase c = plain({{0, 4, 8, 12, 16}});
  c.block_table = OwnedMatrix::of({{-1, std::numeric_limits<int32_t>::min(), 8, 9, kMax}});
  c.num_blocks = 9;
  expect(c, {{1, 0, 0, 0, 0, 0, 4, 0}});
  c.num_blocks.reset();
  expect(c, {{2, 0, 0, 0, 0, 0, 2, 1}});
  c.num_blocks = int64_t{kMax};
  expect(c, {{2, 0, 0, 0, 0, 0, 3, 0}});
  c.num_blocks = int64_t{kMax} + 1;
  expect(c, {{2, 0, 0, 0, 0, 0, 2, 1}});
  c.num_blocks = 0;
  expect(c, {{0, 0, 0, 0, 0, 0, 5, 0}});
}
TEST_P(Diagnosis, G1UnrepresentableByTheProductAndByTheOffset) {
  RemapCase c = plain({{0, 3, 4}});
  c.block_table = OwnedMatrix::of({{536870911, 536870912}});
  expect(c, {{2, 0, 0, 0, 0, 0, 0, 1}});
  c = plain({{0, 1, 2, 3}});
  c.block_table = OwnedMatrix::of({{1}});
  c.block_stride_rows = kMax - 1;
  expect(c, {{2, 0, 0, 0, 0, 0, 0, 2}});
}
TEST_P(Diagnosis, G2WideRowsOfEveryAlignmentAreCountedOnce) {
  for (const int32_t topk : {511, 512, 513, 2051, 4097, 9001}) {
    for (uint8_t misalignment = 0; misalignment < 4; ++misalignment) {
      RemapCase c = plain({}, {0});
      c.token_indices = OwnedMatrix::filled(1, topk, 0, topk + 1);
      for (int32_t k = 0; k < topk; k += 3) c.token_indices.at(0, k) = k % 2 == 0 ? -1 : 12;
      c.layout.misalignment.fill(misalignment);
      const int32_t num_odd = (topk + 2) / 6, num_padding = (topk + 2) / 3 - num_odd;
      expect(c, {{topk - num_odd - num_padding, num_padding, 0, 0, 0, num_odd, 0, 0}});
    }
  }
}
// Widths at which the planner picks each team, with and without ranks: every instantiation of the kernel on a device.
TEST_P(Diagnosis, G6EveryTeamCountsTheSameWithAndWithoutRanks) {
  for (const int32_t topk : {100, 600, 1100, 2051}) {
    for (const spec::RankOwnership dcp : {spec::RankOwnership{}, spec::RankOwnership{3, 1, 2}}) {
      RemapCase c = plain({}, {0, 7});
      c.dcp = dcp;
      c.token_indices = OwnedMatrix::filled(2, topk, 0);
      for (int32_t k = 0; k < topk; ++k) c.token_indices.at(0, k) = c.token_indices.at(1, k) = k % 5 == 0 ? -k : k % 47;
      Frame frame(c, 1);
      Counters counters(2);
      EXPECT_EQ(disagreement(*backend_, frame, counters, {}), "") << "K = " << topk << ", N = " << dcp.size;
    }
  }
}
TEST_P(Diagnosis, G3TotalsRunOnFromCallToCallModulo2To64) {
  Frame frame(plain({{0, 1, -1, 12}, {-1, -1, -1, -1}}, {0, 5}), 1);
  Counters counters(2, false, spec::kNumReasons, std::numeric_limits<int64_t>::max());
  for (int call = 0; call < 3; ++call) ASSERT_EQ(disagreement(*backend_, frame, counters, {}), "");
  EXPECT_EQ(counters.outputs.totals[0], std::numeric_limits<int64_t>::min() + 5);
  EXPECT_EQ(counters.outputs.totals[1], std::numeric_limits<int64_t>::min() + 14);
  EXPECT_EQ(counters.outputs.totals[3], std::numeric_limits<int64_t>::max());
}
TEST_P(Diagnosis, G6NoTokensAndNoColumns) {
  RemapCase c = plain({}, {});
  c.token_indices = OwnedMatrix::of({}, 4);
  expect(c, {});
  expect(plain({{}, {}}, {0, 1}), {{0, 0, 0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0, 0, 0}});
}

// Each edit of a good call's outputs, and the rule that refuses it. The slots and the tile of the problem are wrong throughout: no matter.
TEST_P(Diagnosis, G5RefusesByTheFirstRuleThatFails) {
  using Outputs = spec::DiagnosisOutputs;
  RemapCase c = plain({{0, 1}, {2, 3}}, {0, 1});
  c.tile = 77;
  c.edits = {{.kind = ArgumentEdit::Kind::kNull, .tensor = Tensor::kSlots}};
  const auto expect_refusal = [&](const RemapCase& call, const std::function<void(Outputs&, spec::RemapProblem&)>& edit, std::optional<spec::Rule> rule, const char* what) {
    Frame frame(call, 1);
    Counters counters(2, true, 9);
    spec::RemapProblem problem = frame.problem();
    edit(counters.outputs, problem);
    const auto rows = counters.rows;
    const auto totals = counters.totals;
    const auto refusal = spec::refusal_of(problem, counters.outputs);
    EXPECT_EQ(refusal ? std::optional(refusal->rule) : std::nullopt, rule) << what;
    const RunOutcome run = backend_->run(problem, counters.outputs, {});
    EXPECT_EQ(run.refused, rule) << what << ": " << run.message;
    if (!rule) return;
    EXPECT_FALSE(run.message.empty()) << what;
    EXPECT_TRUE(counters.rows == rows && counters.totals == totals) << what;
  };
  const auto edits_of = [&](spec::Rule rule, const std::function<void(Outputs&)>& edit, const char* what) {
    expect_refusal(c, [&](Outputs& o, spec::RemapProblem&) { edit(o); }, rule, what);
  };
  expect_refusal(c, [](Outputs&, spec::RemapProblem&) {}, std::nullopt, "good");
  edits_of(spec::Rule::A1, [](Outputs& o) { o.row_counts->rows = -2; }, "negative rows");
  edits_of(spec::Rule::A1, [](Outputs& o) { o.row_counts->columns = -8; }, "negative columns");
  edits_of(spec::Rule::A2, [](Outputs& o) { o.totals = nullptr; }, "totals null");
  edits_of(spec::Rule::A2, [](Outputs& o) { o.totals = reinterpret_cast<int64_t*>(reinterpret_cast<uintptr_t>(o.totals) + 4); }, "totals at 4 modulo 8");
  edits_of(spec::Rule::A2, [](Outputs& o) { o.row_counts->data = nullptr; }, "row_counts null");
  edits_of(spec::Rule::A2, [](Outputs& o) { o.row_counts->data = reinterpret_cast<int32_t*>(reinterpret_cast<uintptr_t>(o.row_counts->data) + 2); }, "row_counts at 2 modulo 4");
  edits_of(spec::Rule::A3, [](Outputs& o) { o.row_counts->rows = 1; }, "too few rows");
  edits_of(spec::Rule::A3, [](Outputs& o) { o.row_counts->columns = 7; }, "too few columns");
  edits_of(spec::Rule::A3, [](Outputs& o) { o.row_counts->columns = 9; }, "too many columns");
  edits_of(spec::Rule::A4, [](Outputs& o) { o.row_counts->row_stride = 7; }, "rows that overlap");
  edits_of(spec::Rule::A4, [](Outputs& o) { o.row_counts->row_stride = (int64_t{1} << 60) + 1; }, "a stride beyond 2^60");
  expect_refusal(c, [](Outputs& o, spec::RemapProblem& p) { o.row_counts->data = const_cast<int32_t*>(p.block_table.data); }, spec::Rule::A15, "row_counts on the block table");
  expect_refusal(c, [](Outputs& o, spec::RemapProblem& p) {
    o.totals = reinterpret_cast<int64_t*>((reinterpret_cast<uintptr_t>(p.req_id.data) + 4) / 8 * 8);
  }, spec::Rule::A15, "totals on the requests");
  edits_of(spec::Rule::A15, [](Outputs& o) { o.totals = reinterpret_cast<int64_t*>((reinterpret_cast<uintptr_t>(o.row_counts->data) + 7) / 8 * 8); }, "totals on row_counts");
  RemapCase both = c;
  both.block_size = 0;
  expect_refusal(both, [](Outputs& o, spec::RemapProblem& p) { o.row_counts->data = const_cast<int32_t*>(p.block_table.data); }, spec::Rule::A5, "A5 before A15");
  expect_refusal(both, [](Outputs& o, spec::RemapProblem&) { o.row_counts->columns = 7; }, spec::Rule::A3, "A3 before A5");
}

// The public names are the spec's.
TEST(DiagnosisNames, AreTheSameInSpecAndKernels) {
  ASSERT_EQ(kNumReasons, spec::kNumReasons);
  for (int32_t c = 0; c < kNumReasons; ++c) EXPECT_EQ(name_of(NoneReason(c)), spec::name_of(spec::NoneReason(c)));
  EXPECT_STREQ(name_of(NoneReason(kNumReasons)), "unknown");
}

// How many of the cases until the first that shows a difference; 0 where none does.
int cases_until_found(const std::string& plugin, int num_cases) {
  const auto [backend, reason] = make_diagnosis_backend("plugin:" SLOTPROOF_FAULT_DIR "/diagnosis/" + plugin + ".so");
  if (!backend) throw std::runtime_error(reason);
  for (int i = 0; i < num_cases; ++i) {
    if (!drawn_disagreement(*backend, draw_remap(5, uint64_t(i), {}), i % 3, i % 2 == 0).empty()) return i + 1;
  }
  return 0;
}

TEST(DiagnosisFaults, AreFoundOnDrawnProblemsAndTheControlIsNot) {
  constexpr int kCases = 2000;
  EXPECT_EQ(cases_until_found("diagnosis_host", kCases), 0);
  const auto list = nlohmann::json::parse(std::ifstream(SLOTPROOF_SOURCE_DIR "/property_tests/faults/faults.json"));
  ASSERT_GE(list.at("diagnosis_faults").size(), 3u);
  for (const auto& planted : list["diagnosis_faults"]) {
    const std::string name = planted["name"];
    for (const std::string rule : planted["rules"]) EXPECT_TRUE(spec::rule_of(rule)) << name << ": " << rule;
    const int found = cases_until_found(name, kCases);
    EXPECT_NE(found, 0) << name;
    RecordProperty(name, found);
  }
}

}  // namespace
}  // namespace slotproof::harness
