// The host context finds misuse of shared memory, and nothing else. Each misuse stands beside its correct twin: a body of the
// same shape that must pass.

#include "property_tests/team_fixture.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace slotproof {
namespace {

// Each thread writes its element and reads the one `distance` further on.
auto exchange(Barrier barrier, int32_t distance) {
  return [=](auto& team) {
    constexpr int32_t kWidth = std::remove_reference_t<decltype(team)>::kWidth;
    auto scratch = team.template shared<int32_t, kWidth, Scratch>();
    team.phase("write", [&](Thread t) { scratch.store(t, t.index, t.index); });
    wait(team, barrier);
    team.phase("read", [&](Thread t) { scratch.load(t, (t.index + distance) % kWidth); });
  };
}

TEST_F(Team, ReportsAReadWithNoBarrierBehindTheWrite) {
  const auto fault = run<64>(exchange(Barrier::kAbsent, 1));
  EXPECT_FAULT(fault, FaultKind::kRace, "read", 0, "scratch", 1);
  EXPECT_EQ(fault->access, Access::kRead);
  EXPECT_EQ(fault->other_access, Access::kWrite);
  EXPECT_EQ(fault->other_thread, 1);
  EXPECT_STREQ(status_of(*fault).message(),
               "race: phase 'read' of CTA 0: thread 0 reads scratch[1], which thread 1 wrote with no barrier between");
  EXPECT_EQ(status_of(*fault).code(), StatusCode::kMemoryFault);
  EXPECT_NO_FAULT(run<64>(exchange(Barrier::kTeam, 1)));
  EXPECT_NO_FAULT(run<64>(exchange(Barrier::kAbsent, 0)));
}

TEST_F(Team, OrdersTheThreadsOfOneWarpAloneByAWarpBarrier) {
  const auto fault = run<64>(exchange(Barrier::kWarp, 1));
  EXPECT_FAULT(fault, FaultKind::kRace, "read", 31, "scratch", 32);
  EXPECT_EQ(fault->other_thread, 32);
  EXPECT_NO_FAULT(run<32>(exchange(Barrier::kWarp, 1)));
  EXPECT_NO_FAULT(run<64>(exchange(Barrier::kWarp, 0)));
}

// The seed picks which of two racing threads comes last, never whether the race is found.
TEST_F(Team, FindsAMissingBarrierInEveryThreadOrder) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    EXPECT_TRUE(run<64>(exchange(Barrier::kAbsent, 1), 1, seed).has_value()) << seed;
    EXPECT_NO_FAULT(run<64>(exchange(Barrier::kTeam, 1), 1, seed));
  }
}

// Element 0 is read by the threads of `readers` in this order, then written by `writer`.
auto reads_then_write(std::vector<int32_t> readers, Barrier barrier, int32_t writer) {
  return [=](auto& team) {
    auto scratch = team.template shared<int32_t, 1, Scratch>();
    team.phase("set", [&](Thread t) {
      if (t.index == 0) scratch.store(t, 0, 7);
    });
    team.sync();
    for (const int32_t reader : readers) {
      team.phase("read", [&](Thread t) {
        if (t.index == reader) scratch.load(t, 0);
      });
    }
    wait(team, barrier);
    team.phase("overwrite", [&](Thread t) {
      if (t.index == writer) scratch.store(t, 0, 8);
    });
  };
}

TEST_F(Team, RemembersAnEarlierReaderBehindTheWritersOwnReads) {
  const auto same_warp = run<64>(reads_then_write({3, 5, 5}, Barrier::kAbsent, 5));
  EXPECT_FAULT(same_warp, FaultKind::kRace, "overwrite", 5, "scratch", 0);
  EXPECT_EQ(same_warp->access, Access::kWrite);
  EXPECT_EQ(same_warp->other_access, Access::kRead);
  EXPECT_EQ(same_warp->other_thread, 3);
  const auto other_warp = run<64>(reads_then_write({40, 5, 5}, Barrier::kWarp, 5));
  EXPECT_FAULT(other_warp, FaultKind::kRace, "overwrite", 5, "scratch", 0);
  EXPECT_EQ(other_warp->other_thread, 40);
  EXPECT_TRUE(run<64>(reads_then_write({5, 40, 3}, Barrier::kWarp, 5)).has_value());
  EXPECT_NO_FAULT(run<64>(reads_then_write({5, 5}, Barrier::kAbsent, 5)));
  EXPECT_NO_FAULT(run<64>(reads_then_write({3, 5, 5}, Barrier::kWarp, 5)));
  EXPECT_NO_FAULT(run<64>(reads_then_write({40, 5, 3}, Barrier::kTeam, 5)));
  EXPECT_NO_FAULT(run<64>([](auto& team) {
    auto scratch = team.template shared<int32_t, 1, Scratch>();
    const auto touch = [&](int32_t thread, auto access) {
      team.phase("touch", [&](Thread t) {
        if (t.index == thread) access(t);
      });
    };
    const auto read = [&](Thread t) { scratch.load(t, 0); };
    const auto write = [&](Thread t) { scratch.store(t, 0, 1); };
    touch(3, write);
    team.sync_warp();
    touch(3, read);
    touch(5, read);
    team.sync_warp();  // Thread 3's read is over, and thread 5's next one does not bring it back.
    touch(5, read);
    touch(5, write);
  }));
}

