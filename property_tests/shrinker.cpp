// The shrinker ends, and leaves what a person can read and what still fails.

#include "property_tests/harness/shrinker.h"

#include "property_tests/backends.h"
#include "property_tests/harness/decoder.h"
#include "property_tests/harness/frame.h"
#include "spec/arguments.h"

#include <algorithm>

namespace slotproof::harness {
namespace {

bool any_position(const RemapCase& c, auto predicate) {
  for (int32_t t = 0; t < c.num_tokens(); ++t) {
    for (int32_t k = 0; k < c.topk(); ++k) {
      if (predicate(t, c.token_indices.at(t, k))) return true;
    }
  }
  return false;
}

// A fault that only some problems have: the shrinker must reach the smallest of them.
TEST(Shrinker, FindsTheSmallestProblemThatStillFails) {
  const auto fails = [](const RemapCase& c) {
    return c.edits.empty() && c.dcp.size >= 2 && c.placement == spec::Placement::kCompacted && any_position(c, [](int32_t, int32_t tok) { return tok >= 5; });
  };
  int num_shrunk = 0;
  for (uint64_t index = 0; index < 200; ++index) {
    const RemapCase drawn = draw_remap(3, index, {});
    if (!fails(drawn)) continue;
    ++num_shrunk;
    const RemapCase smallest = shrink(drawn, fails).remap_case;
    EXPECT_EQ(smallest.num_tokens(), 1);
    EXPECT_EQ(smallest.topk(), 1);
    EXPECT_EQ(smallest.token_indices.storage, std::vector<int32_t>{5});
    ASSERT_EQ(smallest.req_id.size(), 1u);
    EXPECT_LE(smallest.req_id[0], 0);
    EXPECT_EQ(smallest.dcp.size, 2);
    EXPECT_EQ(smallest.dcp.rank, 0);
    EXPECT_EQ(smallest.block_table.storage.size(), 0u);
    EXPECT_EQ(smallest.block_size, 1);
    EXPECT_FALSE(smallest.num_blocks || smallest.tile || smallest.counts);
    EXPECT_EQ(smallest.layout, Layout{});
    EXPECT_EQ(smallest.schedule, (Schedule{32, 0, 0}));
  }
  EXPECT_GT(num_shrunk, 10);
}

// What fails in the second row of two, for the sake of a workspace: both rows stay, and so does what they need.
TEST(Shrinker, KeepsWhatTheFailureNeeds) {
  const auto fails = [](const RemapCase& c) {
    Frame frame(c, 1);
    return !spec::refusal_of(frame.problem()) && c.num_tokens() >= 2 && c.prefill && any_position(c, [&](int32_t t, int32_t tok) {
      return t > 0 && tok >= 0 && c.prefill->request_ids[size_t(t)] > 0 && c.req_id[0] > c.req_id[size_t(t)];
    });
  };
  int num_shrunk = 0;
  for (uint64_t index = 0; index < 1000; ++index) {
    const RemapCase drawn = draw_remap(4, index, {});
    if (!fails(drawn)) continue;
    ++num_shrunk;
    const RemapCase smallest = shrink(drawn, fails).remap_case;
    EXPECT_TRUE(fails(smallest)) << as_json(smallest);
    EXPECT_EQ(smallest.num_tokens(), 2);
    EXPECT_EQ(smallest.topk(), 1);
    EXPECT_EQ(smallest.prefill->request_ids[1], 1);
    EXPECT_EQ(smallest.token_indices.at(1, 0), 0);
  }
  EXPECT_GT(num_shrunk, 5);
}

// A neighbour is a problem that a back end can run: its row counts agree as those of the problem did.
TEST(Shrinker, MakesNeighboursThatAreNotRefusedForTheirRows) {
  for (uint64_t index = 0; index < 200; ++index) {
    const RemapCase drawn = draw_remap(6, index, {.max_topk = 40});
    Frame frame(drawn, 1);
    if (!drawn.edits.empty() || spec::refusal_of(frame.problem())) continue;
    for (const RemapCase& neighbour : simpler_cases(drawn)) {
      Frame simpler(neighbour, 1);
      const auto refusal = spec::refusal_of(simpler.problem());
      ASSERT_FALSE(refusal && refusal->rule <= spec::Rule::A4) << as_json(drawn) << "\n" << as_json(neighbour) << "\n" << refusal->message;
    }
  }
}

// Where rows of the table or workspaces go, ids of those behind them follow.
TEST(Shrinker, MovesWhatPointsBehindAHole) {
  RemapCase c;
  c.req_id = {2, 0};
  c.block_table = OwnedMatrix::of({{10}, {11}, {12}});
  c.token_indices = OwnedMatrix::of({{0}, {0}});
  c.prefill = OwnedPrefill{{2, 1}, {20, 21, 22}, {}};
  int num_moved = 0;
  for (const RemapCase& neighbour : simpler_cases(c, ShrinkPass::kTable)) {
    const auto& starts = neighbour.prefill->workspace_starts;
    const std::vector<int32_t>& blocks = neighbour.block_table.storage;
    const auto keeps = [](const std::vector<int32_t>& values, int32_t value) { return std::find(values.begin(), values.end(), value) != values.end(); };
    EXPECT_TRUE(!keeps(starts, 22) || starts.at(size_t(neighbour.prefill->request_ids[0])) == 22);
    EXPECT_TRUE(!keeps(starts, 21) || starts.at(size_t(neighbour.prefill->request_ids[1])) == 21);
    EXPECT_TRUE(!keeps(blocks, 12) || blocks.at(size_t(neighbour.req_id[0])) == 12);
    num_moved += neighbour.req_id != c.req_id || neighbour.prefill->request_ids != c.prefill->request_ids;
  }
  EXPECT_GT(num_moved, 3);
}

// A neighbour by its number is the same as in the row of all, and no number is the case itself.
TEST(Shrinker, NumbersItsNeighboursBoldestFirst) {
  RemapCase c;
  c.req_id = {0};
  c.block_table = OwnedMatrix::of({{0}});
  c.token_indices = OwnedMatrix::of({{5}});
  ASSERT_EQ(num_simpler_cases(c, ShrinkPass::kValues), 4);
  std::vector<int32_t> positions;
  for (int i = 0; i < 4; ++i) positions.push_back(simpler_case(c, ShrinkPass::kValues, i).token_indices.at(0, 0));
  EXPECT_EQ(positions, (std::vector<int32_t>{0, 1, 2, 4}));
  for (uint64_t index = 0; index < 60; ++index) {
    const RemapCase drawn = draw_remap(22, index, {.max_topk = 20});
    for (const RemapCase& neighbour : simpler_cases(drawn)) ASSERT_FALSE(neighbour == drawn) << as_json(drawn);
  }
}

TEST(Shrinker, EndsOnEveryProblemEvenWhereEveryNeighbourFails) {
  for (uint64_t index = 0; index < 60; ++index) {
    const Shrunk shrunk = shrink(draw_remap(5, index, {.max_topk = 40}), [](const RemapCase&) { return true; });
    EXPECT_LT(shrunk.num_tries, 20000) << "case " << index;
    EXPECT_EQ(shrunk.remap_case.num_tokens(), 0);
  }
}

TEST(Shrinker, StopsWhereItIsTold) {
  const RemapCase drawn = draw_remap(5, 3, {});
  int num_tries = 0;
  const auto never = [&](const RemapCase&) { return ++num_tries < 0; };
  EXPECT_EQ(shrink(drawn, never, 5).num_tries, 5);
  EXPECT_EQ(num_tries, 5);
  EXPECT_EQ(shrink(drawn, never, 20000, [&] { return num_tries >= 8; }).num_tries, 3);
}

TEST(Shrinker, KeepsTheCaseWhereNoNeighbourFails) {
  const RemapCase drawn = draw_remap(5, 1, {});
  const Shrunk shrunk = shrink(drawn, [](const RemapCase&) { return false; });
  EXPECT_EQ(as_json(shrunk.remap_case), as_json(drawn));
  EXPECT_EQ(shrunk.num_steps, 0);
}

TEST(Shrinker, CountsItsSteps) {
  RemapCase c = draw_remap(5, 1, {});
  c.counts = true;
  const Shrunk shrunk = shrink(c, [](const RemapCase& candidate) { return !candidate.counts; }, 1000);
  EXPECT_GE(shrunk.num_steps, 1);
  EXPECT_GE(shrunk.num_tries, shrunk.num_steps);
  EXPECT_FALSE(shrunk.remap_case.counts);
}

}  // namespace
}  // namespace slotproof::harness
