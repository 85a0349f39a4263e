// The decoder is total and deterministic, and stays inside what it was asked for. corners.cpp: it reaches the corners.

#include "property_tests/backends.h"
#include "property_tests/harness/decoder.h"
#include "property_tests/harness/judge.h"
#include "spec/arguments.h"
#include "spec/remap.h"

#include <slotproof/plugin.h>

#include <set>

namespace slotproof::harness {
namespace {

// Known answers of Philox4x32-10, from the paper's own test vectors: counter and key all zero.
TEST(Choices, PhiloxGivesItsPublishedNumbers) {
  PhiloxChoices choices(0, 0);
  EXPECT_EQ(choices.bits64(), 0x6627e8d5'e169c58dull);
  EXPECT_EQ(choices.bits64(), 0xbc57ac4c'9b00dbd8ull);
}

std::vector<uint8_t> bytes_of(uint64_t index) {
  PhiloxChoices choices(11, index);
  std::vector<uint8_t> bytes(choices.below(400));
  for (uint8_t& byte : bytes) byte = uint8_t(choices.below(256));
  return bytes;
}

TEST(Choices, StayBelowTheirBoundWhateverTheBytes) {
  for (uint64_t index = 0; index < 300; ++index) {
    const std::vector<uint8_t> bytes = bytes_of(index);
    ByteChoices choices(bytes.data(), bytes.size());
    for (int i = 0; i < 16; ++i) {
      for (const uint32_t bound : {1u, 2u, 255u, 256u, 257u, 65536u, 65537u, 0xffffffffu}) EXPECT_LT(choices.below(bound), bound);
    }
  }
}

TEST(Decoder, MakesAProblemOfAnyBytes) {
  const auto reference = make_reference_backend().backend;
  for (uint64_t index = 0; index < 300; ++index) {
    const std::vector<uint8_t> bytes = bytes_of(index);
    ByteChoices choices(bytes.data(), bytes.size()), again(bytes.data(), bytes.size());
    const RemapCase remap_case = decode_remap(choices, {});
    EXPECT_EQ(as_json(decode_remap(again, {})), as_json(remap_case));
    EXPECT_TRUE(judge(*reference, remap_case).findings.empty());
  }
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

TEST(Decoder, DrawsTheSameCaseFromTheSameSeedAndOthersFromOthers) {
  std::set<std::string> drawn;
  for (uint64_t index = 0; index < 100; ++index) {
    EXPECT_EQ(as_json(draw_remap(7, index, {})), as_json(draw_remap(7, index, {})));
    EXPECT_TRUE(drawn.insert(as_json(draw_remap(7, index, {}))).second) << index;
    EXPECT_TRUE(drawn.insert(as_json(draw_remap(8, index, {}))).second) << index;
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

// Every width of a team, and orders of threads and CTAs: the given one (0) as well as others.
TEST(Decoder, DrawsSchedules) {
  std::set<int32_t> widths;
  std::set<uint64_t> thread_orders, cta_orders;
  int num_plain = 0;
  for (uint64_t index = 0; index < 400; ++index) {
    const Schedule schedule = draw_remap(1, index, {}).schedule;
    widths.insert(schedule.team_width);
    thread_orders.insert(schedule.thread_order_seed);
    cta_orders.insert(schedule.cta_order_seed);
    num_plain += schedule.thread_order_seed == 0 && schedule.cta_order_seed == 0;
  }
  for (const int32_t width : {32, 64, 128, 256}) EXPECT_TRUE(widths.contains(width)) << width;
  EXPECT_GT(thread_orders.size(), 200u);
  EXPECT_GT(cta_orders.size(), 200u);
  EXPECT_GT(num_plain, 5);
}

// Level core is the seed's contract: nothing is refused, and none comes only from -1, a foreign rank or a column past the table.
TEST(Decoder, StaysInsideTheContractAtLevelCore) {
  for (uint64_t index = 0; index < 2000; ++index) {
    Frame frame(draw_remap(1, index, {.level = Level::kCore}), 1);
    const spec::RemapProblem problem = frame.problem();
    ASSERT_FALSE(spec::refusal_of(problem)) << index;
    for (int32_t t = 0; t < problem.num_tokens(); ++t) {
      for (int32_t k = 0; k < problem.topk(); ++k) {
        ASSERT_GE(problem.token_indices.view()(t, k), -1) << index;
        const spec::Entry entry = spec::entry_of(problem, t, k);
        const auto rule = entry.decided_by;
        ASSERT_TRUE(!entry.is_none() || rule == spec::Rule::R1 || rule == spec::Rule::R3 || rule == spec::Rule::R6) << index << " " << spec::id_of(rule);
      }
    }
  }
}

TEST(Decoder, AsksForNothingThatTheSignatureCannotSay) {
  for (uint64_t index = 0; index < 2000; ++index) {
    const RemapCase c = draw_remap(1, index, {.level = Level::kCore, .capabilities = SLOTPROOF_CAN_COUNT});
    ASSERT_TRUE(c.dcp.size == 1 && c.dcp.interleave == 1 && c.placement == spec::Placement::kInPlace && c.block_stride_rows == c.block_size) << index;
    ASSERT_TRUE(!c.num_blocks && !c.prefill && !c.tile && c.topk() % 128 == 0) << index;
    ASSERT_TRUE(c.block_table.storage_columns == c.block_table.columns && c.token_indices.storage_columns == c.topk()) << index;
    ASSERT_LT(c.layout.slots_storage_columns, 0) << index;
  }
}

}  // namespace
}  // namespace slotproof::harness
