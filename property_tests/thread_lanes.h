#pragma once
// Lanes for property_tests/device/bulk_rows.h that meet as a warp's do.

#include "property_tests/device/bulk_verdict.h"

#include <algorithm>
#include <array>
#include <barrier>
#include <bit>
#include <cstdint>
#include <functional>
#include <mutex>
#include <numeric>

namespace slotproof::harness {

// Thirty-two threads in place of a warp's lanes: what meets in a ballot or a sum is where it is on the device.
class ThreadLanes {
 public:
  static constexpr int32_t kWidth = 32;
  struct Meeting {
    std::barrier<> barrier{kWidth};
    std::array<uint64_t, kWidth> values{};
    std::mutex totals;
  };
  ThreadLanes(Meeting& meeting, int32_t lane) : meeting_(meeting), lane_(lane) {}
  int32_t lane() const { return lane_; }
  uint32_t ballot(bool mine) const {
    const auto all = exchange(mine);
    uint32_t bits = 0;
    for (int i = 0; i < kWidth; ++i) bits |= uint32_t(all[size_t(i)]) << i;
    return bits;
  }
  int32_t num_before(uint32_t ballot) const { return std::popcount(ballot & ((1u << lane_) - 1)); }
  int32_t num_set(uint32_t ballot) const { return std::popcount(ballot); }
  BulkCount sum(BulkCount mine) const {
    const auto all = exchange(mine);
    return std::accumulate(all.begin(), all.end(), BulkCount{0});
  }
  BulkCount least(BulkCount mine) const {
    const auto all = exchange(mine);
    return *std::min_element(all.begin(), all.end());
  }
  uint64_t either(uint64_t mine) const {
    const auto all = exchange(mine);
    return std::accumulate(all.begin(), all.end(), uint64_t{0}, std::bit_or<>());
  }
  void add(BulkCount& total, BulkCount mine) const {
    const std::scoped_lock lock(meeting_.totals);
    total += mine;
  }
  void lower(BulkCount& total, BulkCount mine) const {
    const std::scoped_lock lock(meeting_.totals);
    total = std::min(total, mine);
  }

 private:
  std::array<uint64_t, kWidth> exchange(uint64_t mine) const {
    meeting_.values[size_t(lane_)] = mine;
    meeting_.barrier.arrive_and_wait();
    const auto all = meeting_.values;
    meeting_.barrier.arrive_and_wait();  // Nobody's next value may overwrite this one before all have read it.
    return all;
  }
  Meeting& meeting_;
  int32_t lane_;
};

}  // namespace slotproof::harness
