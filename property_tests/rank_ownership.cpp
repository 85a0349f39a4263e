// Decode context parallelism: the laws P1-P4, over the spec, the reference, the kernels' arithmetic and every back end.

#include "kernels/rank_ownership.h"
#include "property_tests/generators.h"
#include "reference/rank_ownership.h"
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

// Where three independent ways put a position.
struct Places {
  spec::Share spec, reference;
  OwnedPosition kernels;  // for the spec's rank; not owned where the arithmetic for powers of two differs from that for any sizes
};
Places places_of(const spec::RankOwnership& dcp, int32_t tok) {
  const spec::Share share = spec::share_of(dcp, tok);
  const RankDivisors divisors = rank_divisors(dcp.size, share.rank, dcp.interleave);
  OwnedPosition owned = owned_position_of(divisors, uint32_t(tok));
  if (std::has_single_bit(uint32_t(dcp.size)) && std::has_single_bit(uint32_t(dcp.interleave))) {
    const OwnedPosition shifted = owned_position_of<Sizes::kPowersOfTwo>(divisors, uint32_t(tok));
    if (shifted.local != owned.local || shifted.owned != owned.owned) owned = {shifted.local, false};
  }
  return {share, {reference::owner_of(dcp, tok), reference::local_of(dcp, tok)}, owned};
}
bool agree(const Places& p) {
  return p.spec.rank == p.reference.rank && p.spec.local == p.reference.local && p.kernels.owned && int64_t{p.kernels.local} == p.spec.local;
}

TEST(RankOwnership, TheWriterThatSkipsRoundsPutsEveryPositionWhereTheOneThatDealsThemDoes) {
  for (int32_t size = 1; size <= 9; ++size) {
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

class Ranks : public BackendTest {};

RemapCase one_request(const spec::RankOwnership& dcp, int32_t block_size, int64_t stride, std::vector<int32_t> blocks, std::vector<int32_t> positions) {
  RemapCase c;
  c.req_id = {0};
  const int32_t num_positions = int32_t(positions.size()), num_columns = int32_t(blocks.size());
  c.block_table = OwnedMatrix::of({std::move(blocks)}, num_columns);
  c.token_indices = OwnedMatrix::of({std::move(positions)}, num_positions);
  c.block_size = block_size;
  c.block_stride_rows = stride;
  c.dcp = dcp;
  return c;
}

std::vector<int32_t> shuffled_blocks(int32_t num_blocks) {
  std::vector<int32_t> blocks(static_cast<size_t>(num_blocks));
  for (int32_t b = 0; b < num_blocks; ++b) blocks[size_t(b)] = b;
  for (int32_t b = num_blocks - 1; b > 0; --b) std::swap(blocks[size_t(b)], blocks[size_t(*rc::gen::inRange(0, b + 1))]);
  return blocks;
}

std::vector<int32_t> run(Backend& backend, const RemapCase& c, int32_t* count = nullptr) {
  Frame frame(c, 1);
  const RunOutcome outcome = backend.run(frame, {.team_width = 64});
  RC_ASSERT(outcome.kind == RunOutcome::Kind::kDone);
  const spec::RemapProblem problem = frame.problem();
  if (count) *count = problem.valid_counts->data[0];
  return {problem.slots.data, problem.slots.data + problem.topk()};
}

// P1, with its premise: every rank's table covers its share, and the table of N = 1 covers all n positions.
TEST_P(Ranks, EveryPositionIsKeptByExactlyOneRankAndTheCountsAddUp) {
  EXPECT_TRUE(rc::check("ranks partition the positions: " + GetParam(), [&] {
    const int32_t size = *rc::gen::inRange(1, 10), interleave = *rc::gen::element(1, 2, 4), block_size = interleave * *rc::gen::inRange(1, 4), length = *rc::gen::inRange(1, 120);
    auto positions = *rc::gen::container<std::vector<int32_t>>(rc::gen::inRange(-2, length));
    const auto blocks_for = [&](int64_t num_positions) { return shuffled_blocks(int32_t((num_positions + block_size - 1) / block_size)); };
    int32_t count_alone = 0, count_of_ranks = 0;
    const auto alone = run(backend(), one_request({}, block_size, block_size, blocks_for(length), positions), &count_alone);
    std::vector<int32_t> num_keepers(positions.size());
    for (int32_t rank = 0; rank < size; ++rank) {
      const spec::RankOwnership dcp{size, rank, interleave};
      int32_t count = 0;
      const auto slots = run(backend(), one_request(dcp, block_size, block_size, blocks_for(*spec::local_length(dcp, length)), positions), &count);
      count_of_ranks += count;
      for (size_t k = 0; k < slots.size(); ++k) num_keepers[k] += slots[k] >= 0;
    }
    for (size_t k = 0; k < positions.size(); ++k) RC_ASSERT(num_keepers[k] == (alone[k] >= 0 ? 1 : 0));
    RC_ASSERT(count_of_ranks == count_alone);
  }));
}

// P4, literally: a writer fills each rank's cache position by position; every slot that the reader gets holds its position.
TEST_P(Ranks, TheReaderFindsEveryPositionWhereTheWriterPutIt) {
  EXPECT_TRUE(rc::check("reader and writer: " + GetParam(), [&] {
    const int32_t size = *rc::gen::inRange(1, 10), interleave = *rc::gen::element(1, 2, 4), block_size = interleave * *rc::gen::inRange(1, 4), num_columns = *rc::gen::inRange(1, 6);
    const int64_t stride = block_size + *rc::gen::inRange(0, 4);
    const int32_t num_stored = num_columns * block_size * size;
    const std::vector<int32_t> blocks = shuffled_blocks(num_columns);  // the same on every rank
    std::vector<std::map<int64_t, int32_t>> caches(static_cast<size_t>(size));  // row -> position
    spec::Writer writer({size, 0, interleave});
    std::vector<int64_t> num_written(caches.size());
    for (int32_t tok = 0; tok < num_stored; ++tok) {
      const auto rank = size_t(writer.deal().rank);
      const int64_t local = num_written[rank]++;
      caches[rank][blocks[size_t(local / block_size)] * stride + local % block_size] = tok;
    }
    std::vector<int32_t> positions;
    for (int32_t tok = 0; tok < num_stored + block_size; ++tok) positions.push_back(tok);
    for (int32_t rank = 0; rank < size; ++rank) {
      const auto slots = run(backend(), one_request({size, rank, interleave}, block_size, stride, blocks, positions));
      auto& cache = caches[size_t(rank)];
      for (const int32_t tok : positions) {
        if (slots[size_t(tok)] < 0) continue;
        const auto row = cache.find(slots[size_t(tok)]);
        RC_ASSERT(row != cache.end());
        RC_ASSERT(row->second == tok);
        cache.erase(row);
      }
      RC_ASSERT(cache.empty());  // nothing that was written is out of the reader's reach
    }
  }));
}

INSTANTIATE_TEST_SUITE_P(Backends, Ranks, testing::ValuesIn(kBackends), name_of_parameter);

}  // namespace
}  // namespace slotproof::harness
