// The judge: which runs it makes of a case, and what it says of a back end that is wrong in one way.

#include "property_tests/harness/judge.h"

#include "property_tests/backends.h"
#include "property_tests/harness/replay.h"
#include "reference/remap.h"
#include "spec/arguments.h"

namespace slotproof::harness {
namespace {

using spec::Invariant;
using spec::Rule;

RemapCase small_case() {
  RemapCase c;
  c.req_id = {0, 1};
  c.block_table = OwnedMatrix::of({{7, 3}, {2, 9}});
  c.token_indices = OwnedMatrix::of({{0, 5, -1, 2}, {4, 1, 8, 6}});
  c.block_size = 4;
  c.block_stride_rows = 6;
  c.schedule = {64, 5, 9};
  return c;
}
RemapCase compacted_case() {
  RemapCase c = small_case();
  c.placement = spec::Placement::kCompacted;
  c.dcp = {2, 0, 1};
  return c;
}

RunOutcome right(Frame& frame) {
  const auto refusal = reference::remap(frame.problem());
  return refusal ? RunOutcome{RunOutcome::Kind::kRefused, refusal->rule, refusal->message} : RunOutcome{};
}
RunOutcome fault() {
  return {RunOutcome::Kind::kFault, std::nullopt, "it crashed"};
}

std::vector<std::string> names_of(const Verdict& verdict) {
  std::vector<std::string> names;
  for (const Finding& finding : verdict.findings) names.emplace_back(finding.name());
  return names;
}
using Names = std::vector<std::string>;

// What each run was asked.
struct Asked {
  Schedule schedule;
  std::optional<int32_t> tile;
  int32_t first_word = 0;  // what the outputs held
};
std::vector<Asked> runs_of(const RemapCase& remap_case, uint64_t capabilities = SLOTPROOF_CAN_ALL) {
  std::vector<Asked> asked;
  MadeBackend backend(
      [&](Frame& frame, const Schedule& schedule) {
        const spec::RemapProblem problem = frame.problem();
        asked.push_back({schedule, problem.tile, problem.slots.data[0]});
        return right(frame);
      },
      capabilities);
  const Verdict verdict = judge(backend, remap_case);
  EXPECT_TRUE(verdict.is_compared);
  EXPECT_EQ(names_of(verdict), Names{});
  EXPECT_EQ(verdict.num_indices, int64_t(asked.size()) * remap_case.num_tokens() * remap_case.topk());
  return asked;
}

TEST(Judge, RunsACaseAgainWithWhatMustNotMatterChanged) {
  const std::vector<Asked> runs = runs_of(small_case());
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_EQ(runs[0].schedule, (Schedule{64, 5, 9}));
  EXPECT_EQ(runs[1].schedule.team_width, 64);
  EXPECT_NE(runs[1].schedule.thread_order_seed, 5u);
  EXPECT_NE(runs[1].schedule.cta_order_seed, 9u);
  EXPECT_NE(runs[1].first_word, runs[0].first_word) << "the same poison";
  EXPECT_NE(runs[2].schedule.team_width, 64);
  EXPECT_NE(runs[2].first_word, runs[0].first_word) << "the same poison";
  EXPECT_FALSE(runs[0].tile || runs[1].tile);
  EXPECT_TRUE(runs[2].tile);
  EXPECT_FALSE(runs_of(small_case(), SLOTPROOF_CAN_ALL & ~uint64_t{SLOTPROOF_CAN_EXPLICIT_TILE})[2].tile);
}

TEST(Judge, PutsEveryInvariantThatItExercisesDown) {
  MadeBackend backend([](Frame& frame, const Schedule&) { return right(frame); });
  const Verdict verdict = judge(backend, compacted_case());
  for (const Invariant i : {Invariant::kStableOrder, Invariant::kDeterminism, Invariant::kTilingInvariance})
    EXPECT_TRUE(verdict.is_exercised[size_t(i)]) << name_of(i);
  EXPECT_FALSE(verdict.is_exercised[size_t(Invariant::kWorkspaceMapping)]);
  EXPECT_TRUE(verdict.corners.test(size_t(Corner::kCompacted)));
}

// Right the first time, wrong where the outputs held something else, or where the tile or the team is another.
TEST(Judge, SeesWhatDependsOnWhatMustNotMatter) {
  std::optional<int32_t> first_word;
  MadeBackend by_poison([&](Frame& frame, const Schedule&) {
    const int32_t word = frame.problem().slots.data[0];
    const RunOutcome outcome = right(frame);
    if (word != first_word.value_or(word)) frame.problem().slots.data[1] = 0;
    first_word = word;
    return outcome;
  });
  EXPECT_EQ(names_of(judge(by_poison, small_case())), Names{"determinism"});
  MadeBackend by_order([](Frame& frame, const Schedule& schedule) {
    const RunOutcome outcome = right(frame);
    if (schedule.thread_order_seed != 5) frame.problem().slots.data[1] = 0;
    return outcome;
  });
  EXPECT_EQ(names_of(judge(by_order, small_case())), Names{"determinism"});
  MadeBackend by_width([](Frame& frame, const Schedule& schedule) {
    const RunOutcome outcome = right(frame);
    if (schedule.team_width != 64) frame.problem().valid_counts->data[1] = 0;
    return outcome;
  });
  EXPECT_EQ(names_of(judge(by_width, small_case())), Names{"tiling_invariance"});
}

TEST(Judge, SeesARunThatFailsWhicheverItIs) {
  for (int failing = 0; failing < 3; ++failing) {
    int num_runs = 0;
    MadeBackend backend([&](Frame& frame, const Schedule&) { return num_runs++ == failing ? fault() : right(frame); });
    const Verdict verdict = judge(backend, small_case());
    ASSERT_EQ(names_of(verdict), Names{"no_fault"}) << failing;
    EXPECT_TRUE(verdict.findings[0].fault.starts_with("it crashed")) << failing;
  }
}

TEST(Judge, HoldsRefusalsAgainstTheRules) {
  RemapCase broken = small_case();
  broken.block_stride_rows = 3;
  MadeBackend by_rights([](Frame& frame, const Schedule&) { return right(frame); });
  MadeBackend always([](Frame&, const Schedule&) { return RunOutcome{RunOutcome::Kind::kRefused, Rule::A5, ""}; });
  MadeBackend never([](Frame&, const Schedule&) { return RunOutcome{}; });
  const Verdict verdict = judge(by_rights, broken);
  EXPECT_EQ(names_of(verdict), Names{});
  EXPECT_TRUE(verdict.corners.test(size_t(Corner::kRefusedA6)));
  EXPECT_EQ(verdict.num_indices, 0);
  EXPECT_EQ(names_of(judge(always, broken)), Names{"argument_validation"});
  EXPECT_EQ(names_of(judge(never, broken)), Names{"argument_validation"});
  EXPECT_EQ(names_of(judge(always, small_case())), Names{"argument_validation"});
}

// A call that is changed behind its tensors' backs, right by the rules, and that nobody could run.
TEST(Judge, LeavesOutWhatReachesOutsideItsMemory) {
  RemapCase c = small_case();
  c.edits = {{ArgumentEdit::Kind::kRowStride, Tensor::kTokenIndices, 100000, {}}};
  int num_runs = 0;
  MadeBackend backend([&](Frame&, const Schedule&) { return ++num_runs, RunOutcome{}; });
  EXPECT_FALSE(judge(backend, c).is_compared);
  EXPECT_EQ(num_runs, 0);
}

AcceptedDivergences accepting(const std::vector<std::string>& ids) {
  AcceptedDivergences accepted;
  EXPECT_EQ(accepted.parse(ids), "");
  return accepted;
}

// Whether a back end that writes nothing at all is let off by this divergence.
bool is_let_off(const std::string& id, const RemapCase& c) {
  const AcceptedDivergences accepted = accepting({id});
  MadeBackend idle([](Frame&, const Schedule&) { return RunOutcome{}; });
  const Verdict verdict = judge(idle, c, {1, true, &accepted});
  EXPECT_EQ(verdict.is_accepted, !verdict.is_compared);
  return verdict.is_accepted;
}

TEST(Judge, LeavesOutTheDivergencesThatAreAccepted) {
  RemapCase compacted = small_case(), other_negative = small_case(), foreign_row = small_case(), no_block = small_case(), ranks = small_case(),
            counts = small_case(), prefill = small_case();
  compacted.placement = spec::Placement::kCompacted;
  other_negative.token_indices.at(0, 0) = -2;
  foreign_row.req_id = {0, 2};
  no_block.block_table.at(0, 0) = -1;
  ranks.dcp = {2, 0, 1};
  counts.req_id = {0, 1, 1};
  prefill.prefill = OwnedPrefill{{-1, 0}, {100}, {}};
  const std::pair<std::string, RemapCase> let_off[] = {{"D1", other_negative}, {"D2", prefill},  {"D3", compacted},   {"D5", ranks},
                                                       {"D6", counts},         {"D7", no_block}, {"D8", foreign_row}, {"D13", small_case()}};
  for (const auto& [id, c] : let_off) {
    EXPECT_TRUE(is_let_off(id, c)) << id;
    EXPECT_EQ(is_let_off(id, small_case()), id == "D13") << id;
  }
  RemapCase half = prefill;
  half.edits = {{ArgumentEdit::Kind::kDrop, Tensor::kWorkspaceStarts, 0, {}}};
  EXPECT_TRUE(is_let_off("D14", half));
  EXPECT_FALSE(is_let_off("D14", counts));
  RemapCase other_row_count = small_case();
  other_row_count.edits = {{ArgumentEdit::Kind::kRows, Tensor::kSlots, 1, {}}};
  EXPECT_FALSE(is_let_off("D6", other_row_count)) << "A3, but of other tensors";
  AcceptedDivergences accepted;
  EXPECT_NE(accepted.parse({"D4"}), "");
}

TEST(Judge, JudgesAsOrderUnspecifiedWhereThatIsAccepted) {
  MadeBackend backwards([](Frame& frame, const Schedule&) {
    const RunOutcome outcome = right(frame);
    const spec::RemapProblem p = frame.problem();
    for (int32_t t = 0; t < p.num_tokens(); ++t)
      std::reverse(p.slots.data + t * p.slots.row_stride, p.slots.data + t * p.slots.row_stride + p.valid_counts->data[t]);
    return outcome;
  });
  const AcceptedDivergences accepted = accepting({"D10"});
  EXPECT_EQ(names_of(judge(backwards, compacted_case())).front(), "stable_order");
  EXPECT_EQ(names_of(judge(backwards, compacted_case(), {1, true, &accepted})), Names{});
}

// A vector that expects the input order is replayed on a signature without a promised order: up to the order.
TEST(Judge, ReplaysUpToTheOrderWhereNoneIsPromised) {
  Case stable;
  stable.id = "stable";
  stable.problem = compacted_case();
  const auto backwards = [](Frame& frame, const Schedule&) {
    const RunOutcome outcome = right(frame);
    const spec::RemapProblem p = frame.problem();
    std::reverse(p.slots.data, p.slots.data + p.valid_counts->data[0]);
    return outcome;
  };
  MadeBackend promises(backwards), promises_none(backwards, SLOTPROOF_CAN_ALL & ~uint64_t{SLOTPROOF_CAN_PROMISE_ORDER});
  EXPECT_EQ(replay(promises, stable).result, Replayed::Result::kFails);
  EXPECT_EQ(replay(promises_none, stable).result, Replayed::Result::kHolds) << replay(promises_none, stable).why;
}

TEST(Judge, SaysWhatItFound) {
  EXPECT_EQ(describe({std::nullopt, "it crashed"}), "no_fault: it crashed");
  EXPECT_EQ(describe({spec::Violation{Invariant::kStableOrder, Rule::R12, "slots[0, 1]", "7", "8", 0, 1}, ""}),
            "stable_order (R12): slots[0, 1]: expected 7, got 8");
  EXPECT_EQ(describe({std::nullopt, "", LawBreach{spec::Law::kBlocks, "slots[0, 1]", "7", "8"}}), "law M3 (blocks): slots[0, 1]: expected 7, got 8");
}

}  // namespace
}  // namespace slotproof::harness
