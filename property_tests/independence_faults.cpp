// What answers depend on is seen and named: by small wrong back ends, one for each change, and by the planted faults that show so.

#include "property_tests/backends.h"
#include "property_tests/body_cases.h"
#include "property_tests/call_cases.h"
#include "property_tests/harness/independence.h"
#include "property_tests/places.h"

#include <gtest/gtest.h>

#include <bit>
#include <functional>
#include <numeric>
#include <set>

namespace slotproof::harness {
namespace {

using Changes = std::set<Change>;
constexpr Change kNothing = Change(kNumChanges);  // called again

// By these, too, a call finds other words where its outputs are to be, or has other columns that it leaves as they were.
const Changes kOfOldWords = {Change::kPoison,    Change::kRowsRemoved, Change::kRowsReplaced, Change::kRowsAdded,   Change::kRowStrides,
                             Change::kAlignment, Change::kTile,        Change::kTeamWidth,    Change::kPlannedRows, Change::kSameMemory};

// Draws until `wanted` is what one is boiled down to. Until then others are boiled down to the changes that are allowed, or to several
// that show it together alone. Returns the number of draws, 0 where it is never named.
using Dependence = std::function<std::string(const RemapCase&, const Variation&)>;
int draws_until_named(const Dependence& dependence, Change wanted, const Changes& allowed, int num_draws) {
  for (int i = 0; i < num_draws; ++i) {
    const RemapCase c = draw_of_every_body(uint64_t(i));
    const Variation variation = draw_variation(uint64_t(i));
    if (dependence(c, variation).empty()) continue;
    const Variation least = smallest(variation, [&](const Variation& v) { return !dependence(c, v).empty(); });
    if (std::popcount(least.changes) > 1) continue;
    const auto change = Change(std::min(std::countr_zero(least.changes), kNumChanges));
    EXPECT_TRUE(change == wanted || allowed.contains(change)) << dependence(c, least);
    if (change == wanted) return i + 1;
  }
  return 0;
}

// What a small wrong back end knows of a call.
struct Call {
  Frame& frame;
  spec::RemapProblem problem;
  const Schedule& schedule;
  int num_before;                // calls since the property began
  int32_t topk_before;           // of the call before; of the first, its own
  const int32_t* memory_before;  // where the call before had its tensors
};
using IsWrong = bool (*)(const Call&);

// The reference, with another slot in the first column of every row where `is_wrong` says so.
std::string dependence_on(IsWrong is_wrong, const RemapCase& c, const Variation& variation, bool is_wrong_elsewhere = false) {
  const auto reference = make_reference_backend();
  int num_before = 0;
  int32_t topk_before = c.topk();
  const int32_t* memory_before = nullptr;
  const auto run = [&](Frame& frame, const Schedule& schedule, bool is_always_wrong) {
    const spec::RemapProblem problem = frame.problem();
    const bool is_hit = is_always_wrong || is_wrong({frame, problem, schedule, num_before, topk_before, memory_before});
    ++num_before;
    topk_before = problem.topk();
    memory_before = frame.arena();
    RunOutcome outcome = reference.backend->run(frame, schedule);
    if (!is_hit || outcome.kind != RunOutcome::Kind::kDone || problem.topk() == 0) return outcome;
    for (int32_t t = 0; t < problem.num_tokens(); ++t) problem.slots.data[t * problem.slots.row_stride] ^= 1 << 20;
    return outcome;
  };
  MadeBackend made([&](Frame& frame, const Schedule& schedule) { return run(frame, schedule, false); });
  MadeBackend elsewhere([&](Frame& frame, const Schedule& schedule) { return run(frame, schedule, is_wrong_elsewhere); });
  return dependence(made, &elsewhere, c, variation);
}

struct Planted {
  const char* name;
  Change change;
  Changes others;  // by which it may show as well
  IsWrong is_wrong;
};
void PrintTo(const Planted& planted, std::ostream* os) {
  *os << planted.name;
}

constexpr Change kRemoved = Change::kRowsRemoved, kReplaced = Change::kRowsReplaced, kAdded = Change::kRowsAdded;
bool has_elements(const Call& call) {
  return call.problem.num_tokens() > 0 && call.problem.topk() > 0;
}

const Planted kPlanted[] = {
    {"FewRows", kRemoved, {kAdded}, [](const Call& call) { return call.problem.num_tokens() == 1; }},
    {"ManyRows", kAdded, {}, [](const Call& call) { return call.problem.num_tokens() > 5; }},
    {"RequestsOfOtherRows",
     kReplaced,
     {kRemoved, kAdded},
     [](const Call& call) {
       const spec::InputVector& ids = call.problem.req_id;
       return std::accumulate(ids.data, ids.data + ids.size, uint32_t{0}) % 2 == 1;
     }},
    {"OutputStride", Change::kRowStrides, {}, [](const Call& call) { return call.problem.slots.row_stride > call.problem.topk() + 5; }},
    {"WordBetweenRows",
     Change::kBetweenRows,
     {kRemoved, kReplaced, kAdded, Change::kRowStrides},
     [](const Call& call) {
       const spec::InputMatrix& indices = call.problem.token_indices;
       return has_elements(call) && indices.rows > 1 && indices.row_stride > indices.columns && indices.data[indices.columns] % 2 == 0;
     }},
    {"Alignment", Change::kAlignment, {}, [](const Call& call) { return reinterpret_cast<uintptr_t>(call.problem.token_indices.data) % 16 == 12; }},
    {"GuardWord", Change::kPoison, {}, [](const Call& call) { return call.frame.arena()[0] % 2 == 0; }},
    {"OldOutput", Change::kPoison, kOfOldWords, [](const Call& call) { return has_elements(call) && call.problem.slots.data[0] % 2 == 0; }},
    {"Tile", Change::kTile, {}, [](const Call& call) { return call.problem.tile && *call.problem.tile < call.problem.topk(); }},
    {"TeamWidth", Change::kTeamWidth, {}, [](const Call& call) { return call.schedule.team_width == 256; }},
    {"ThreadOrder", Change::kThreadOrder, {}, [](const Call& call) { return call.schedule.thread_order_seed % 2 == 1; }},
    {"CtaOrder", Change::kCtaOrder, {}, [](const Call& call) { return call.schedule.cta_order_seed % 2 == 1; }},
    {"PlannedRows", Change::kPlannedRows, {}, [](const Call& call) { return call.schedule.planned_rows == 8192; }},
    {"CallBefore", Change::kOtherCalls, {}, [](const Call& call) { return call.problem.topk() != call.topk_before; }},
    {"MemoryOfTheCallBefore", Change::kSameMemory, {}, [](const Call& call) { return call.frame.arena() == call.memory_before; }},
    {"NumberOfCalls", kNothing, {}, [](const Call& call) { return call.num_before > 0; }},
};

class IndependencePlanted : public testing::TestWithParam<Planted> {};

TEST_P(IndependencePlanted, IsSeenAndNamed) {
  const Planted& planted = GetParam();
  const Dependence dependence = [&](const RemapCase& c, const Variation& v) { return dependence_on(planted.is_wrong, c, v); };
  const int num_draws = draws_until_named(dependence, planted.change, planted.others, 300);
  EXPECT_GT(num_draws, 0);
  RecordProperty("draws", num_draws);
}
INSTANTIATE_TEST_SUITE_P(Independence, IndependencePlanted, testing::ValuesIn(kPlanted), [](const auto& tested) { return std::string(tested.param.name); });

TEST(Independence, AnotherBackEndThatAnswersOtherwiseIsNamed) {
  const Dependence dependence = [](const RemapCase& c, const Variation& v) { return dependence_on([](const Call&) { return false; }, c, v, true); };
  EXPECT_GT(draws_until_named(dependence, Change::kBackEnd, {}, 300), 0);
}

TEST(Independence, TheReportSaysWhatWasVariedThePlaceAndBothValues) {
  RemapCase c = small_case();
  const Variation variation = Variation{3, 0}.with(Change::kPlannedRows).with(kAdded);
  const std::string found = dependence_on([](const Call& call) { return call.problem.num_tokens() > 2; }, c, variation);
  EXPECT_TRUE(found.starts_with("slots[0, 0]")) << found;
  for (const char* part : {" 12 before, 1048588 with ", " rows added", "planned for "}) EXPECT_NE(found.find(part), std::string::npos) << found;
}

// Under R12u a prefix may come in another order, and its tail and its set may not change.
TEST(Independence, UnderUnspecifiedOrderThePrefixAloneMayMove) {
  RemapCase c = small_case();
  c.placement = spec::Placement::kCompacted;
  const auto with_change = [](int32_t column, int32_t word) {
    return MadeBackend([num_calls = 0, column, word](Frame& frame, const Schedule& schedule) mutable {
      const RunOutcome outcome = make_reference_backend().backend->run(frame, schedule);
      int32_t* row = frame.problem().slots.data + frame.problem().slots.row_stride;  // of four slots
      if (num_calls++ > 0) column < 0 ? std::swap(row[1], row[2]) : void(row[column] = word);
      return outcome;
    });
  };
  for (const spec::Order order : {spec::Order::kStable, spec::Order::kUnspecified}) {
    c.order = order;
    MadeBackend moved = with_change(-1, 0), other_set = with_change(1, 1000), other_tail = with_change(4, 1000);
    EXPECT_EQ(dependence(moved, nullptr, c, {}).empty(), order == spec::Order::kUnspecified);
    EXPECT_NE(dependence(other_set, nullptr, c, {}), "");
    EXPECT_NE(dependence(other_tail, nullptr, c, {}), "");
  }
}

// ---- Planted faults of the kernels, compared with themselves alone.

TEST(Independence, PlantedFaultsThatShowSoAreSeenAndTheControlIsNot) {
  // By the change that is to be named; kNothing where the checked memory sees the fault in a call as drawn.
  const std::pair<const char*, Change> kFaults[] = {
      {"tiles-compacted-apart", Change::kTile},  {"last-tile-dropped", Change::kTile},
      {"tail-unwritten", Change::kPoison},       {"full-rows-without-tail", Change::kPoison},
      {"stride-of-eight-bits", kNothing},        {"missing-barrier", kNothing},
      {"shared-row-first-part-alone", kNothing}, {"two-writers", kNothing},
  };
  Changes allowed = kOfOldWords;
  allowed.insert(kNothing);
  const auto plugin = [](const std::string& name) { return make_plugin_backend(fault_dir() / (name + ".so")); };
  for (const auto& [name, change] : kFaults) {
    const auto [backend, reason] = plugin(name);
    ASSERT_NE(backend, nullptr) << reason;
    const Dependence dependence_of = [&made = *backend](const RemapCase& c, const Variation& v) { return dependence(made, nullptr, c, v); };
    const int num_draws = draws_until_named(dependence_of, change, allowed, 300);
    EXPECT_GT(num_draws, 0) << name;
    RecordProperty(name, num_draws);
  }
  const auto [control, reason] = plugin("slotproof_host");
  ASSERT_NE(control, nullptr) << reason;
  for (uint64_t i = 0; i < 300; ++i) ASSERT_EQ(dependence(*control, nullptr, draw_of_every_body(i), draw_variation(i)), "") << i;
}

TEST(Independence, PlantedFaultsOfTheDiagnosisThatShowSoAreSeenAndTheControlIsNot) {
  const auto plugin = [](const std::string& name) { return make_diagnosis_backend("plugin:" + (fault_dir() / "diagnosis" / (name + ".so")).string()); };
  const std::pair<const char*, Change> kFaults[] = {
      {"diagnosis-last-pass-alone", Change::kTeamWidth},
      {"diagnosis-totals-stored", kNothing},
      {"diagnosis-plain-add", kNothing},
      {"diagnosis-missing-barrier", kNothing},
  };
  for (const auto& [name, change] : kFaults) {
    const auto [backend, reason] = plugin(name);
    ASSERT_NE(backend, nullptr) << reason;
    const Dependence dependence_of = [&made = *backend](const RemapCase& c, const Variation& v) { return dependence(made, nullptr, c, v); };
    const int num_draws = draws_until_named(dependence_of, change, {kNothing}, 300);
    EXPECT_GT(num_draws, 0) << name;
    RecordProperty(name, num_draws);
  }
  const auto [control, reason] = plugin("diagnosis_host");
  ASSERT_NE(control, nullptr) << reason;
  for (uint64_t i = 0; i < 300; ++i) ASSERT_EQ(dependence(*control, nullptr, draw_of_every_body(i), draw_variation(i)), "") << i;
}

}  // namespace
}  // namespace slotproof::harness
