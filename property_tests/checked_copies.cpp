// The host context finds misuse of asynchronous copies into shared memory, and nothing else. Each misuse stands beside its correct
// twin.

#include "property_tests/team_fixture.h"

#include <iterator>
#include <numeric>

namespace slotproof {
namespace {

// The first thread of each of two warps copies four elements of the row; the first four threads of each read the element that
// lies `distance` further on.
struct Copying {
  bool waits = true;
  Barrier barrier = Barrier::kTeam;
  int32_t distance = 1;
};
auto copies(Copying how, Table row) {
  return [=](auto& team) {
    auto scratch = team.template shared<int32_t, 64, Scratch>();
    const auto place_of = [](int32_t thread) { return thread / kWarpSize * 4 + thread % kWarpSize; };
    team.phase("copy", [&](Thread t) {
      if (t.lane() == 0) team.template copy_async<4>(t, scratch, place_of(t.index), row, 0, true);
    });
    if (how.waits) team.wait_async();
    wait(team, how.barrier);
    team.phase("read", [&](Thread t) {
      if (t.lane() < 4) {
        EXPECT_EQ(scratch.load(t, (place_of(t.index) + how.distance) % 8), row.data[(t.lane() + how.distance) % 4]);
      }
    });
  };
}

TEST_F(Team, ReportsAReadOfACopyThatNobodyWaitedFor) {
  std::iota(std::begin(table_), std::end(table_), 100);
  EXPECT_FAULT(run<64>(copies({.waits = false}, table_row(1))), FaultKind::kStaleRead, "read", 0, "scratch", 1);
  EXPECT_FAULT(run<64>(copies({.waits = false, .barrier = Barrier::kAbsent, .distance = 0}, table_row(1))), FaultKind::kStaleRead, "read", 0, "scratch", 0);
  EXPECT_NO_FAULT(run<64>(copies({}, table_row(1))));
}

TEST_F(Team, ReportsAReadOfAnotherThreadsCopyWithNoBarrierBehindTheWait) {
  std::iota(std::begin(table_), std::end(table_), 100);
  const auto fault = run<64>(copies({.barrier = Barrier::kAbsent}, table_row(2)));
  EXPECT_FAULT(fault, FaultKind::kRace, "read", 1, "scratch", 2);
  EXPECT_EQ(fault->other_access, Access::kWrite);
  EXPECT_EQ(fault->other_thread, 0);
  EXPECT_FAULT(run<64>(copies({.barrier = Barrier::kWarp}, table_row(2))), FaultKind::kRace, "read", 3, "scratch", 4);
  EXPECT_NO_FAULT(run<64>(copies({.barrier = Barrier::kWarp, .distance = 0}, table_row(2))));
  EXPECT_NO_FAULT(run<64>(copies({}, table_row(2))));
}

TEST_F(Team, ReportsACopyThatLeavesItsArrayOrItsRowOrABoundary) {
  const auto body = [this](int32_t j, int32_t i, int32_t offset = 0, bool is_given = true) {
    return [=, this](auto& team) {
      auto scratch = team.template shared<int32_t, 64, Scratch>();
      team.phase("copy", [&](Thread t) {
        if (t.index == 5) team.template copy_async<4>(t, scratch, j, Table{table_row(1).data + offset, kColumns}, i, is_given);
      });
      team.wait_async();
      team.phase("read", [&](Thread t) {
        if (t.index == 5) scratch.template load_vector<4>(t, j);
      });
    };
  };
  const auto beyond = run<32>(body(64, 0));
  EXPECT_FAULT(beyond, FaultKind::kOverrun, "copy", 5, "scratch", 64);
  EXPECT_EQ(beyond->access, Access::kWrite);
  EXPECT_FAULT(run<32>(body(62, 0)), FaultKind::kOverrun, "copy", 5, "scratch", 64);
  EXPECT_FAULT(run<32>(body(-4, 0)), FaultKind::kOverrun, "copy", 5, "scratch", -4);
  EXPECT_FAULT(run<32>(body(8, 4)), FaultKind::kOverrun, "copy", 5, "block_table", kColumns);
  EXPECT_FAULT(run<32>(body(8, 1)), FaultKind::kMisaligned, "copy", 5, "block_table", 1);
  const auto misaligned = run<32>(body(10, 0));
  EXPECT_FAULT(misaligned, FaultKind::kMisaligned, "copy", 5, "scratch", 10);
  EXPECT_EQ(misaligned->access, Access::kWrite);
  EXPECT_TRUE(run<32>(body(8, 0, 4)).has_value());  // No row begins there.
  EXPECT_NO_FAULT(run<32>(body(8, 0)));
  EXPECT_NO_FAULT(run<32>(body(60, 0)));
  EXPECT_NO_FAULT(run<32>(body(8, 99, 0, false)));  // Zeros come from nowhere.
  EXPECT_FAULT(run<32>(body(62, 99, 0, false)), FaultKind::kOverrun, "copy", 5, "scratch", 64);
}

TEST_F(Team, CopiesZerosWhereNothingIsGiven) {
  std::iota(std::begin(table_), std::end(table_), 100);
  const auto body = [this](auto& team) {
    auto scratch = team.template shared<int32_t, 64, Scratch>();
    team.phase("fill", [&](Thread t) {
      if (t.index < 20) scratch.store(t, t.index, 7);
    });
    team.sync();
    team.phase("copy", [&](Thread t) {
      if (t.index < 5) team.template copy_async<4>(t, scratch, t.index * 4, table_row(1), 0, t.index % 2 == 0);
    });
    team.wait_async();
    team.sync();
    team.phase("read", [&](Thread t) {
      if (t.index < 20) {
        EXPECT_EQ(scratch.load(t, t.index), t.index / 4 % 2 == 0 ? table_row(1).data[t.index % 4] : 0);
      }
    });
  };
  EXPECT_NO_FAULT(run<32>(body));
}

TEST_F(Team, ReportsAWriteWhileACopyIsOnItsWay) {
  const auto body = [this](int32_t written, bool before_the_wait, int32_t writer = 0) {
    return [=, this](auto& team) {
      auto scratch = team.template shared<int32_t, 64, Scratch>();
      team.phase("copy", [&](Thread t) {
        if (t.index == 0) team.template copy_async<4>(t, scratch, 4, table_row(0), 0, true);
      });
      if (!before_the_wait) team.wait_async();
      team.sync();
      team.phase("write", [&](Thread t) {
        if (t.index == writer) scratch.store(t, written, 9);
      });
      if (before_the_wait) team.wait_async();
    };
  };
  EXPECT_FAULT(run<64>(body(6, true)), FaultKind::kRace, kTeamScope, 0, "scratch", 6);
  EXPECT_FAULT(run<64>(body(6, true, 40)), FaultKind::kRace, kTeamScope, 0, "scratch", 6);
  EXPECT_NO_FAULT(run<64>(body(8, true, 40)));
  EXPECT_NO_FAULT(run<64>(body(6, false, 40)));
}

TEST_F(Team, ReportsACopyOntoWhatOthersMayStillRead) {
  const auto body = [this](Barrier barrier) {
    return [=, this](auto& team) {
      auto scratch = team.template shared<int32_t, 64, Scratch>();
      team.phase("write", [&](Thread t) { scratch.store(t, t.index, 1); });
      team.sync();
      team.phase("read", [&](Thread t) { scratch.load(t, (t.index + 1) % 64); });
      wait(team, barrier);
      team.phase("copy", [&](Thread t) {
        if (t.index == 40) team.template copy_async<4>(t, scratch, 0, table_row(0), 0, true);
      });
    };
  };
  const auto fault = run<64>(body(Barrier::kWarp));
  EXPECT_FAULT(fault, FaultKind::kRace, "copy", 40, "scratch", 1);
  EXPECT_EQ(fault->other_access, Access::kRead);
  EXPECT_EQ(fault->other_thread, 0);
  EXPECT_NO_FAULT(run<64>(body(Barrier::kTeam)));
}

}  // namespace
}  // namespace slotproof
