// Bulk batches on a device. Skipped without one.

#include "property_tests/device/bulk_elements.h"
#include "property_tests/harness/bulk_device.h"
#include "reference/remap_entry.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

namespace slotproof::harness {
namespace {

constexpr BulkScale kSmall{.max_indices = 1 << 18, .max_rows = 4000};

#define ASSERT_STEP(step)                                \
  do {                                                   \
    const std::string error_of_step = (step);            \
    ASSERT_TRUE(error_of_step.empty()) << error_of_step; \
  } while (false)

class BulkDevice : public testing::Test {
 protected:
  void SetUp() override {
    auto [slots, reason] = make_bulk_slots(1, kSmall);
    if (slots.empty()) GTEST_SKIP() << "no device: " << reason;
    slot_ = std::move(slots.front());
  }

  void make_and_run(uint64_t batch) {
    ASSERT_STEP(slot_->make(make_bulk_view(1, batch, kSmall)));
    ASSERT_STEP(slot_->run());
  }
  void make_and_run_where(const std::function<bool(const RemapShape&)>& is_wanted) {
    uint64_t index = 0;
    while (!is_wanted(make_bulk_view(1, index, kSmall).shape)) ++index;
    make_and_run(index);
  }
  BulkVerdict check() {
    BulkVerdict verdict{};
    double seconds = 0;
    std::string error = slot_->check();
    if (error.empty()) error = slot_->wait(verdict, seconds);
    EXPECT_TRUE(error.empty()) << error;
    return verdict;
  }
  const BulkView& view() const { return slot_->view(); }
  int64_t word_of(int32_t t, int32_t k) const { return view().layout.regions[BulkLayout::kSlots].begin + int64_t{t} * view().shape.slots_storage_columns + k; }
  int64_t word_of_count(int32_t t) const { return view().layout.regions[BulkLayout::kCounts].begin + t; }
  int32_t read(int64_t word) {
    int32_t value = 0;
    const std::string error = slot_->read(word, 1, &value);
    EXPECT_TRUE(error.empty()) << error;
    return value;
  }

  // Plants a value, wants it told with its place, and takes it away again.
  void expect_seen(int64_t word, int32_t value, int32_t row, int32_t column, BulkMismatch kind) {
    const int32_t right = read(word);
    ASSERT_NE(right, value);
    ASSERT_STEP(slot_->write(word, value));
    const BulkVerdict verdict = check();
    ASSERT_EQ(verdict.num_mismatches, 1u);
    EXPECT_EQ(row_of(verdict.first), row);
    EXPECT_EQ(column_of(verdict.first), column);
    EXPECT_EQ(int(kind_of(verdict.first)), int(kind));
    ASSERT_STEP(slot_->write(word, right));
  }