TEST_F(Team, ReportsTwoWritersOfOneElement) {
  const auto body = [](int32_t threads_an_element) {
    return [=](auto& team) {
      auto scratch = team.template shared<int32_t, 64, Scratch>();
      team.phase("write", [&](Thread t) { scratch.store(t, t.index / threads_an_element, 1); });
    };
  };
  const auto fault = run<64>(body(2));
  EXPECT_FAULT(fault, FaultKind::kRace, "write", 1, "scratch", 0);
  EXPECT_EQ(fault->other_thread, 0);
  EXPECT_NO_FAULT(run<64>(body(1)));
}

TEST_F(Team, CountsAReadAtTeamScopeAsEveryThreads) {
  const auto body = [](Barrier before, Barrier behind) {
    return [=](auto& team) {
      auto scratch = team.template shared<int32_t, 1, Scratch>();
      team.phase("write", [&](Thread t) {
        if (t.index == 9) scratch.store(t, 0, 5);
      });
      wait(team, before);
      EXPECT_EQ(scratch.load(0), 5);
      wait(team, behind);
      team.phase("overwrite", [&](Thread t) {
        if (t.index == 9) scratch.store(t, 0, 6);
      });
    };
  };
  const auto fault = run<64>(body(Barrier::kAbsent, Barrier::kTeam));
  EXPECT_FAULT(fault, FaultKind::kRace, kTeamScope, kEveryThread, "scratch", 0);
  EXPECT_EQ(fault->other_thread, 9);
  EXPECT_FAULT(run<64>(body(Barrier::kTeam, Barrier::kAbsent)), FaultKind::kRace, "overwrite", 9, "scratch", 0);
  const auto far_reader = run<64>(body(Barrier::kTeam, Barrier::kWarp));
  EXPECT_FAULT(far_reader, FaultKind::kRace, "overwrite", 9, "scratch", 0);
  EXPECT_EQ(far_reader->other_thread, 32);
  EXPECT_FAULT(run<64>(body(Barrier::kWarp, Barrier::kTeam)), FaultKind::kRace, kTeamScope, kEveryThread, "scratch", 0);
  EXPECT_NO_FAULT(run<32>(body(Barrier::kWarp, Barrier::kWarp)));
  EXPECT_NO_FAULT(run<64>(body(Barrier::kTeam, Barrier::kTeam)));
}

TEST_F(Team, ReportsASharedOverrun) {
  const auto body = [](int32_t shift) {
    return [=](auto& team) {
      auto scratch = team.template shared<int32_t, 64, Scratch>();
      team.phase("write", [&](Thread t) { scratch.store(t, t.index + shift, 1); });
    };
  };
  EXPECT_FAULT(run<64>(body(1)), FaultKind::kOverrun, "write", 63, "scratch", 64);
  EXPECT_FAULT(run<64>(body(-1)), FaultKind::kOverrun, "write", 0, "scratch", -1);
  EXPECT_NO_FAULT(run<64>(body(0)));
}

TEST_F(Team, ReportsASharedReadOfWhatThisCtaDidNotWrite) {
  const auto body = [](int32_t first_cta_that_skips) {
    return [=](auto& team) {
      auto scratch = team.template shared<int32_t, 32, Scratch>();
      team.phase("write", [&](Thread t) {
        if (team.index() < first_cta_that_skips || t.index != 17) scratch.store(t, t.index, 1);
      });
      team.sync();
      team.phase("read", [&](Thread t) { scratch.load(t, t.index); });
    };
  };
  const auto fault = run<32>(body(2), 3);  // What CTA 1 left there is not CTA 2's.
  EXPECT_FAULT(fault, FaultKind::kStaleRead, "read", 17, "scratch", 17);
  EXPECT_EQ(fault->cta, 2);
  EXPECT_NO_FAULT(run<32>(body(3), 3));
}

TEST_F(Team, ReportsAMisalignedSharedVector) {
  const auto body = [](int32_t shift) {
    return [=](auto& team) {
      auto scratch = team.template shared<int32_t, 68, Scratch>();
      team.phase("write", [&](Thread t) {
        scratch.store(t, 2 * t.index, 1);
        scratch.store(t, 2 * t.index + 1, 1);
        if (t.index < 4) scratch.store(t, 64 + t.index, 1);
      });
      team.sync();
      team.phase("read", [&](Thread t) {
        if (t.index < 16) scratch.template load_vector<4>(t, 4 * t.index + shift);
      });
    };
  };
  EXPECT_FAULT(run<32>(body(2)), FaultKind::kMisaligned, "read", 0, "scratch", 2);
  EXPECT_NO_FAULT(run<32>(body(4)));
  EXPECT_NO_FAULT(run<32>(body(0)));
}

}  // namespace
}  // namespace slotproof
