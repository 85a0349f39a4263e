// The invariants themselves, on outputs made by hand: what each reports of a wrong one, by which rule and where, and that it is silent
// about a right one. The numbers are worked out by hand, not taken from the spec or the reference.

#include "spec/invariants.h"

#include "property_tests/harness/frame.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

namespace slotproof::harness {
namespace {

using spec::Invariant;
using spec::Repeat;
using spec::Rule;

struct Outputs {
  std::vector<std::vector<int32_t>> slots;
  std::vector<int32_t> counts;
};

// A run that left these outputs; what else happened is up to `also`.
struct HandRun {
  HandRun(const RemapCase& remap_case, const Outputs& outputs) : frame(remap_case, 1), problem(frame.problem()) {
    for (size_t t = 0; t < outputs.slots.size(); ++t) {
      for (size_t k = 0; k < outputs.slots[t].size(); ++k) slot(int64_t(t), int64_t(k)) = outputs.slots[t][k];
    }
    for (size_t t = 0; t < outputs.counts.size(); ++t) problem.valid_counts->data[t] = outputs.counts[t];
  }
  int32_t& slot(int64_t t, int64_t k) { return problem.slots.data[t * problem.slots.row_stride + k]; }
  int32_t& word(Tensor tensor, int64_t from_begin) { return frame.arena()[frame.region(tensor).tensor_begin + from_begin]; }

  // "stable_order R12 slots[0, 1]", sorted.
  std::multiset<std::string> reported() {
    spec::RemapOutcome outcome{refused, frame.memory(), repeats};
    std::multiset<std::string> found;
    for (const spec::Violation& v : spec::check_all(problem, outcome).violations) {
      const auto rules = spec::invariants()[size_t(v.invariant)].rules;
      EXPECT_NE(std::find(rules.begin(), rules.end(), v.rule), rules.end()) << name_of(v.invariant) << " does not say that it cites " << id_of(v.rule);
      found.insert(std::string(name_of(v.invariant)) + " " + std::string(id_of(v.rule)) + " " + v.place);
    }
    return found;
  }

