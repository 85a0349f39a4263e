// Each rule at its edges, by hand: the numbers below were worked out on paper from the rules, not by any code here.

#include "property_tests/backends.h"
#include "property_tests/harness/judge.h"

#include <limits>

namespace slotproof::harness {
namespace {

constexpr int32_t kMax = std::numeric_limits<int32_t>::max();
constexpr int32_t kMin = std::numeric_limits<int32_t>::min();
using Rows = std::vector<std::vector<int32_t>>;

class Examples : public BackendTest {
 protected:
  // The call's outputs are these, and no invariant has a complaint.
  void expect(const RemapCase& c, const Rows& slots, const std::vector<int32_t>& counts, const std::vector<int32_t>& team_widths = {32, 256}) {
    for (const int32_t team_width : team_widths) {
      Frame frame(c, 7);
      const RunOutcome run = backend().run(frame, {.team_width = team_width, .thread_order_seed = 3, .cta_order_seed = 5});
      ASSERT_EQ(run.kind, RunOutcome::Kind::kDone) << run.message;
      const spec::RemapProblem problem = frame.problem();
      for (int32_t t = 0; t < problem.num_tokens(); ++t) {
        for (int32_t k = 0; k < problem.topk(); ++k) EXPECT_EQ(problem.slots.view()(t, k), slots[size_t(t)][size_t(k)]) << "slots[" << t << ", " << k << "]";
        if (problem.valid_counts) {
          EXPECT_EQ(problem.valid_counts->view()[t], counts[size_t(t)]) << "valid_counts[" << t << "]";
        }
      }
    }
    for (const Finding& finding : judge(backend(), c).findings) ADD_FAILURE() << describe(finding);
  }
};
INSTANTIATE_TEST_SUITE_P(Backends, Examples, testing::ValuesIn(kBackends), name_of_parameter);

// Two requests of three blocks of four; blocks 7, 3, 5 and 2, 9, 0.
RemapCase plain(Rows positions, std::vector<int32_t> requests = {0}) {
  RemapCase c;
  c.req_id = std::move(requests);
  c.block_table = OwnedMatrix::of({{7, 3, 5}, {2, 9, 0}});
  c.token_indices = OwnedMatrix::of(std::move(positions));
  c.block_size = 4;
  c.block_stride_rows = 4;
  return c;
}
RemapCase compacted(RemapCase c) {
  c.placement = spec::Placement::kCompacted;
  return c;
}

TEST_P(Examples, R1EveryNegativeIsPadding) { expect(plain({{-1, 0, kMin, -4, 3, -5}}), {{-1, 28, -1, -1, 31, -1}}, {2}); }

TEST_P(Examples, R2AWorkspaceRowIgnoresTableAndRequest) {
  RemapCase c = plain({{0, 11, 12, kMax}, {0, 11, 12, kMax}}, {99, 0});
  c.prefill = OwnedPrefill{{0, -7}, {100}, {}};
  c.num_blocks = 0;
  c.block_table = OwnedMatrix::of({{7, 3, 5}});
  expect(c, {{100, 111, 112, -1}, {-1, -1, -1, -1}}, {3, 0});
}
TEST_P(Examples, R2IdsAndStartsOutsideTheWorkspaceGiveNone) {
  RemapCase c = plain({{0}, {0}, {0}, {0}, {0}}, {0, 0, 0, 0, 0});
  c.prefill = OwnedPrefill{{0, 1, 2, kMax, kMin}, {5, -1}, {}};
  expect(c, {{5}, {-1}, {-1}, {-1}, {28}}, {1, 0, 0, 0, 1});
}
TEST_P(Examples, R2TheLastWorkspaceRow) {
  RemapCase c = plain({{8, 9, 10}});
  c.prefill = OwnedPrefill{{0}, {90}, 100};
  expect(c, {{98, 99, -1}}, {2});
}
TEST_P(Examples, R9AWorkspaceRowAboveInt32) {
  RemapCase c = plain({{6, 7, 8}});
  c.prefill = OwnedPrefill{{0}, {kMax - 7}, {}};
  expect(c, {{kMax - 1, kMax, -1}}, {2});
}

TEST_P(Examples, R3R4PositionsAreDealtInGroups) {
  RemapCase c = plain({{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}});
  c.dcp = {2, 1, 2};  // rank 1 owns 2, 3, 6, 7, ... as local 0, 1, 2, 3, ...
  expect(c, {{-1, -1, 28, 29, -1, -1, 30, 31, -1, -1}}, {4});
  c.dcp = {2, 0, 2};
  expect(c, {{28, 29, -1, -1, 30, 31, -1, -1, 12, 13}}, {6});
}
TEST_P(Examples, R4ARoundBeyondInt32) {
  RemapCase c = plain({{0, 3, 4, kMax}});
  c.block_size = c.dcp.interleave = 4;
  c.dcp = {kMax, 0, 4};
  expect(c, {{28, 31, -1, -1}}, {2});
  c.dcp = {kMax, (kMax / 4), 4};  // rank 536870911 owns 2147483644 ... 2147483647
  expect(c, {{-1, -1, -1, 31}}, {1});
}
TEST_P(Examples, ARankThatOwnsNothing) {
  RemapCase c = compacted(plain({{0, 1, 4, 5}}));
  c.dcp = {4, 3, 1};
  expect(c, {{-1, -1, -1, -1}}, {0});
}

TEST_P(Examples, R5RequestRowsAtTheEdges) {
  expect(plain({{0}, {0}, {0}, {0}, {0}, {0}}, {0, 1, 2, -1, kMin, kMax}), {{28}, {8}, {-1}, {-1}, {-1}, {-1}}, {1, 1, 0, 0, 0, 0});
}
TEST_P(Examples, R6ColumnsAtTheEdge) { expect(plain({{7, 8, 11, 12, 13, kMax}}), {{15, 20, 23, -1, -1, -1}}, {3}); }
TEST_P(Examples, R6TheWidthIsNotTheStride) {
  RemapCase c = plain({{8, 11, 12}}, {0});
  c.block_table = OwnedMatrix{2, 2, 4, {7, 3, 44, 55, 2, 9, 66, 77}};  // columns 2 and 3 are hidden
  expect(c, {{-1, -1, -1}}, {0});
}
TEST_P(Examples, R7EntriesAtTheEdges) {
  RemapCase c = plain({{0, 4, 8, 12, 16}});
  c.block_table = OwnedMatrix::of({{-1, kMin, 8, 9, 10}});
  expect(c, {{-1, -1, 32, 36, 40}}, {3});
  c.num_blocks = 9;
  expect(c, {{-1, -1, 32, -1, -1}}, {1});
  c.num_blocks = 0;
  expect(c, {{-1, -1, -1, -1, -1}}, {0});
  c.num_blocks = int64_t{1} << 40;
  expect(c, {{-1, -1, 32, 36, 40}}, {3});
}
TEST_P(Examples, R8TheStrideCountsFromBlocksOtherThanTheFirst) {
  RemapCase c = plain({{0, 3, 4, 11}, {8, 9, 10, 11}}, {0, 1});
  c.block_stride_rows = 10;
  expect(c, {{70, 73, 30, 53}, {0, 1, 2, 3}}, {4, 4});
  c.dcp = {2, 1, 4};  // rank 1's local 0 ... 3 are positions 4 ... 7
  expect(c, {{-1, -1, 70, -1}, {-1, -1, -1, -1}}, {1, 0});
}
TEST_P(Examples, R9TheLastSlotAndTheNext) {
  RemapCase c = plain({{0, 3, 4}});
  c.block_table = OwnedMatrix::of({{536870911, 536870912}});  // (2^31 - 4) / 4 and 2^31 / 4
  expect(c, {{kMax - 3, kMax, -1}}, {2});
}
TEST_P(Examples, R9TheOffsetAloneLeavesInt32) {
  RemapCase c = plain({{0, 1, 2, 3}});
  c.block_table = OwnedMatrix::of({{1}});
  c.block_stride_rows = kMax - 1;
  expect(c, {{kMax - 1, kMax, -1, -1}}, {2});
}
TEST_P(Examples, R9ProductsBeyondInt64) {
  RemapCase c = plain({{0, 4, 8}});
  c.block_table = OwnedMatrix::of({{0, 2, kMax}});
  c.block_stride_rows = std::numeric_limits<int64_t>::max();
  expect(c, {{0, -1, -1}}, {1});
}

TEST_P(Examples, R11DuplicatesCountEachTime) { expect(compacted(plain({{7, 7, 0, 7}})), {{15, 15, 28, 15}}, {4}); }
TEST_P(Examples, R12LeadingInnerAndOnlyHoles) {
  expect(compacted(plain({{-1, 1, -1, 0}, {-1, -1, -1, -1}, {3, 2, 1, 0}, {0, -1, -1, 12}}, {0, 0, 1, 1})),
         {{29, 28, -1, -1}, {-1, -1, -1, -1}, {11, 10, 9, 8}, {8, -1, -1, -1}}, {2, 0, 4, 1});
}
TEST_P(Examples, R12WithoutCounts) {
  RemapCase c = compacted(plain({{-1, 1, -1, 0}}));
  c.counts = false;
  expect(c, {{29, 28, -1, -1}}, {});
}
TEST_P(Examples, R12UnderDcpWithInnerHoles) {
  RemapCase c = compacted(plain({{1, 0, 3, 2, 5, -1, 7, 99}}));
  c.dcp = {2, 1, 1};  // rank 1 owns the odd ones: 1, 3, 5, 7 are local 0 ... 3
  expect(c, {{28, 29, 30, 31, -1, -1, -1, -1}}, {4});
}

TEST_P(Examples, R15NoTokens) {
  RemapCase c = plain({}, {});
  c.token_indices = OwnedMatrix::of({}, 4);
  expect(c, {}, {});
}
TEST_P(Examples, R15NoColumnsWritesZeroCounts) { expect(plain({{}, {}}, {0, 1}), {{}, {}}, {0, 0}); }
TEST_P(Examples, R15NoTableGivesNone) {
  RemapCase c = plain({{0, 1}}, {0});
  c.block_table = OwnedMatrix::of({{}, {}}, 0);
  expect(c, {{-1, -1}}, {0});
  c.block_table = OwnedMatrix::of({}, 3);
  expect(c, {{-1, -1}}, {0});
}

TEST_P(Examples, WideRowsOfEveryAlignment) {
  // Position k - 1 at column k: a leading hole, then a run; every fifth one padded.
  for (const int32_t topk : {31, 33, 511, 512, 513, 2048, 2051, 2176, 4097}) {
    for (uint8_t misalignment = 0; misalignment < 4; ++misalignment) {
      RemapCase c = compacted(plain({}, {1, 0}));
      c.block_size = 64;
      c.block_stride_rows = 70;
      c.block_table = OwnedMatrix::filled(2, 65, 0, 66);
      for (int32_t b = 0; b < 65; ++b) c.block_table.at(0, b) = 64 - b, c.block_table.at(1, b) = b;
      c.token_indices = OwnedMatrix::filled(2, topk, -1, topk + misalignment);
      Rows slots(2, std::vector<int32_t>(size_t(topk), -1));
      std::vector<int32_t> counts(2);
      for (int32_t t = 0; t < 2; ++t) {
        for (int32_t k = 1; k < topk; ++k) {
          if (k % 5 == 0) continue;
          const int32_t position = k - 1, block = position / 64;
          c.token_indices.at(t, k) = position;
          slots[size_t(t)][size_t(counts[size_t(t)]++)] = (t == 0 ? block : 64 - block) * 70 + position % 64;
        }
      }
      c.layout.misalignment.fill(misalignment);
      c.layout.slots_storage_columns = topk + 3 - misalignment;
      expect(c, slots, counts);
      if (HasFailure()) FAIL() << "K = " << topk << ", misalignment " << int(misalignment);
    }
  }
}

// A compacted row that fills its team, written three words behind a boundary, of which the first entry alone is dropped: the words for
// what is dropped lie right behind what is staged.
TEST_P(Examples, R12ARowThatFillsItsTeamAndDropsItsFirstEntries) {
  for (const int32_t num_dropped : {1, 2, 3, 4, 5, 8}) {
    for (const int32_t topk : {512, 1024}) {
      RemapCase c = compacted(plain({std::vector<int32_t>(size_t(topk), 5)}));
      Rows slots = {std::vector<int32_t>(size_t(topk), 13)};
      for (int32_t k = 0; k < num_dropped; ++k) c.token_indices.at(0, k) = -1 - k, slots[0][size_t(topk - 1 - k)] = -1;
      c.layout.misalignment[size_t(Tensor::kSlots)] = 3;
      expect(c, slots, {topk - num_dropped}, {32, 64, 128, 256});
    }
  }
}

}  // namespace
}  // namespace slotproof::harness
