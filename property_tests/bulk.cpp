// Bulk batches on the host: elements by number, the checks of rows, and their corners. The same source as on the device, over one lane.

#include "property_tests/device/bulk_rows.h"
#include "property_tests/harness/bulk_corners.h"
#include "property_tests/harness/judge.h"
#include "property_tests/thread_lanes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>
#include <thread>
#include <utility>

namespace slotproof::harness {
namespace {

constexpr BulkScale kTiny{.max_indices = 3000, .max_rows = 40};

// A batch in host memory, made row by row in an order of its own.
class HostBatch {
 public:
  explicit HostBatch(uint64_t batch, uint64_t order_seed = 0, const BulkScale& scale = kTiny) : view_(make_bulk_view(1, batch, scale)) {
    words_.resize(size_t(view_.layout.num_words) + 4);
    const auto misplaced = size_t(reinterpret_cast<uintptr_t>(words_.data()) / 4 % 4);
    set_arena(view_, words_.data() + (4 - misplaced) % 4);
    std::vector<int32_t> rows(size_t(view_.shape.num_tokens));
    std::iota(rows.begin(), rows.end(), 0);
    if (order_seed != 0) std::shuffle(rows.begin(), rows.end(), std::mt19937_64(order_seed));
    for (int64_t word = 0; word < num_filled_words_of(view_); ++word) fill_word(view_, word);
    for (const int32_t t : rows) make_row(HostLanes{}, view_, t);
  }
  const BulkView& view() const { return view_; }
  const RemapShape& shape() const { return view_.shape; }
  int32_t& slot(int32_t t, int32_t k) { return view_.arena[view_.layout.regions[BulkLayout::kSlots].begin + int64_t{t} * shape().slots_storage_columns + k]; }

  void run() { ASSERT_TRUE(remap_on_host(view_.args).ok()); }
  BulkVerdict check() const {
    BulkVerdict verdict{};
    verdict.first = kNoMismatch;
    for (int32_t t = 0; t <= shape().num_tokens; ++t) check_row(HostLanes{}, view_, t, verdict);
    return verdict;
  }
  std::vector<int32_t> words() const { return {view_.arena, view_.arena + view_.layout.num_words}; }

