// The body on the host without checks: word for word what the checked one and the reference leave behind, whatever its team and
// however many threads share the rows.

#include "kernels/compaction.h"
#include "kernels/team/fast_host_team.h"
#include "property_tests/call_cases.h"
#include "property_tests/generators.h"
#include "property_tests/harness/kernel_arguments.h"
#include "property_tests/places.h"

#include <rapidcheck/gtest.h>

#include <cstring>

namespace slotproof::harness {
namespace {

std::string disagreement_of(Frame& got, const RunOutcome& outcome, Frame& expected, const RunOutcome& right) {
  if (outcome.kind != right.kind || outcome.refused != right.refused) return "outcome: " + outcome.message + " / " + right.message;
  if (std::memcmp(got.arena(), expected.arena(), size_t(got.num_words()) * sizeof(int32_t)) != 0) return "words of the arena";
  return {};
}

// What differs from the reference, or from the checked body, guard words and gaps included; nothing where all is equal.
std::string disagreement_of(const RemapCase& value, const FastHostOptions& options) {
  Frame expected(value, 17), checked(value, 17), fast(value, 17);
  const RunOutcome right = make_reference_backend().backend->run(expected, {});
  const RunOutcome by_checked = make_host_backend().backend->run(checked, value.schedule);
  const RunOutcome by_fast = outcome_of(remap_on_host_fast(remap_args_of(fast.problem()), options));
  const std::string of_fast = disagreement_of(fast, by_fast, expected, right);
  return of_fast.empty() ? disagreement_of(fast, by_fast, checked, by_checked) : of_fast;
}

RC_GTEST_PROP(FastHost, LeavesTheSameWordsOnDrawnProblems, ()) {
  const RemapCase value = *remap_cases();
  RC_PRE(Frame(value, 0).holds_every_element());
  const FastHostOptions options{*rc::gen::element(0, 32, 64, 128, 256), *rc::gen::inRange(0, 5)};
  RC_ASSERT(disagreement_of(value, options) == "");
}

TEST(FastHost, LeavesTheSameWordsOnEveryVector) {
  int num_run = 0;
  for (const auto& entry : std::filesystem::directory_iterator(source_dir() / "property_tests" / "vectors")) {
    if (entry.path().extension() != ".json") continue;
    for (const Case& value : read_cases(entry.path()).cases) {
      const auto* remap_case = std::get_if<RemapCase>(&value.problem);
      if (remap_case == nullptr) continue;
      ++num_run;
      EXPECT_EQ(disagreement_of(*remap_case, {}), "") << value.id;
      EXPECT_EQ(disagreement_of(*remap_case, {.num_threads = 2}), "") << value.id;
    }
  }
  EXPECT_GT(num_run, 100);
}

TEST(FastHost, LeavesTheSameWordsForEveryTeamAndNumberOfThreads) {
  for (const RemapCase& value : cases()) {
    for (const int32_t width : {0, 32, 64, 128, 256}) {
      for (const int32_t num_threads : {0, 1, 2, 3, 64}) EXPECT_EQ(disagreement_of(value, {width, num_threads}), "") << width << " " << num_threads;
    }
  }
}

// Every body, at every alignment, with one pass and several.
TEST(FastHost, LeavesTheSameWordsOnEveryPath) {
  for (int i = 0; i < kNumKernelPaths; ++i) {
    const KernelPath path = kernel_path_of(i);
    const RemapCase value = case_of(path);
    EXPECT_EQ(disagreement_of(value, {.team_width = kRowKernels[size_t(path.kernel)].team.width}), "") << name_of(path);
    EXPECT_EQ(disagreement_of(value, {}), "") << name_of(path);
  }
}

// So many rows that threads take turns; rows of the output lie apart.
RemapCase large_case(int32_t num_tokens, int32_t topk) {
  RemapCase value;
  constexpr int32_t kRequests = 37, kColumns = 300;
  value.block_table = OwnedMatrix::filled(kRequests, kColumns, 0, kColumns + 4);
  for (size_t i = 0; i < value.block_table.storage.size(); ++i) value.block_table.storage[i] = int32_t(i * 7919 % 100003) - 500;
  value.token_indices = OwnedMatrix::filled(num_tokens, topk, 0, topk + 5);
  value.block_stride_rows = value.block_size = 64;
  const int32_t context = 4 * kColumns * value.block_size;
  for (size_t i = 0; i < value.token_indices.storage.size(); ++i) {
    value.token_indices.storage[i] = i % 29 == 0 ? -1 : int32_t(int64_t(i) * 104729 % context);
  }
  for (int32_t t = 0; t < num_tokens; ++t) value.req_id.push_back(t * 11 % (kRequests + 1));
  value.layout.slots_storage_columns = topk + 3;
  return value;
}

TEST(FastHost, LeavesTheSameWordsOnLargeProblems) {
  using Ranks = spec::RankOwnership;
  for (const auto& [num_tokens, topk] : {std::pair{200, 512}, {70, 2048}, {21, 4099}, {5000, 9}}) {
    RemapCase value = large_case(num_tokens, topk);
    for (const auto& [placement, dcp] :
         {std::pair{spec::Placement::kInPlace, Ranks{}}, {spec::Placement::kCompacted, Ranks{4, 3, 8}}, {spec::Placement::kCompacted, Ranks{3, 1, 1}}}) {
      value.placement = placement;
      value.dcp = dcp;
      Frame expected(value, 5);
      const RunOutcome right = make_reference_backend().backend->run(expected, {});
      ASSERT_EQ(right.kind, RunOutcome::Kind::kDone) << right.message;
      for (const int32_t num_threads : {0, 1, 5}) {
        Frame fast(value, 5);
        const RunOutcome outcome = outcome_of(remap_on_host_fast(remap_args_of(fast.problem()), {.num_threads = num_threads}));
        EXPECT_EQ(disagreement_of(fast, outcome, expected, right), "") << num_tokens << " x " << topk << ", " << num_threads << " threads";
      }
    }
  }
}

TEST(FastHost, RefusesWhatItDoesNotKnowAndWritesNothing) {
  const auto expect_refusal = [](const FastHostOptions& options, const char* words) {
    Frame frame(small_case(), 1), untouched(small_case(), 1);
    const Status status = remap_on_host_fast(remap_args_of(frame.problem()), options);
    EXPECT_EQ(status.code(), StatusCode::kNotSupported);
    EXPECT_NE(std::string(status.message()).find(words), std::string::npos) << status.message();
    EXPECT_EQ(std::memcmp(frame.arena(), untouched.arena(), size_t(frame.num_words()) * sizeof(int32_t)), 0);
  };
  expect_refusal({.team_width = 7}, "team_width is 7");
  expect_refusal({.team_width = -32}, "team_width is -32");
  expect_refusal({.num_threads = -1}, "num_threads is -1");
}

TEST(FastHost, IsTheBackEndOfItsName) {
  const auto [backend, reason] = make_backend("host-fast");
  ASSERT_TRUE(backend) << reason;
  EXPECT_EQ(backend->info().name, "host-fast");
  Frame frame(small_case(), 1);
  expect_fault(backend->run(frame, {.team_width = 7}), "team_width is 7");
  EXPECT_EQ(backend->kernel_paths(), nullptr);  // The checked host counts them.
  EXPECT_EQ(disagreement(*backend, small_case()), "");
}

struct First {};
struct Second {};

// The primitives that no remap would miss, or that two mistakes could cancel in.
TEST(FastHost, PrimitivesDoWhatTheirTableSays) {
  using Team = FastHostTeam<64, 4>;
  Team team(5);
  EXPECT_EQ(team.index(), 5);
  PerThread<Team, int32_t> x(team);
  int32_t num_calls = 0;
  team.phase("set", [&](Thread t) { x[t] = t.index, ++num_calls; });
  EXPECT_EQ(num_calls, 64);
  const auto below = team.warp_shuffle_up(x, 3);
  const auto sum = team.warp_sum(x);
  team.phase("look", [&](Thread t) {
    EXPECT_EQ(below[t], t.lane() < 3 ? t.index : t.index - 3);
    EXPECT_EQ(sum[t], t.warp() == 0 ? 31 * 32 / 2 : 31 * 32 / 2 + 32 * 32);
  });

  // Two tags are two arrays; two calls with one tag give the same.
  auto first = team.shared<int32_t, 8, First>(), second = team.shared<int32_t, 8, Second>();
  const int32_t inputs[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  const TensorRow<TensorId::kBlockTable> row{inputs, 8};
  team.copy_async<4>(Thread{0}, first, 4, row, 0, true);
  team.copy_async<4>(Thread{1}, first, 0, row, 4, false);
  team.wait_async();
  for (int32_t i = 0; i < 8; ++i) second.store(Thread{0}, i, -1);
  const auto again = team.shared<int32_t, 8, First>();
  EXPECT_EQ(again.load(0), 0);  // Nothing was given.
  unrolled<4>([&](ItemIndex i) { EXPECT_EQ(again.load_vector<4>(Thread{2}, 4)[i], i.value() + 1); });

  int64_t totals[2] = {1, INT64_MAX};
  team.phase("add", [&](Thread t) { team.atomic_add(t, TensorRow<TensorId::kTotals>{totals, 2}, t.index % 2, 1); });
  EXPECT_EQ(totals[0], 33);
  EXPECT_EQ(totals[1], INT64_MIN + 31);  // modulo 2^64
}

}  // namespace
}  // namespace slotproof::harness
