// The host context finds misuse of the tensors of a launch, and nothing else. Each misuse stands beside its correct twin.

#include "property_tests/team_fixture.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace slotproof {
namespace {

TEST_F(Team, ReportsAnAccessIntoTheGapBehindARow) {
  const auto body = [&](int32_t believed_columns, int32_t i) {
    return [=, this](auto& team) {
      team.phase("read", [&](Thread t) {
        if (t.index == 3) team.load(t, Table{table_row(2).data, believed_columns}, i);
      });
    };
  };
  const auto gap = run<32>(body(kTableStride, kColumns));  // A body that took the stride for the width.
  EXPECT_FAULT(gap, FaultKind::kOverrun, "read", 3, "block_table", kColumns);
  EXPECT_EQ(gap->row, 2);
  EXPECT_EQ(gap->access, Access::kRead);
  EXPECT_FAULT(run<32>(body(kTableStride, -1)), FaultKind::kOverrun, "read", 3, "block_table", -1);
  EXPECT_FAULT(run<32>(body(2, 2)), FaultKind::kOverrun, "read", 3, "block_table", 2);
  EXPECT_NO_FAULT(run<32>(body(kTableStride, kColumns - 1)));
}

TEST_F(Team, ReportsARowThatBeginsNowhere) {
  const auto body = [&](int64_t offset) {
    return [=, this](auto& team) {
      team.phase("read", [&](Thread t) {
        if (t.index == 1) team.load(t, Table{table_ + offset, kColumns}, 0);
      });
    };
  };
  const auto fault = run<32>(body(2 * kTableStride + 1));
  EXPECT_FAULT(fault, FaultKind::kOverrun, "read", 1, "block_table", 2 * kTableStride + 1);
  EXPECT_EQ(fault->row, -1);
  EXPECT_TRUE(run<32>(body(kRows * kTableStride)).has_value());
  EXPECT_NO_FAULT(run<32>(body(2 * kTableStride)));
}

TEST_F(Team, ReportsAnAccessToATensorThatTheCallDoesNotHave) {
  const auto fault = run<32>([&](auto& team) { team.load(TensorRow<TensorId::kReqId>{table_, kColumns}, 0); });
  EXPECT_FAULT(fault, FaultKind::kOverrun, kTeamScope, kEveryThread, "req_id", reinterpret_cast<intptr_t>(table_) / 4);
}

TEST_F(Team, ReportsAVectorThatLeavesItsRow) {
  const auto body = [&](int32_t column) {
    return [=, this](auto& team) {
      team.phase("write", [&](Thread t) {
        if (t.index == 0) team.template store_vector<4>(t, Slots{slots_, 2 * kSlotColumns}, column, Items<4>{});
      });
    };
  };
  EXPECT_FAULT(run<32>(body(kSlotColumns - 2)), FaultKind::kOverrun, "write", 0, "slots", kSlotColumns);
  EXPECT_FAULT(run<32>(body(kSlotColumns - 6)), FaultKind::kMisaligned, "write", 0, "slots", kSlotColumns - 6);
  EXPECT_NO_FAULT(run<32>(body(kSlotColumns - 4)));
}

// CTA i writes the row of its own number, or all of them the same row; element `column`.
TEST_F(Team, ReportsTwoCtasThatWriteOneElement) {
  const auto body = [&](bool shares_a_row) {
    return [=, this](auto& team) {
      team.phase("write", [&](Thread t) {
        if (t.index == 6) team.store(t, slots_row(shares_a_row ? 1 : team.index()), 44, team.index());
      });
    };
  };
  const auto fault = run<32>(body(true), 2);
  EXPECT_FAULT(fault, FaultKind::kRace, "write", 6, "slots", 44);
  EXPECT_EQ(fault->row, 1);
  EXPECT_EQ(fault->cta, 1);
  EXPECT_EQ(fault->other_cta, 0);
  EXPECT_EQ(fault->other_thread, 6);
  EXPECT_STREQ(status_of(*fault).message(),
               "race: phase 'write' of CTA 1: thread 6 writes slots[1, 44], which thread 6 of CTA 0 wrote in the same launch");
  EXPECT_NO_FAULT(run<32>(body(false), 2));
  EXPECT_NO_FAULT(run<32>(body(true), 1));
  EXPECT_NO_FAULT(run<32>(body(true), 1));  // Another launch may write it again.
}

TEST_F(Team, ReportsACtaThatReadsWhatAnotherWrites) {
  const auto body = [&](int32_t row_read_by_cta_1) {
    return [=, this](auto& team) {
      team.phase("write", [&](Thread t) { team.store(t, slots_row(team.index()), t.index, 1); });
      team.sync();
      team.phase("read", [&](Thread t) {
        if (team.index() == 1 && t.index == 8) team.load(t, slots_row(row_read_by_cta_1), 20);
      });
    };
  };
  const auto fault = run<32>(body(0), 2);
  EXPECT_FAULT(fault, FaultKind::kRace, "read", 8, "slots", 20);
  EXPECT_EQ(fault->other_cta, 0);
  EXPECT_EQ(fault->other_thread, 20);
  EXPECT_NO_FAULT(run<32>(body(1), 2));
}

TEST_F(Team, ReportsAReadOfAnOutputThatNobodyWroteInThisLaunch) {
  const auto body = [&](bool writes) {
    return [=, this](auto& team) {
      team.phase("write", [&](Thread t) {
        if (writes) team.store(t, slots_row(0), t.index, 1);
      });
      team.phase("read", [&](Thread t) { team.load(t, slots_row(0), t.index); });
    };
  };
  EXPECT_NO_FAULT(run<32>(body(true)));
  EXPECT_FAULT(run<32>(body(false)), FaultKind::kStaleRead, "read", 0, "slots", 0);  // The launch before wrote it.
}

TEST_F(Team, ReportsThreadsOfOneCtaThatRaceOnAnOutput) {
  const auto body = [&](Barrier barrier) {
    return [=, this](auto& team) {
      team.phase("write", [&](Thread t) { team.store(t, slots_row(0), t.index, 1); });
      wait(team, barrier);
      team.phase("read", [&](Thread t) { team.load(t, slots_row(0), (t.index + 32) % 64); });
    };
  };
  EXPECT_FAULT(run<64>(body(Barrier::kWarp)), FaultKind::kRace, "read", 0, "slots", 32);
  EXPECT_NO_FAULT(run<64>(body(Barrier::kTeam)));
}

TEST_F(Team, LetsAtomicAddsOfAllThreadsAndCtasMeet) {
  totals_[3] = std::numeric_limits<int64_t>::max();
  EXPECT_NO_FAULT(run<64>([&](auto& team) {
    team.phase("add", [&](Thread t) { team.atomic_add(t, totals_row(), 3, t.index); });
    team.phase("add", [&](Thread t) { team.atomic_add(t, totals_row(), 3, 1); });
  }, 3, 5));
  EXPECT_EQ(totals_[3], std::numeric_limits<int64_t>::min() + 3 * (63 * 64 / 2 + 64) - 1);
}

TEST_F(Team, ReportsAnAddBehindTheLastCounter) {
  const auto body = [&](int32_t i) {
    return [=, this](auto& team) { team.phase("add", [&](Thread t) { team.atomic_add(t, Totals{totals_, 100}, i, 1); }); };
  };
  const auto fault = run<32>(body(kNumTotals));
  EXPECT_FAULT(fault, FaultKind::kOverrun, "add", 0, "totals", kNumTotals);
  EXPECT_STREQ(status_of(*fault).message(), "overrun: phase 'add' of CTA 0: thread 0 adds to totals[0, 8], which is no element");
  EXPECT_NO_FAULT(run<32>(body(kNumTotals - 1)));
  // Elements are counted in counters of 64 bits.
  const auto inside = run<32>([&](auto& team) { team.phase("add", [&](Thread t) { team.atomic_add(t, Totals{totals_ + 2, 4}, 1, 1); }); });
  EXPECT_FAULT(inside, FaultKind::kOverrun, "add", 0, "totals", 3);
  EXPECT_EQ(inside->row, -1);
}

TEST_F(Team, ReportsALoadByEveryThreadThatIsNotBehindEveryAdd) {
  const auto body = [&](Barrier barrier) {
    return [=, this](auto& team) {
      team.phase("add", [&](Thread t) {
        if (t.index == 5) team.atomic_add(t, totals_row(), 3, 1);
      });
      wait(team, barrier);
      team.load(totals_row(), 3);
    };
  };
  EXPECT_FAULT(run<64>(body(Barrier::kWarp)), FaultKind::kRace, kTeamScope, kEveryThread, "totals", 3);
  EXPECT_FAULT(run<32>(body(Barrier::kAbsent)), FaultKind::kRace, kTeamScope, kEveryThread, "totals", 3);
  EXPECT_NO_FAULT(run<64>(body(Barrier::kTeam)));
  EXPECT_NO_FAULT(run<32>(body(Barrier::kWarp)));
}

// What a thread does to the one counter, and who else does something plain to it.
enum class Plain { kLoad, kStore };
template <class Body>
void touch(Body& team, Totals totals, Thread t, Plain how) {
  if (how == Plain::kLoad) team.load(t, totals, 3);
  else team.store(t, totals, 3, 7);
}

TEST_F(Team, ReportsAnAddAndAPlainAccessWithNoBarrierBetween) {
  for (const Plain how : {Plain::kLoad, Plain::kStore}) {
    for (const int32_t other : {1, 33}) {
      const auto body = [&](Barrier barrier, bool add_first) {
        return [=, this](auto& team) {
          team.phase("start", [&](Thread t) {
            if (t.index == other) team.store(t, totals_row(), 3, 0);
          });
          team.sync();
          const auto add = [&] {
            team.phase("add", [&](Thread t) {
              if (t.index == 0) team.atomic_add(t, totals_row(), 3, 1);
            });
          };
          if (add_first) add();
          if (add_first) wait(team, barrier);
          team.phase("touch", [&](Thread t) {
            if (t.index == other) touch(team, totals_row(), t, how);
          });
          if (!add_first) wait(team, barrier);
          if (!add_first) add();
        };
      };
      const Access access = how == Plain::kLoad ? Access::kRead : Access::kWrite;
      const auto behind = run<64>(body(Barrier::kAbsent, true)), before = run<64>(body(Barrier::kAbsent, false));
      EXPECT_FAULT(behind, FaultKind::kRace, "touch", other, "totals", 3);
      EXPECT_TRUE(behind->access == access && behind->other_access == Access::kAdd && behind->other_thread == 0);
      EXPECT_FAULT(before, FaultKind::kRace, "add", 0, "totals", 3);
      EXPECT_TRUE(before->access == Access::kAdd && before->other_access == access && before->other_thread == other);
      for (const bool add_first : {true, false}) {
        EXPECT_EQ(run<64>(body(Barrier::kWarp, add_first)).has_value(), other == 33);
        EXPECT_NO_FAULT(run<64>(body(Barrier::kTeam, add_first)));
      }
    }
  }
}

TEST_F(Team, ReportsAnAddThatALaterAddHides) {
  const auto body = [&](int32_t earlier) {
    return [=, this](auto& team) {
      for (const int32_t adder : {earlier, 0}) {
        team.phase("add", [&](Thread t) {
          if (t.index == adder) team.atomic_add(t, totals_row(), 3, 1);
        });
      }
      team.phase("load", [&](Thread t) {
        if (t.index == 0) team.load(t, totals_row(), 3);
      });
    };
  };
  for (const int32_t earlier : {5, 40}) {
    const auto fault = run<64>(body(earlier));
    EXPECT_FAULT(fault, FaultKind::kRace, "load", 0, "totals", 3);
    EXPECT_EQ(fault->other_thread, earlier);
  }
  EXPECT_NO_FAULT(run<64>(body(0)));
}

// No barrier orders two CTAs. `last` is what CTA 1 does behind its own add, if it adds.
TEST_F(Team, ReportsAnAddAndAPlainAccessOfTwoCtas) {
  const auto body = [&](bool cta_1_adds, Plain how, int32_t by_cta) {
    return [=, this](auto& team) {
      team.phase("add", [&](Thread t) {
        if (t.index == 2 && (team.index() == 0 || cta_1_adds)) team.atomic_add(t, totals_row(), 3, 1);
      });
      team.sync();
      team.phase("touch", [&](Thread t) {
        if (t.index == 2 && team.index() == by_cta) touch(team, totals_row(), t, how);
      });
    };
  };
  for (const Plain how : {Plain::kLoad, Plain::kStore}) {
    for (const bool cta_1_adds : {true, false}) {
      const auto fault = run<32>(body(cta_1_adds, how, 1), 2);
      EXPECT_FAULT(fault, FaultKind::kRace, "touch", 2, "totals", 3);
      EXPECT_TRUE(fault->other_access == Access::kAdd && fault->cta == 1 && fault->other_cta == 0);
    }
    const auto fault = run<32>(body(true, how, 0), 2);
    EXPECT_FAULT(fault, FaultKind::kRace, "add", 2, "totals", 3);
    EXPECT_TRUE(fault->access == Access::kAdd && fault->cta == 1 && fault->other_cta == 0);
    EXPECT_NO_FAULT(run<32>(body(false, how, 0), 2));
    EXPECT_NO_FAULT(run<32>(body(true, how, 2), 2));
  }
  EXPECT_STREQ(status_of(*run<32>(body(true, Plain::kStore, 0), 2)).message(),
               "race: phase 'add' of CTA 1: thread 2 adds to totals[0, 3], which thread 2 of CTA 0 wrote in the same launch");
}

}  // namespace
}  // namespace slotproof