  std::unique_ptr<BulkSlot> slot_;
};

// A copy of a batch on the host, elements made there.
std::vector<int32_t> made_on_host(BulkView& view) {
  std::vector<int32_t> words(size_t(view.layout.num_words));
  const auto& regions = view.layout.regions;
  const auto at = [&](int tensor, int64_t i) -> int32_t& { return words[size_t(regions[tensor].begin + i)]; };
  for (int64_t i = 0; i < regions[1].size; ++i) at(1, i) = bulk_table_entry_of(view, i);
  for (int64_t p = 0; p < regions[4].size; ++p) at(4, p) = bulk_start_of(view, int32_t(p));
  for (int32_t t = 0; t < view.shape.num_tokens; ++t) {
    at(0, t) = bulk_request_of(view, t);
    if (view.shape.has_prefill) at(3, t) = bulk_prefill_id_of(view, t);
    const RowStyle row = bulk_row_style_of(view, t);
    for (int32_t k = 0; k < view.shape.indices_storage_columns; ++k)
      at(2, int64_t{t} * view.shape.indices_storage_columns + k) = bulk_position_of(view, row, t, k);
  }
  return words;
}

TEST_F(BulkDevice, MakesTheBatchThatTheHostMakes) {
  for (uint64_t index = 0; index < 40; ++index) {
    ASSERT_STEP(slot_->make(make_bulk_view(1, index, kSmall)));
    BulkView here = make_bulk_view(1, index, kSmall);
    const std::vector<int32_t> wanted = made_on_host(here);
    std::vector<int32_t> got(wanted.size());
    ASSERT_STEP(slot_->read(0, int64_t(got.size()), got.data()));
    for (const int tensor : {0, 1, 2, 3, 4}) {
      const auto& region = here.layout.regions[tensor];
      for (int64_t i = 0; i < region.size; ++i) {
        const auto word = size_t(region.begin + i);
        ASSERT_EQ(got[word], wanted[word]) << "batch " << index << ", tensor " << tensor << ", element " << i;
      }
    }
    const int64_t outputs = here.layout.regions[BulkLayout::kSlots].begin - BulkLayout::kGuardWords;
    for (int64_t word = outputs; word < here.layout.num_words; ++word)
      ASSERT_EQ(got[size_t(word)], bulk_poison_of(here, word)) << "batch " << index << ", word " << word;
  }
}

// Positions of the batch and of everywhere, in the batch's own table: 60 batches of at least 2^15 entries are more than 10^6.
TEST_F(BulkDevice, TheReferenceOnTheDeviceIsTheReferenceOnTheHost) {
  constexpr int32_t kExtremes[] = {0, 1, -1, -2, INT32_MAX, INT32_MAX - 1, INT32_MIN, INT32_MIN + 1, 1 << 30};
  int64_t num_entries = 0;
  std::mt19937 random(1);
  for (uint64_t index = 0; index < 60; ++index) {
    ASSERT_STEP(slot_->make(make_bulk_view(4, index, kSmall)));
    BulkView here = make_bulk_view(4, index, kSmall);
    std::vector<int32_t> words = made_on_host(here);
    set_arena(here, words.data());
    const auto num_local = uint32_t(std::clamp<int64_t>(num_local_of(here.shape) + 2, 1, INT32_MAX));
    std::vector<int32_t> positions, entries;
    for (int i = 0; i < 1 << 15; ++i) {
      switch (i % 4) {
        case 0: positions.push_back(int32_t(random())); break;
        case 1: positions.push_back(int32_t(random() % num_local)); break;
        case 2: positions.push_back(position_at(here.shape, int64_t(random() % num_local))); break;
        default:
          positions.push_back(i % 64 == 3 ? kExtremes[random() % std::size(kExtremes)] : here.args.token_indices.data[random() % uint32_t(here.shape.topk)]);
          break;
      }
    }
    ASSERT_STEP(slot_->reference_entries(positions, entries));
    for (size_t i = 0; i < positions.size(); ++i) {
      const auto t = int32_t(int64_t(i) % here.shape.num_tokens);
      ASSERT_EQ(entries[i], reference::entry_of(here.args, t, positions[i]).slot) << "batch " << index << ", row " << t << ", position " << positions[i];
    }
    num_entries += int64_t(positions.size());
  }
  EXPECT_GE(num_entries, 1000000);
}

TEST_F(BulkDevice, TheKernelPasses) {
  for (uint64_t index = 0; index < 300; ++index) {
    make_and_run(index);
    const BulkVerdict verdict = check();
    ASSERT_EQ(verdict.num_mismatches, 0u) << "batch " << index << ": row " << row_of(verdict.first) << ", column " << column_of(verdict.first) << ", kind "
                                          << int(kind_of(verdict.first));
    EXPECT_GT(verdict.num_corner_rows + (view().shape.num_tokens < kBulkCornerRows), 0u);
  }
}

TEST_F(BulkDevice, OneChangedSlotIsToldWithItsPlace) {
  for (const bool is_compacted : {false, true}) {
    make_and_run_where([&](const RemapShape& s) { return s.is_compacted == is_compacted && !s.is_any_order && s.topk > 600 && s.num_tokens > 100; });
    for (const int32_t t : {0, 1, 50, view().shape.num_tokens - 1}) {
      for (const int32_t k : {0, 31, 32, 499, view().shape.topk - 1}) {
        const int32_t value = read(word_of(t, k));
        if (is_compacted && value == -1) continue;
        expect_seen(word_of(t, k), value == -1 ? 1 : value ^ 1, t, k, BulkMismatch::kEntry);
      }
    }
    EXPECT_EQ(check().num_mismatches, 0u);
  }
}

TEST_F(BulkDevice, ALostTailIsToldWithItsPlace) {
  make_and_run_where([](const RemapShape& s) { return s.is_compacted && s.topk > 600 && s.num_tokens > 100; });
  int num_tried = 0;
  for (int32_t t = 0; t < view().shape.num_tokens && num_tried < 8; ++t) {
    const int32_t last = view().shape.topk - 1;
    if (read(word_of(t, last)) != -1) continue;
    ++num_tried;
    expect_seen(word_of(t, last), 0, t, last, BulkMismatch::kTail);
  }
  EXPECT_GT(num_tried, 0);
}

TEST_F(BulkDevice, AWrongCountAGapAndAGuardAreToldWithTheirPlaces) {
  make_and_run_where([](const RemapShape& s) { return s.has_counts && s.topk > 60 && s.num_tokens > 100 && s.slots_storage_columns > s.topk; });
  const int32_t topk = view().shape.topk, num_tokens = view().shape.num_tokens;
  for (const int32_t t : {0, 77, num_tokens - 1}) {
    expect_seen(word_of_count(t), read(word_of_count(t)) + 1, t, 0, BulkMismatch::kCount);
    expect_seen(word_of(t, topk), -1, t, topk, BulkMismatch::kGap);
  }
  expect_seen(word_of(0, -1), -1, num_tokens, BulkLayout::kGuardWords - 1, BulkMismatch::kGuard);
  expect_seen(word_of_count(num_tokens), -1, num_tokens, 3 * BulkLayout::kGuardWords, BulkMismatch::kGuard);
}

}  // namespace
}  // namespace slotproof::harness
