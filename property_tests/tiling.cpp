// The seed's tile table. The planner of our own, kernels/tiling, has another table; what it picks is checked by tiling_invariance
// and by kernel_paths.cpp.

#include "reference/tiling.h"
#include "spec/tiling.h"

#include <gtest/gtest.h>

#include <limits>

namespace slotproof {
namespace {

constexpr int32_t kIntMax = std::numeric_limits<int32_t>::max();

// Values of the seed's function, by hand.
TEST(Tiling, TakesAWholeRowWhereItCountsAndTheWidthIsAPowerOfTwo) {
  EXPECT_EQ(spec::remap_tiling(2048, 128, true), (spec::Tiling{true, 2048, 1, 8}));
  EXPECT_EQ(spec::remap_tiling(1, 128, true), (spec::Tiling{true, 1, 1, 8}));
  EXPECT_EQ(spec::remap_tiling(0, 128, true), (spec::Tiling{true, 0, 1, 8}));
}

TEST(Tiling, SplitsTheRowElse) {
  EXPECT_EQ(spec::remap_tiling(2048, 128, false), (spec::Tiling{false, 128, 16, 4}));
  EXPECT_EQ(spec::remap_tiling(2176, 128, true), (spec::Tiling{false, 128, 17, 4}));
  EXPECT_EQ(spec::remap_tiling(2051, 128, true), (spec::Tiling{false, 128, 16, 4}));
  EXPECT_EQ(spec::remap_tiling(0, 128, false), (spec::Tiling{false, 128, 0, 4}));
  EXPECT_EQ(spec::remap_tiling(127, 128, false), (spec::Tiling{false, 128, 0, 4}));
}

TEST(Tiling, RefusesATileBelowOne) {
  for (const int32_t block_n : {0, -1, std::numeric_limits<int32_t>::min()}) {
    EXPECT_FALSE(spec::remap_tiling(128, block_n, true)) << block_n;
    EXPECT_FALSE(reference::remap_tiling(128, block_n, true)) << block_n;
  }
}

TEST(Tiling, ReferenceAgreesWithTheSpecAroundEveryPowerOfTwo) {
  const auto agree = [](int32_t topk, int32_t block_n) {
    for (const bool count_valid : {false, true}) {
      const auto due = spec::remap_tiling(topk, block_n, count_valid);
      const auto got = reference::remap_tiling(topk, block_n, count_valid);
      ASSERT_EQ(due.has_value(), got.has_value()) << topk << " " << block_n;
      if (!due) continue;
      ASSERT_EQ(due->single_tile, got->single_tile) << topk << " " << block_n;
      ASSERT_EQ(due->block_n, got->block_n) << topk << " " << block_n;
      ASSERT_EQ(due->tiles_per_row, got->tiles_per_row) << topk << " " << block_n;
      ASSERT_EQ(due->num_warps, got->num_warps) << topk << " " << block_n;
    }
  };
  for (int32_t topk = 0; topk <= 4200; ++topk) {
    for (const int32_t block_n : {1, 7, 128, 4096}) agree(topk, block_n);
  }
  for (const int32_t topk : {kIntMax, 1 << 30, (1 << 30) + 1, (1 << 30) - 1}) agree(topk, 1 << 20);
}

}  // namespace
}  // namespace slotproof