  Frame frame;
  spec::RemapProblem problem;
  std::optional<Rule> refused;
  std::vector<Repeat> repeats;
};

using Reports = std::multiset<std::string>;

Reports reported_of(const RemapCase& remap_case, const Outputs& outputs, const std::function<void(HandRun&)>& also = [](HandRun&) {}) {
  HandRun run(remap_case, outputs);
  also(run);
  return run.reported();
}

// Two requests of two blocks of four tokens, six rows apart: request 0 has blocks 7 and 3, request 1 has 2 and 9.
RemapCase plain() {
  RemapCase c;
  c.req_id = {0, 1};
  c.block_table = OwnedMatrix::of({{7, 3}, {2, 9}});
  c.token_indices = OwnedMatrix::of({{0, 5, -1}, {4, 1, 8}});
  c.block_size = 4;
  c.block_stride_rows = 6;
  return c;
}
const Outputs kPlain{{{42, 19, -1}, {54, 13, -1}}, {2, 2}};

RemapCase one_row(std::vector<int32_t> positions, spec::Placement placement = spec::Placement::kInPlace) {
  RemapCase c = plain();
  c.req_id = {0};
  c.token_indices = OwnedMatrix::of({std::move(positions)});
  c.placement = placement;
  return c;
}
RemapCase compacted(std::vector<int32_t> positions, spec::Order order = spec::Order::kStable) {
  RemapCase c = one_row(std::move(positions), spec::Placement::kCompacted);
  c.order = order;
  return c;
}
// Rank 0 of two in groups of two has positions 0, 1, 4, 5, ...
RemapCase ranks(std::vector<int32_t> positions) {
  RemapCase c = one_row(std::move(positions));
  c.dcp = {2, 0, 2};
  return c;
}
// Row 0 is a decode row, row 1 a prefill row whose workspace begins at 100 and ends at 104.
RemapCase workspace() {
  RemapCase c = plain();
  c.token_indices = OwnedMatrix::of({{0, 5}, {3, 9}});
  c.prefill = OwnedPrefill{{-1, 0}, {100}, 105};
  return c;
}
const Outputs kWorkspace{{{42, 19}, {103, -1}}, {2, 1}};

Outputs with(Outputs outputs, size_t t, size_t k, int32_t slot) {
  outputs.slots[t][k] = slot;
  return outputs;
}

TEST(Invariants, AreSilentAboutRightOutputs) {
  EXPECT_EQ(reported_of(plain(), kPlain), Reports{});
  EXPECT_EQ(reported_of(workspace(), kWorkspace), Reports{});
  EXPECT_EQ(reported_of(one_row({0, 0, 5}), {{{42, 42, 19}}, {3}}), Reports{});  // duplicates in, duplicates out
  EXPECT_EQ(reported_of(ranks({0, 1, 2, 4}), {{{42, 43, -1, 44}}, {3}}), Reports{});
  EXPECT_EQ(reported_of(compacted({-1, 0, 5, 0}), {{{42, 19, 42, -1}}, {3}}), Reports{});
  EXPECT_EQ(reported_of(compacted({-1, 0, 5, 0}, spec::Order::kUnspecified), {{{42, 42, 19, -1}}, {3}}), Reports{});
}

TEST(Invariants, SeePaddingThatBecameASlot) {
  EXPECT_EQ(reported_of(plain(), with(kPlain, 0, 2, 42)), (Reports{"minus_one_propagation R1 slots[0, 2]"}));
  EXPECT_EQ(reported_of(compacted({-1, 0}), {{{42, 43}}, {1}}), (Reports{"tail_is_none R12 slots[0, 1]"}));
}

TEST(Invariants, SeeWhatLiesOutsideABound) {
  EXPECT_EQ(reported_of(plain(), with(kPlain, 1, 2, 60)), (Reports{"bounds_safety R6 slots[1, 2]"}));
  EXPECT_EQ(reported_of(workspace(), with(kWorkspace, 1, 1, 109)), (Reports{"bounds_safety R2 slots[1, 1]"}));
  RemapCase c = one_row({0, 5});
  c.block_table = OwnedMatrix::of({{-1, 357913942}});  // 357913942 * 6 is 2^31 + 4
  EXPECT_EQ(reported_of(c, {{{-1, -1}}, {0}}), Reports{});
  EXPECT_EQ(reported_of(c, {{{-6, 5}}, {0}}), (Reports{"bounds_safety R7 slots[0, 0]", "bounds_safety R9 slots[0, 1]"}));
  c = one_row({0, -1});
  c.req_id = {2};
  EXPECT_EQ(reported_of(c, {{{42, -1}}, {0}}), (Reports{"bounds_safety R5 slots[0, 0]"}));
}

// A surplus in a compacted row is laid to a rule only where that is certain: where every none of the row has the same one.
TEST(Invariants, NameNoRuleForASurplusThatSeveralCouldExplain) {
  const auto bounds_in = [](std::vector<int32_t> positions) {
    RemapCase c = compacted(std::move(positions));
    c.block_table = OwnedMatrix::of({{-1, 3}});
    Reports found;
    for (const std::string& report : reported_of(c, {{{7, 19, -1}}, {1}})) {
      if (report.starts_with("bounds_safety")) found.insert(found.end(), report);
    }
    return found;
  };
  EXPECT_EQ(bounds_in({0, 1, 5}), (Reports{"bounds_safety R7 slots[0, 1]"}));
  EXPECT_EQ(bounds_in({99, 98, 5}), (Reports{"bounds_safety R6 slots[0, 1]"}));
  EXPECT_EQ(bounds_in({99, 0, 5}), Reports{}) << "R6 or R7";
  EXPECT_EQ(bounds_in({-1, 0, 5}), Reports{}) << "R1 or R7";
}

TEST(Invariants, SeeCountsThatAreOneOff) {
  EXPECT_EQ(reported_of(plain(), {kPlain.slots, {1, 2}}), (Reports{"valid_count_exactness R11 valid_counts[0]"}));
  EXPECT_EQ(reported_of(plain(), {kPlain.slots, {2, 3}}), (Reports{"valid_count_exactness R11 valid_counts[1]"}));
  RemapCase empty = plain();
  empty.token_indices = OwnedMatrix::of({{}, {}}, 0);
  EXPECT_EQ(reported_of(empty, {{}, {0, 0}}), Reports{});
  EXPECT_EQ(reported_of(empty, {{}, {0, 1}}), (Reports{"valid_count_exactness R15 valid_counts[1]"}));
}

TEST(Invariants, SeeAPrefixOfOtherSlots) {
  const RemapCase c = compacted({-1, 0, 0, 5});
  EXPECT_EQ(reported_of(c, {{{42, 42, 20, -1}}, {3}}), (Reports{"compacted_prefix_set R12 slots[0, 2]", "writer_reader_agreement R8 slots[0, 2]"}));
  EXPECT_EQ(reported_of(c, {{{42, 19, 19, -1}}, {3}}), (Reports{"compacted_prefix_set R12 slots[0, 1]"})) << "each as often as it was selected";
  EXPECT_EQ(reported_of(compacted({-1, 0, 0, 5}, spec::Order::kUnspecified), {{{19, 42, 19, -1}}, {3}}), (Reports{"compacted_prefix_set R12u slots[0, 0]"}));
  EXPECT_EQ(reported_of(c, {{{42, -1, 42, 19}}, {3}}),
            (Reports{"compacted_prefix_set R12 slots[0, 1]", "tail_is_none R12 slots[0, 3]", "writer_reader_agreement R8 slots[0, 1]"}));
}

TEST(Invariants, SeeAPrefixOutOfOrder) {
  EXPECT_EQ(reported_of(compacted({-1, 0, 5, 1}), {{{42, 43, 19, -1}}, {3}}), (Reports{"stable_order R12 slots[0, 1]"}));
}

TEST(Invariants, SeeATailThatHoldsSomething) {
  EXPECT_EQ(reported_of(compacted({0, -1, -1}), {{{42, 7, -1}}, {1}}), (Reports{"tail_is_none R12 slots[0, 1]"}));
  EXPECT_EQ(reported_of(compacted({0, -1, -1}), {{{42, -1, 7}}, {1}}), (Reports{"tail_is_none R12 slots[0, 2]"}));
  EXPECT_EQ(reported_of(compacted({0, -1, -1}, spec::Order::kUnspecified), {{{42, -2, -1}}, {1}}), (Reports{"tail_is_none R12u slots[0, 1]"}));
}

TEST(Invariants, SeeForeignPositionsKeptAndOwnOnesLost) {
  EXPECT_EQ(reported_of(ranks({0, 2, 4}), {{{42, 30, 44}}, {2}}), (Reports{"dcp_ownership R3 slots[0, 1]"}));
  EXPECT_EQ(reported_of(ranks({0, 2, 4}), {{{42, -1, -1}}, {2}}), (Reports{"dcp_ownership R3 slots[0, 2]", "writer_reader_agreement P4 slots[0, 2]"}));
}

TEST(Invariants, SeeAGroupThatIsTornApart) {
  EXPECT_EQ(reported_of(ranks({0, 1, 4}), {{{42, 45, 44}}, {3}}), (Reports{"interleave_alignment P3 slots[0, 1]", "writer_reader_agreement P4 slots[0, 1]"}));
  EXPECT_EQ(reported_of(ranks({5, 4}), {{{44, 45}}, {2}}),
            (Reports{"interleave_alignment P3 slots[0, 0]", "writer_reader_agreement P4 slots[0, 0]", "writer_reader_agreement P4 slots[0, 1]"}));
}

TEST(Invariants, SeeTwoPositionsInOneSlot) {
  EXPECT_EQ(reported_of(plain(), with(kPlain, 1, 1, 42)), (Reports{"strided_view_no_overlap V4 slots[1, 1]", "writer_reader_agreement R8 slots[1, 1]"}));
}

TEST(Invariants, SeeSlotsBetweenBlocks) {
  for (const int32_t gap_row : {46, 47}) {  // blocks have rows 42 to 45, and the next begins at 48
    EXPECT_EQ(reported_of(plain(), with(kPlain, 0, 0, gap_row)), (Reports{"gap_rows_untouched V5 slots[0, 0]", "writer_reader_agreement R8 slots[0, 0]"}));
  }
  EXPECT_EQ(reported_of(plain(), with(kPlain, 0, 0, 45)), (Reports{"writer_reader_agreement R8 slots[0, 0]"}));
}

TEST(Invariants, SeeAnotherSlotThanTheWriters) {
  EXPECT_EQ(reported_of(plain(), with(kPlain, 1, 0, 55)), (Reports{"writer_reader_agreement R8 slots[1, 0]"}));
  EXPECT_EQ(reported_of(ranks({0, 4}), {{{42, 45}}, {2}}), (Reports{"writer_reader_agreement P4 slots[0, 1]"}));
}

TEST(Invariants, SeeAnotherRowThanTheWorkspaces) {
  EXPECT_EQ(reported_of(workspace(), with(kWorkspace, 1, 0, 203)), (Reports{"workspace_mapping R2 slots[1, 0]"}));
}

TEST(Invariants, SeeStrayWrites) {
  RemapCase strided = plain();
  strided.layout.slots_storage_columns = 5;
  const auto changed = [&](Tensor tensor, int64_t from_begin) {
    return reported_of(strided, kPlain, [&](HandRun& run) { run.word(tensor, from_begin) ^= 1; });
  };
  EXPECT_EQ(reported_of(strided, kPlain), Reports{});
  // Rows are three columns in a storage of five.
  const Reports behind_row = changed(Tensor::kSlots, 3), before_row = changed(Tensor::kSlots, 4), behind_last_row = changed(Tensor::kSlots, 8);
  const Reports before_all = changed(Tensor::kSlots, -1), behind_counts = changed(Tensor::kValidCounts, 2), before_input = changed(Tensor::kTokenIndices, -1);
  for (const Reports& reports : {behind_row, before_row, behind_last_row, before_all, behind_counts, before_input}) {
    ASSERT_EQ(reports.size(), 1u);
    EXPECT_TRUE(reports.begin()->starts_with("frame R13 ")) << *reports.begin();
  }
  EXPECT_TRUE(before_input.begin()->starts_with("frame R13 token_indices memory, word "));
  const Reports in_input = changed(Tensor::kReqId, 0);
  EXPECT_TRUE(std::any_of(in_input.begin(), in_input.end(), [](const std::string& report) { return report.starts_with("frame R13 req_id memory, word "); }));
}

TEST(Invariants, SeeWhatWasNotWritten) {
  const Reports reports = reported_of(plain(), kPlain, [](HandRun& run) {
    Frame untouched(plain(), 1);
    run.slot(0, 2) = untouched.problem().slots.data[2];
  });
  EXPECT_EQ(reports, (Reports{"frame R10 slots[0, 2]", "minus_one_propagation R1 slots[0, 2]"}));
}

Repeat repeat_of(Repeat::Changed changed, const Outputs& outputs) {
  Repeat repeat{changed, "other things", std::nullopt, {}, {}};
  repeat.slots = spec::IndexMatrix(outputs.slots.size(), outputs.slots[0].size());
  for (size_t t = 0; t < outputs.slots.size(); ++t) {
    for (size_t k = 0; k < outputs.slots[t].size(); ++k) repeat.slots(int64_t(t), int64_t(k)) = outputs.slots[t][k];
  }
  repeat.valid_counts = spec::IndexVector::Map(outputs.counts.data(), std::ssize(outputs.counts));
  return repeat;
}

TEST(Invariants, SeeRunsThatDiffer) {
  const std::pair<Repeat::Changed, std::string> kinds[] = {{Repeat::Changed::kScheduleOrPoison, "determinism R14 "},
                                                           {Repeat::Changed::kTiling, "tiling_invariance R14 "}};
  for (const auto& [changed, name] : kinds) {
    const auto reported = [&, kind = changed](const RemapCase& c, const Outputs& first, const Outputs& second) {
      return reported_of(c, first, [&](HandRun& run) { run.repeats.push_back(repeat_of(kind, second)); });
    };
    EXPECT_EQ(reported(plain(), kPlain, kPlain), Reports{});
    EXPECT_EQ(reported(plain(), kPlain, with(kPlain, 1, 1, 14)), (Reports{name + "slots[1, 1]"}));
    EXPECT_EQ(reported(plain(), kPlain, {kPlain.slots, {2, 1}}), (Reports{name + "valid_counts[1]"}));
    const Outputs one{{{42, 19, -1}}, {2}}, other{{{19, 42, -1}}, {2}};
    EXPECT_EQ(reported(compacted({0, 5, -1}), one, other), (Reports{name + "slots[0, 0]"}));
    EXPECT_EQ(reported(compacted({0, 5, -1}, spec::Order::kUnspecified), one, other), Reports{});
    const Reports refused =
        reported_of(plain(), kPlain, [&, kind = changed](HandRun& run) { run.repeats.push_back({kind, "other things", Rule::A14, {}, {}}); });
    EXPECT_EQ(refused, (Reports{name + "the call with other things"}));
  }
}

TEST(Invariants, SeeRefusalsThatAreWrong) {
  const auto refused_by = [](std::optional<Rule> rule) { return [rule](HandRun& run) { run.refused = rule; }; };
  RemapCase broken = plain();
  broken.block_stride_rows = 3;
  EXPECT_EQ(reported_of(broken, {}, refused_by(Rule::A6)), Reports{});
  EXPECT_EQ(reported_of(broken, {}, refused_by(Rule::A5)), (Reports{"argument_validation A6 the call"}));
  EXPECT_EQ(reported_of(broken, {}, refused_by(std::nullopt)), (Reports{"argument_validation A6 the call"}));
  EXPECT_EQ(reported_of(plain(), {}, refused_by(Rule::A6)), (Reports{"argument_validation A6 the call"}));
  const Reports written = reported_of(broken, {}, [](HandRun& run) {
    run.refused = Rule::A6;
    run.slot(0, 0) ^= 1;
  });
  ASSERT_EQ(written.size(), 1u);
  EXPECT_TRUE(written.begin()->starts_with("argument_validation A6 slots memory, word "));
}

TEST(Invariants, ReportNoMoreThanAPersonWouldRead) {
  std::vector<int32_t> positions(12, -1), wrong(12, 42);
  EXPECT_EQ(reported_of(one_row(positions), {{wrong}, {0}}).size(), spec::kMaxViolations);
}

}  // namespace
}  // namespace slotproof::harness
