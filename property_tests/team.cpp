// Threads, warps and values of the host context, and the collective that is written on top.

#include "kernels/compaction.h"
#include "property_tests/team_fixture.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace slotproof {
namespace {

TEST_F(Team, ReportsAValueThatIsNotUniform) {
  const auto body = [](int32_t odd_one) {
    return [=](auto& team) {
      PerThread<std::remove_reference_t<decltype(team)>, int32_t> x(team);
      team.phase("set", [&](Thread t) { x[t] = t.index == odd_one ? 1 : 2; });
      EXPECT_EQ(team.uniform(x), 2);
    };
  };
  const auto fault = run<64>(body(33));
  ASSERT_TRUE(fault.has_value());
  EXPECT_EQ(fault->kind, FaultKind::kNotUniform);
  EXPECT_EQ(fault->thread, 33);
  EXPECT_NO_FAULT(run<64>(body(64)));
}

TEST_F(Team, PoisonsFreshValues) {
  const auto fault = run<32>([](auto& team) {
    PerThread<std::remove_reference_t<decltype(team)>, uint32_t> x(team);
    team.phase("look", [&](Thread t) { EXPECT_EQ(x[t], 0xA5A5A5A5u); });
  });
  EXPECT_NO_FAULT(fault);
}

TEST(Permutation, HasEveryNumberOnceForEverySeed) {
  for (const uint32_t size : {1u, 2u, 3u, 6u, 7u, 32u, 64u, 100u, 256u}) {
    std::vector<int32_t> ascending(size), descending(size);
    std::iota(ascending.begin(), ascending.end(), 0);
    std::copy(ascending.rbegin(), ascending.rend(), descending.begin());
    bool saw_another = false;
    for (uint64_t seed = 0; seed < 300; ++seed) {
      const Permutation permutation(seed, seed * 7, size);
      std::vector<int32_t> order;
      for (uint32_t i = 0; i < size; ++i) order.push_back(permutation.at(i));
      if (seed < 2) {
        EXPECT_EQ(order, seed == 0 ? ascending : descending);
      }
      saw_another = saw_another || (order != ascending && order != descending);
      std::sort(order.begin(), order.end());
      EXPECT_EQ(order, ascending) << "seed " << seed << ", size " << size;
    }
    EXPECT_EQ(saw_another, size > 2);
  }
}

TEST_F(Team, RunsThreadsInTheOrderOfTheSeed) {
  std::vector<int32_t> order;
  const auto body = [&](auto& team) { team.phase("look", [&](Thread t) { order.push_back(t.index); }); };
  EXPECT_NO_FAULT(run<32>(body, 1, 1));
  EXPECT_TRUE(std::is_sorted(order.rbegin(), order.rend()));
  EXPECT_EQ(order.size(), 32u);
}

// The collective against a plain loop over the row order (warp, vector, lane).
template <int Width, int kVectors = 4>
void expect_places_of_a_plain_loop(uint32_t random_seed, uint64_t thread_order_seed) {
  std::mt19937 random(random_seed);
  std::uniform_int_distribution<uint32_t> pick(0, kVectorSize);
  const uint32_t density = pick(random);  // 0: nothing kept, 4: everything
  std::vector<uint32_t> counts(Width * kVectors);  // in row order
  for (uint32_t& count : counts) count = density == 0 ? 0 : density == 4 ? 4 : pick(random);
  const auto index_of = [](Thread t, int32_t v) {
    return static_cast<std::size_t>((t.warp() * kVectors + v) * kWarpSize + t.lane());
  };
  std::vector<int32_t> expected(counts.size() + 1, 0);
  for (std::size_t i = 0; i < counts.size(); ++i) expected[i + 1] = expected[i] + static_cast<int32_t>(counts[i]);

  CheckedMemory memory;
  memory.begin_launch();
  for (int32_t cta = 0; cta < 2; ++cta) {  // The second CTA meets what the first left in shared memory.
    HostTeam<Width, kVectors> team(memory, cta, thread_order_seed);
    PerThread<HostTeam<Width, kVectors>, PackedCounts> kept(team);
    PerThread<HostTeam<Width, kVectors>, Items<kVectors>> places(team);
    team.phase("count", [&](Thread t) {
      kept[t] = 0;
      unrolled<kVectors>([&](ItemIndex v) { kept[t] += packed_count(v, counts[index_of(t, v.value())]); });
    });
    EXPECT_EQ(exclusive_places(team, kept, places), expected.back());
    team.phase("compare", [&](Thread t) {
      unrolled<kVectors>([&](ItemIndex v) {
        EXPECT_EQ(places[t][v], expected[index_of(t, v.value())]) << "thread " << t.index << ", vector " << v.value();
      });
    });
  }
}

TEST(Compaction, GivesThePlacesOfAPlainLoopAtEveryWidthAndOrder) {
  for (uint32_t seed = 0; seed < 25; ++seed) {
    expect_places_of_a_plain_loop<32>(seed, seed);
    expect_places_of_a_plain_loop<64>(seed, seed);
    expect_places_of_a_plain_loop<128>(seed, seed);
    expect_places_of_a_plain_loop<256>(seed, seed);
    expect_places_of_a_plain_loop<64, 2>(seed, seed);
    expect_places_of_a_plain_loop<256, 1>(seed, seed);
  }
}

TEST_F(Team, ShufflesAndSumsInsideAWarp) {
  const auto fault = run<64>([](auto& team) {
    using HostTeam = std::remove_reference_t<decltype(team)>;
    PerThread<HostTeam, int32_t> x(team);
    team.phase("set", [&](Thread t) { x[t] = t.index; });
    const auto below = team.warp_shuffle_up(x, 3);
    const auto sum = team.warp_sum(x);
    team.phase("look", [&](Thread t) {
      EXPECT_EQ(below[t], t.lane() < 3 ? t.index : t.index - 3);
      EXPECT_EQ(sum[t], t.warp() == 0 ? 31 * 32 / 2 : 31 * 32 / 2 + 32 * 32);
    });
  });
  EXPECT_NO_FAULT(fault);
}

}  // namespace
}  // namespace slotproof
