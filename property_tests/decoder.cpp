// The decoder is total and deterministic (corners.cpp: it reaches the corners); the shrinker ends, and leaves what a person can read.

#include "property_tests/generators.h"
#include "property_tests/harness/judge.h"
#include "spec/arguments.h"
#include "spec/remap.h"

#include <rapidcheck/gtest.h>
#include <slotproof/plugin.h>

#include <limits>

namespace slotproof::harness {
namespace {

std::string as_json(const RemapCase& remap_case) {
  std::ostringstream os;
  showValue(remap_case, os);
  return os.str();
}

// Known answers of Philox4x32-10, from the paper's own test vectors: counter and key all zero.
TEST(Choices, PhiloxGivesItsPublishedNumbers) {
  PhiloxChoices choices(0, 0);
  EXPECT_EQ(choices.bits64(), 0x6627e8d5'e169c58dull);
  EXPECT_EQ(choices.bits64(), 0xbc57ac4c'9b00dbd8ull);
}

RC_GTEST_PROP(Choices, StayBelowTheirBoundWhateverTheBytes, (std::vector<uint8_t> bytes)) {
  ByteChoices choices(bytes.data(), bytes.size());
  for (int i = 0; i < 64; ++i) {
    const uint32_t bound = *rc::gen::element(1u, 2u, 255u, 256u, 257u, 65536u, 65537u, 0xffffffffu);
    RC_ASSERT(choices.below(bound) < bound);
  }
}

RC_GTEST_PROP(Decoder, MakesAProblemOfAnyBytes, (const std::vector<uint8_t>& bytes)) {
  ByteChoices choices(bytes.data(), bytes.size());
  const RemapCase remap_case = decode_remap(choices, {});
  ByteChoices again(bytes.data(), bytes.size());
  RC_ASSERT(as_json(decode_remap(again, {})) == as_json(remap_case));
  RC_ASSERT(judge(*make_reference_backend().backend, remap_case).findings.empty());
}

// Past the end of the bytes every choice is 0, and 0 is the plainest choice.
TEST(Decoder, MakesAPlainProblemOfNoBytes) {
  ByteChoices none(nullptr, 0);
  const RemapCase plain = decode_remap(none, {});
  EXPECT_EQ(plain.num_tokens(), 1);
  EXPECT_EQ(plain.topk(), 1);
  EXPECT_EQ(plain.dcp.size, 1);
  EXPECT_TRUE(plain.edits.empty());
  EXPECT_FALSE(plain.prefill);
}

TEST(Decoder, DrawsTheSameCaseFromTheSameSeed) {
  for (uint64_t index = 0; index < 100; ++index) {
    EXPECT_EQ(as_json(draw_remap(7, index, {})), as_json(draw_remap(7, index, {})));
    EXPECT_NE(as_json(draw_remap(7, index, {})), as_json(draw_remap(8, index, {}))) << index;
  }
}

TEST(Decoder, ReachesEveryArgumentRule) {
  std::set<spec::Rule> reached;
  for (uint64_t index = 0; index < 20000; ++index) {
    Frame frame(draw_remap(1, index, {}), 1);
    if (const auto refusal = spec::refusal_of(frame.problem())) reached.insert(refusal->rule);
  }
  for (int number = 1; number <= 15; ++number) EXPECT_TRUE(reached.contains(spec::argument_rule_of(number))) << "A" << number;
}

// Level core is the seed's contract: nothing is refused, and none comes only from -1, a foreign rank or a column past the table.
RC_GTEST_PROP(Decoder, StaysInsideTheContractAtLevelCore, ()) {
  const RemapCase remap_case = *remap_cases({.level = Level::kCore});
  Frame frame(remap_case, 1);
  const spec::RemapProblem problem = frame.problem();
  RC_ASSERT(!spec::refusal_of(problem));
  for (int32_t t = 0; t < problem.num_tokens(); ++t) {
    for (int32_t k = 0; k < problem.topk(); ++k) {
      RC_ASSERT(problem.token_indices.view()(t, k) >= -1);
      const spec::Entry entry = spec::entry_of(problem, t, k);
      const auto rule = entry.decided_by;
      if (entry.is_none()) RC_ASSERT(rule == spec::Rule::R1 || rule == spec::Rule::R3 || rule == spec::Rule::R6);
    }
  }
}

RC_GTEST_PROP(Decoder, AsksForNothingThatTheSignatureCannotSay, ()) {
  const RemapCase c = *remap_cases({.level = Level::kCore, .capabilities = SLOTPROOF_CAN_COUNT});
  RC_ASSERT(c.dcp.size == 1 && c.placement == spec::Placement::kInPlace && c.block_stride_rows == c.block_size);
  RC_ASSERT(!c.num_blocks && !c.prefill && !c.tile && c.topk() % 128 == 0);
  RC_ASSERT(c.block_table.storage_columns == c.block_table.columns && c.token_indices.storage_columns == c.topk());
  RC_ASSERT(c.layout.slots_storage_columns < 0);
}

// A fault that only some problems have: the shrinker must reach the smallest of them.
TEST(Shrinker, FindsTheSmallestProblemThatStillFails) {
  const auto fails = [](const RemapCase& c) {
    if (!c.edits.empty() || c.dcp.size < 2 || c.placement != spec::Placement::kCompacted) return false;
    const auto& positions = c.token_indices;
    for (int32_t t = 0; t < positions.rows; ++t) {
      for (int32_t k = 0; k < positions.columns; ++k) {
        if (positions.at(t, k) >= 5) return true;
      }
    }
    return false;
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
    EXPECT_EQ(smallest.dcp.size, 2);
    EXPECT_EQ(smallest.block_table.storage.size(), 0u);
    EXPECT_EQ(smallest.block_size, 1);
    EXPECT_EQ(smallest.layout, Layout{});
  }
  EXPECT_GT(num_shrunk, 10);
}

TEST(Shrinker, EndsOnEveryProblemEvenWhereEveryNeighbourFails) {
  for (uint64_t index = 0; index < 60; ++index) {
    const Shrunk shrunk = shrink(draw_remap(5, index, {.max_topk = 40}), [](const RemapCase&) { return true; });
    EXPECT_LT(shrunk.num_tries, 20000) << "case " << index;
    EXPECT_EQ(shrunk.remap_case.num_tokens(), 0);
  }
}

TEST(Shrinker, KeepsTheCaseWhereNoNeighbourFails) {
  const RemapCase drawn = draw_remap(5, 1, {});
  const Shrunk shrunk = shrink(drawn, [](const RemapCase&) { return false; });
  EXPECT_EQ(as_json(shrunk.remap_case), as_json(drawn));
  EXPECT_EQ(shrunk.num_steps, 0);
}

}  // namespace
}  // namespace slotproof::harness
