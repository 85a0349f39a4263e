// Decode context parallelism: the arithmetic of P1-P4, over the spec, the reference and the kernels. On whole problems: laws.cpp.

#include "property_tests/generators.h"
#include "property_tests/harness/rank_places.h"
#include "spec/rank_ownership.h"
#include "spec/remap.h"

#include <rapidcheck/gtest.h>
#include <slotproof/rank_ownership.h>

#include <bit>
#include <limits>
#include <map>

namespace slotproof::harness {
namespace {

constexpr int32_t kIntMax = std::numeric_limits<int32_t>::max();

TEST(RankOwnership, TheWriterThatSkipsRoundsPutsEveryPositionWhereTheOneThatDealsThemDoes) {
  for (const int32_t size : {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 17, 19, 23, 29, 31}) {
    for (const int32_t interleave : {1, 2, 3, 16, 64}) {
      const spec::RankOwnership dcp{size, 0, interleave};
      spec::Writer writer(dcp);
      for (int32_t tok = 0; tok < 3000; ++tok) {
        const spec::Share dealt = writer.deal();
        ASSERT_TRUE(dealt.rank == spec::share_of(dcp, tok).rank && dealt.local == spec::share_of(dcp, tok).local) << "N " << size << " I " << interleave << " position " << tok;
        ASSERT_TRUE(agree(places_of(dcp, tok))) << "N " << size << " I " << interleave << " position " << tok;
      }
    }
  }
}

rc::Gen<spec::RankOwnership> any_dcp() {
  return rc::gen::exec([] {
    const auto number = rc::gen::oneOf(rc::gen::inRange(1, 12), rc::gen::element(13, 17, 19, 23, 29, 31, 48, 64, 1000003, kIntMax, kIntMax - 1, 1 << 30), rc::gen::inRange(1, kIntMax));
    const int32_t size = *number, interleave = *number;
    return spec::RankOwnership{size, *rc::gen::element(0, size - 1, std::min(size - 1, 1)), interleave};
  });
}
rc::Gen<int32_t> any_position() { return rc::gen::oneOf(rc::gen::inRange(0, 300), rc::gen::inRange(0, kIntMax), rc::gen::element(0, kIntMax, kIntMax - 1)); }

RC_GTEST_PROP(RankOwnership, AllThreeArithmeticsAgreeOnEveryPosition, ()) {
  const spec::RankOwnership dcp = *any_dcp();
  const int32_t tok = *any_position();
  RC_ASSERT(agree(places_of(dcp, tok)));
}

// P2: one-to-one, in order, onto [0, local_length), and the lengths sum to n.
RC_GTEST_PROP(RankOwnership, LocalPositionsAreDenseAndTheLengthsAddUp, ()) {
  const int32_t size = *rc::gen::inRange(1, 32), interleave = *rc::gen::element(1, 2, 3, 4, 16), length = *rc::gen::inRange(0, 2000);
  std::map<int32_t, int64_t> next;  // of each rank
  for (int32_t tok = 0; tok < length; ++tok) {
    const Places places = places_of({size, 0, interleave}, tok);
    RC_ASSERT(agree(places));
    RC_ASSERT(places.spec.local == next[places.spec.rank]++);
  }
  for (int32_t rank = 0; rank < size; ++rank) {
    RC_ASSERT(spec::local_length({size, rank, interleave}, length) == next[rank]);
    RC_ASSERT(reference::dcp_local_length(length, {size, rank, interleave}) == next[rank]);
    RC_ASSERT(dcp_local_length(length, RankOwnership{size, rank, interleave}) == next[rank]);
  }
}

RC_GTEST_PROP(RankOwnership, LocalLengthsOfLongContextsAgree, ()) {
  const spec::RankOwnership dcp = *any_dcp();
  const int32_t length = *any_position();
  const auto due = spec::local_length(dcp, length);
  RC_ASSERT(due.has_value());
  RC_ASSERT(reference::dcp_local_length(length, dcp) == due);
  RC_ASSERT(dcp_local_length(length, RankOwnership{dcp.size, dcp.rank, dcp.interleave}) == due);
}

TEST(RankOwnership, ANegativeLengthIsRefused) {
  for (const int32_t length : {-1, std::numeric_limits<int32_t>::min()}) {
    EXPECT_FALSE(spec::local_length({2, 0, 1}, length));
    EXPECT_FALSE(reference::dcp_local_length(length, {2, 0, 1}));
    EXPECT_FALSE(dcp_local_length(length, RankOwnership{2, 0, 1}));
  }
}

// There and back: a position's share leads to the position, and a rank's local position to that share.
RC_GTEST_PROP(RankOwnership, SharesLeadBackToTheirPositions, ()) {
  const spec::RankOwnership dcp = *any_dcp();
  const int32_t tok = *any_position();
  RC_ASSERT(spec::position_of(dcp, spec::share_of(dcp, tok)) == tok);
  const spec::Share share{*rc::gen::inRange(0, dcp.size), tok};
  const int64_t position = spec::position_of(dcp, share);
  RC_PRE(position <= kIntMax);
  const spec::Share back = spec::share_of(dcp, int32_t(position));
  RC_ASSERT(back.rank == share.rank && back.local == share.local);
}

// P3: a group's positions lie in one block, one behind the other.
RC_GTEST_PROP(RankOwnership, AGroupLiesInOneBlockAtNeighbouringOffsets, ()) {
  const int32_t interleave = *rc::gen::element(1, 2, 3, 4, 16), block_size = interleave * *rc::gen::inRange(1, 5), size = *rc::gen::inRange(1, 10);
  const int32_t group = *rc::gen::inRange(0, 1000);
  const auto place = [&](int32_t tok) { return spec::block_place_of(spec::share_of({size, 0, interleave}, tok).local, block_size); };
  const spec::BlockPlace first = place(group * interleave);
  for (int32_t i = 1; i < interleave; ++i) {
    RC_ASSERT(place(group * interleave + i).column == first.column);
    RC_ASSERT(place(group * interleave + i).offset == first.offset + i);
  }
}

// P1-P4 on whole problems and back ends: laws.cpp.

}  // namespace
}  // namespace slotproof::harness