 private:
  std::vector<int32_t> words_;
  BulkView view_;
};

void expect_mismatch(const HostBatch& batch, int32_t row, int32_t column, BulkMismatch kind) {
  const BulkVerdict verdict = batch.check();
  EXPECT_EQ(verdict.num_mismatches, 1u);
  EXPECT_EQ(row_of(verdict.first), row);
  EXPECT_EQ(column_of(verdict.first), column);
  EXPECT_EQ(int(kind_of(verdict.first)), int(kind));
}

// The first batch of this kind, with its kernel run.
HostBatch batch_where(const std::function<bool(const RemapShape&)>& is_wanted) {
  uint64_t index = 0;
  while (!is_wanted(make_bulk_view(1, index, kTiny).shape)) ++index;
  HostBatch batch(index);
  batch.run();
  return batch;
}

TEST(Bulk, TakesNoMoreMemoryThanItSays) {
  for (uint64_t index = 0; index < 3000; ++index) {
    for (const BulkScale& scale : {BulkScale{}, BulkScale{.topk = 2048}, kTiny}) {
      const BulkView view = make_bulk_view(2, index, scale);
      ASSERT_LE(view.layout.num_words, most_bulk_words(scale)) << index;
      ASSERT_GE(view.shape.num_tokens, 1);
      ASSERT_TRUE(scale.topk == 0 || view.shape.topk == scale.topk) << index;
    }
  }
}

TEST(Bulk, CallsAreNeverRefused) {
  for (uint64_t index = 0; index < 300; ++index) {
    BulkView view = make_bulk_view(3, index, BulkScale{});
    set_arena(view, reinterpret_cast<int32_t*>(uintptr_t{1} << 40));  // validation reads no element
    const Status status = validate(view.args);
    ASSERT_TRUE(status.ok()) << index << ": " << status.message();
  }
}

TEST(Bulk, RowsDoNotDependOnTheOrderInWhichTheyAreMade) {
  for (uint64_t index = 0; index < 20; ++index) ASSERT_EQ(HostBatch(index).words(), HostBatch(index, index + 1).words()) << index;
}

TEST(Bulk, RowsMadeAgainAsACaseAreTheRowsOfTheBatch) {
  for (uint64_t index = 0; index < 60; ++index) {
    const HostBatch batch(index);
    const RemapArgs& args = batch.view().args;
    const int32_t begin = batch.shape().num_tokens / 2, end = std::min(begin + 3, batch.shape().num_tokens);
    const RemapCase again = case_of_bulk_rows(batch.view(), begin, end);
    Frame frame(again, 1);
    const spec::RemapProblem problem = frame.problem();
    for (int32_t t = begin; t < end; ++t) {
      for (int32_t k = 0; k < args.token_indices.columns; ++k) {
        const int32_t tok = args.token_indices.data[t * args.token_indices.row_stride + k];
        ASSERT_EQ(again.token_indices.at(t - begin, k), tok);
        ASSERT_EQ(reference::entry_of(problem, t - begin, tok).slot, reference::entry_of(args, t, tok).slot) << "batch " << index << " row " << t << " position " << tok;
      }
      const auto phase = [](const int32_t* data) { return reinterpret_cast<uintptr_t>(data) / 4 % 4; };
      ASSERT_EQ(phase(problem.slots.data + (t - begin) * problem.slots.row_stride), phase(args.slots.data + t * args.slots.row_stride));
      ASSERT_EQ(phase(problem.token_indices.data + (t - begin) * problem.token_indices.row_stride),
                phase(args.token_indices.data + t * args.token_indices.row_stride));
    }
    ASSERT_TRUE(judge(*make_reference_backend().backend, again).findings.empty()) << index;
  }
}

TEST(Bulk, TheKernelOnTheHostPasses) {
  for (uint64_t index = 0; index < 150; ++index) {
    HostBatch batch(index);
    batch.run();
    const BulkVerdict verdict = batch.check();
    ASSERT_EQ(verdict.num_mismatches, 0u) << "batch " << index << ": row " << row_of(verdict.first) << ", column " << column_of(verdict.first) << ", kind "
                                          << int(kind_of(verdict.first));
  }
}

TEST(Bulk, OneWrongSlotIsSeenAtItsPlace) {
  for (const bool is_compacted : {false, true}) {
    HostBatch batch = batch_where([&](const RemapShape& s) { return s.is_compacted == is_compacted && !s.is_any_order && s.num_tokens > 9 && s.topk > 30; });
    for (int32_t t = 0; t < batch.shape().num_tokens; ++t) {
      if (batch.slot(t, 0) < 0) continue;
      batch.slot(t, 0) ^= 1;
      expect_mismatch(batch, t, 0, BulkMismatch::kEntry);
      batch.slot(t, 0) ^= 1;
    }
    batch.slot(7, 20) = batch.slot(7, 20) == -1 ? 5 : -1;
    batch.slot(8, 19) = batch.slot(8, 19) == -1 ? 5 : -1;  // later, so not told
    EXPECT_EQ(row_of(batch.check().first), 7);
    EXPECT_EQ(column_of(batch.check().first), 20);
    EXPECT_GE(batch.check().num_mismatches, 2u);
  }
}

TEST(Bulk, ALostTailAWrongCountAGapAndAnInputAreSeenAtTheirPlaces) {
  HostBatch batch = batch_where(
      [](const RemapShape& s) { return s.is_compacted && s.has_counts && s.num_tokens > kBulkCornerRows && s.topk > 30 && s.slots_storage_columns > s.topk; });
  const int32_t last = batch.shape().topk - 1;
  for (int32_t t = 0; t < 9; ++t) {
    if (batch.slot(t, last) != -1) continue;
    batch.slot(t, last) = 3;
    expect_mismatch(batch, t, last, BulkMismatch::kTail);
    batch.slot(t, last) = -1;
  }
  ++batch.view().args.valid_counts->data[5];
  expect_mismatch(batch, 5, 0, BulkMismatch::kCount);
  --batch.view().args.valid_counts->data[5];
  batch.slot(4, last + 1) ^= 1;
  expect_mismatch(batch, 4, last + 1, BulkMismatch::kGap);
  batch.slot(4, last + 1) ^= 1;
  batch.slot(0, -1) ^= 1;  // the guard word in front
  expect_mismatch(batch, batch.shape().num_tokens, BulkLayout::kGuardWords - 1, BulkMismatch::kGuard);
  batch.slot(0, -1) ^= 1;
  EXPECT_EQ(batch.check().num_mismatches, 0u);
  const auto read = int32_t(batch.view().batch % kBulkCornerRows);  // a row whose positions are made again
  int32_t& position = const_cast<int32_t&>(batch.view().args.token_indices.data[read * batch.view().args.token_indices.row_stride]);
  position = position == -1 ? -2 : -1;
  EXPECT_GE(batch.check().num_mismatches, 1u);
  EXPECT_EQ(row_of(batch.check().first), read);
}

TEST(Bulk, AnUnspecifiedOrderMayChangeButNotItsSlots) {
  HostBatch batch = batch_where([](const RemapShape& s) { return s.is_any_order && s.num_tokens > 5 && s.topk > 20 && s.num_requests > 0; });
  int num_tried = 0;
  for (int32_t t = 0; t < batch.shape().num_tokens; ++t) {
    if (batch.slot(t, 1) < 0 || batch.slot(t, 0) == batch.slot(t, 1)) continue;
    ++num_tried;
    std::swap(batch.slot(t, 0), batch.slot(t, 1));
    EXPECT_EQ(batch.check().num_mismatches, 0u);
    const int32_t kept = std::exchange(batch.slot(t, 0), batch.slot(t, 1));  // one twice, the other lost
    expect_mismatch(batch, t, 0, BulkMismatch::kPrefix);
    batch.slot(t, 0) = kept;
  }
  EXPECT_GT(num_tried, 0);
}

BulkVerdict check_by_threads(const HostBatch& batch, int32_t row_end) {
  BulkVerdict verdict{};
  verdict.first = kNoMismatch;
  ThreadLanes::Meeting meeting;
  std::vector<std::thread> threads;
  for (int32_t lane = 0; lane < ThreadLanes::kWidth; ++lane) {
    threads.emplace_back([&, lane] {
      for (int32_t t = 0; t < row_end; ++t) check_row(ThreadLanes(meeting, lane), batch.view(), t, verdict);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return verdict;
}

BulkVerdict check_by_one(const HostBatch& batch, int32_t row_end) {
  BulkVerdict verdict{};
  verdict.first = kNoMismatch;
  for (int32_t t = 0; t < row_end; ++t) check_row(HostLanes{}, batch.view(), t, verdict);
  return verdict;
}

TEST(Bulk, AWarpJudgesAsOneLaneDoes) {
  constexpr BulkScale kNarrow{.max_indices = 600, .max_rows = 9, .topk = 75};
  int num_wrong = 0;
  for (uint64_t index = 0; index < 40; ++index) {
    HostBatch batch(index, 0, kNarrow);
    batch.run();
    const int32_t num_rows = batch.shape().num_tokens + 1;
    for (const int32_t column : {-1, 0, 40, 74}) {  // -1: nothing is changed
      if (column >= 0) batch.slot(num_rows / 3, column) ^= 1;
      const BulkVerdict one = check_by_one(batch, num_rows), warp = check_by_threads(batch, num_rows);
      ASSERT_EQ(warp.num_mismatches, one.num_mismatches) << "batch " << index << ", column " << column;
      ASSERT_EQ(warp.first, one.first) << "batch " << index << ", column " << column;
      ASSERT_EQ(warp.num_corner_rows, one.num_corner_rows);
      for (int i = 0; i < kNumBulkCorners; ++i)
        ASSERT_EQ(warp.corners[i], one.corners[i]) << "batch " << index << ", " << corners()[size_t(corner_of(BulkCorner(i)))].id;
      num_wrong += one.num_mismatches > 0;
      if (column >= 0) batch.slot(num_rows / 3, column) ^= 1;
    }
  }
  EXPECT_EQ(num_wrong, 120);
}

// Corners by bits are the corners of corners.cpp.
TEST(Bulk, CornersOfARowAreThoseOfItsCase) {
  CornerSet reached;
  for (uint64_t index = 0; index < 400; ++index) {
    const HostBatch batch(index);
    for (int32_t t = 0; t < std::min(batch.shape().num_tokens, 3); ++t) {
      const RemapCase again = case_of_bulk_rows(batch.view(), t, t + 1);
      Frame frame(again, 1);
      const spec::RemapProblem problem = frame.problem();
      int32_t num_slots = 0;
      for (int32_t k = 0; k < problem.topk(); ++k) num_slots += reference::entry_of(problem, 0, problem.token_indices.data[k]).slot >= 0;
      // The case's own call: its table has fewer rows, so the last request of the batch need not be its last.
      BulkView view = batch.view();
      view.args.req_id = {problem.req_id.data, 1};
      view.args.block_table = {problem.block_table.data, problem.block_table.rows, problem.block_table.columns, problem.block_table.row_stride};
      view.args.token_indices = {problem.token_indices.data, 1, problem.topk(), problem.token_indices.row_stride};
      view.args.slots = {problem.slots.data, 1, problem.topk(), problem.slots.row_stride};
      if (problem.prefill_request_id) {
        view.args.prefill_request_id = ConstVector{problem.prefill_request_id->data, 1};
        view.args.workspace_starts = ConstVector{problem.workspace_starts->data, problem.workspace_starts->size};
      }
      const uint64_t bits = corners_of_row(HostLanes{}, view.args, 0, num_slots);
      const CornerSet wanted = corners_of(problem, false);
      for (int i = 0; i < kNumBulkCorners; ++i) {
        const Corner corner = corner_of(BulkCorner(i));
        ASSERT_EQ(bits >> i & 1, uint64_t{wanted.test(size_t(corner))}) << "batch " << index << " row " << t << ": " << corners()[size_t(corner)].id;
      }
      reached |= wanted & row_corners();
      ASSERT_TRUE(t > 0 || call_corners_of(batch.shape()) == (wanted & call_corners())) << index;
    }
  }
  for (const CornerText& corner : corners()) {
    EXPECT_TRUE(!row_corners().test(size_t(corner.corner)) || reached.test(size_t(corner.corner))) << corner.id;
  }
}

}  // namespace
}  // namespace slotproof::harness
