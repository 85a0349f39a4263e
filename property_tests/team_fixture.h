#pragma once
// A launch over two small tensors for tests of the host context, and counters: run a body, get the fault that it leaves behind.

#include "kernels/team/host_team.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>

namespace slotproof {

struct Scratch {
  static constexpr const char* kName = "scratch";
};

using Table = TensorRow<TensorId::kBlockTable>;
using Slots = TensorRow<TensorId::kSlots>;
using Totals = TensorRow<TensorId::kTotals>;

// A table view with a gap of 3 behind each row, aligned rows of outputs, and a fault that a body leaves behind.
class Team : public testing::Test {
 protected:
  static constexpr int32_t kRows = 4;
  static constexpr int32_t kColumns = 5;
  static constexpr int64_t kTableStride = 8;
  static constexpr int32_t kSlotColumns = 256;
  static constexpr int32_t kNumTotals = 8;

  template <int Width, class Body>
  std::optional<MemoryFault> run(Body body, int32_t num_ctas = 1, uint64_t seed = 0) {
    memory_.begin_launch();
    memory_.set_tensor(TensorId::kBlockTable, table_, kRows, kColumns, kTableStride);
    memory_.set_tensor(TensorId::kSlots, slots_, kRows, kSlotColumns, kSlotColumns);
    memory_.set_tensor(TensorId::kTotals, totals_, 1, kNumTotals, 0);
    std::optional<MemoryFault> fault;
    try {
      for (int32_t cta = 0; cta < num_ctas; ++cta) {
        HostTeam<Width, 4> team(memory_, cta, seed);
        body(team);
      }
    } catch (const MemoryFault& thrown) {
      fault = thrown;
    }
    memory_.end_launch();
    return fault;
  }

  Table table_row(int32_t row) const { return {table_ + row * kTableStride, kColumns}; }
  Slots slots_row(int32_t row) { return {slots_ + row * kSlotColumns, kSlotColumns}; }

  Totals totals_row() { return {totals_, kNumTotals}; }

  CheckedMemory memory_;
  alignas(16) int32_t table_[kRows * kTableStride] = {};
  alignas(16) int32_t slots_[kRows * kSlotColumns] = {};
  int64_t totals_[kNumTotals] = {};
};

#define EXPECT_FAULT(fault, kind_, phase_, thread_, array_, element_) \
  do {                                                                \
    ASSERT_TRUE((fault).has_value());                                 \
    EXPECT_EQ((fault)->kind, (kind_));                                \
    EXPECT_STREQ((fault)->phase, (phase_));                           \
    EXPECT_EQ((fault)->thread, (thread_));                            \
    EXPECT_STREQ((fault)->array, (array_));                           \
    EXPECT_EQ((fault)->element, (element_));                          \
  } while (false)

#define EXPECT_NO_FAULT(fault) EXPECT_FALSE((fault).has_value()) << status_of(*(fault)).message()

enum class Barrier { kAbsent, kWarp, kTeam };

template <class HostTeam>
void wait(HostTeam& team, Barrier barrier) {
  if (barrier == Barrier::kWarp) team.sync_warp();
  if (barrier == Barrier::kTeam) team.sync();
}

}  // namespace slotproof
