// The bulk campaign on the host: its tally, its ends, and what becomes of a fault.

#include "cli/bulk.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <unistd.h>

namespace slotproof::cli {
namespace {

using harness::BulkSlot;

constexpr harness::BulkScale kTiny{.max_indices = 20000, .max_rows = 400};

// Wrong wherever a slot is a multiple of 3: one too large.
void spoil(int32_t* slots, int64_t rows, int64_t columns, int64_t stride) {
  for (int64_t t = 0; t < rows; ++t) {
    for (int64_t k = 0; k < columns; ++k) {
      if (int32_t& slot = slots[t * stride + k]; slot > 0 && slot % 3 == 0) ++slot;
    }
  }
}

// A slot whose kernel is followed by `after`.
class ChangedSlot final : public BulkSlot {
 public:
  ChangedSlot(std::unique_ptr<BulkSlot> slot, std::function<std::string(BulkSlot&)> after) : slot_(std::move(slot)), after_(std::move(after)) {}
  std::string make(const harness::BulkView& batch) override {
    std::string error = slot_->make(batch);
    view_ = slot_->view();
    return error;
  }
  std::string run() override {
    std::string error = slot_->run();
    return error.empty() ? after_(*slot_) : error;
  }
  std::string check() override { return slot_->check(); }
  std::string wait(harness::BulkVerdict& verdict, double& seconds) override { return slot_->wait(verdict, seconds); }
  std::string read(int64_t word, int64_t num_words, int32_t* to) override { return slot_->read(word, num_words, to); }
  std::string write(int64_t word, int32_t value) override { return slot_->write(word, value); }
  std::string reference_entries(const std::vector<int32_t>& positions, std::vector<int32_t>& entries) override {
    return slot_->reference_entries(positions, entries);
  }

 private:
  std::unique_ptr<BulkSlot> slot_;
  std::function<std::string(BulkSlot&)> after_;
};

class SpoiledBackend final : public harness::Backend {
 public:
  const harness::BackendInfo& info() const override { return host_->info(); }
  harness::RunOutcome run(harness::Frame& frame, const harness::Schedule& schedule) override {
    const harness::RunOutcome outcome = host_->run(frame, schedule);
    const spec::RemapProblem problem = frame.problem();
    if (outcome.kind == harness::RunOutcome::Kind::kDone) spoil(problem.slots.data, problem.slots.rows, problem.slots.columns, problem.slots.row_stride);
    return outcome;
  }

 private:
  std::unique_ptr<harness::Backend> host_ = harness::make_host_backend().backend;
};

class BulkCampaign : public testing::Test {
 protected:
  BulkCampaign() {
    options_.scale = kTiny;
    options_.num_batches = 12;
    options_.findings = std::filesystem::temp_directory_path() / ("slotproof-bulk-" + std::to_string(getpid()));
  }
  ~BulkCampaign() override {
    std::error_code ignored;
    std::filesystem::remove_all(options_.findings, ignored);
  }
  BulkReport run(
      harness::Backend& backend, const std::function<std::string(BulkSlot&)>& after = [](BulkSlot&) { return std::string(); },
      const std::function<bool()>& should_stop = [] { return false; }) {
    std::vector<std::unique_ptr<BulkSlot>> slots;
    for (int i = 0; i < 2; ++i) slots.push_back(std::make_unique<ChangedSlot>(std::move(harness::make_host_bulk_slots().front()), after));
    return run_bulk(options_, slots, backend, [](const Progress&) {}, should_stop);
  }
  BulkOptions options_;
};

TEST_F(BulkCampaign, HoldsForOurKernelAndGoesOnWhereItStopped) {
  const auto host = harness::make_host_backend().backend;
  const BulkReport whole = run(*host);
  EXPECT_FALSE(whole.failure) << text_of(*whole.failure, whole);
  EXPECT_EQ(whole.next_batch, 12u);
  EXPECT_EQ(whole.all().num_batches, 12);
  EXPECT_GT(whole.all().num_indices, 0);
  options_.num_batches = 5;
  BulkReport parts = run(*host);
  options_.first_batch = parts.next_batch;
  options_.num_batches = 7;
  const BulkReport rest = run(*host);
  for (size_t i = 0; i < harness::kNumCorners; ++i) EXPECT_EQ(parts.corners[i] + rest.corners[i], whole.corners[i]);
  EXPECT_EQ(parts.all().num_indices + rest.all().num_indices, whole.all().num_indices);
}

TEST_F(BulkCampaign, ShrinksAndSavesAWrongRow) {
  SpoiledBackend backend;
  const BulkReport report = run(backend, [](BulkSlot& slot) {
    const MutableMatrix& slots = slot.view().args.slots;
    spoil(slots.data, slots.rows, slots.columns, slots.row_stride);
    return std::string();
  });
  ASSERT_TRUE(report.failure);
  ASSERT_TRUE(report.failure->counterexample) << text_of(*report.failure, report);
  const Counterexample& found = *report.failure->counterexample;
  EXPECT_EQ(found.shrunk.num_tokens(), 1);
  EXPECT_EQ(found.shrunk.topk(), 1);
  EXPECT_TRUE(found.save_error.empty()) << found.save_error;
  EXPECT_TRUE(std::filesystem::exists(found.file));
  EXPECT_EQ(report.next_batch, report.failure->batch + 1);
  EXPECT_NE(report.failure->what.find("expected"), std::string::npos);
  EXPECT_NE(json_of(report).find("\"holds\": false"), std::string::npos);
}

// One word of the whole batch: nothing that a case made again could show.
TEST_F(BulkCampaign, SavesTheRowWhereItDoesNotFailByItself) {
  const auto host = harness::make_host_backend().backend;
  const BulkReport report = run(*host, [](BulkSlot& slot) {
    const auto& shape = slot.view().shape;
    if (slot.view().batch != 3) return std::string();
    return slot.write(slot.view().layout.regions[size_t(harness::Tensor::kSlots)].begin + int64_t{shape.num_tokens - 1} * shape.slots_storage_columns, -7);
  });
  ASSERT_TRUE(report.failure);
  EXPECT_EQ(report.failure->batch, 3u);
  EXPECT_EQ(report.failure->num_mismatches, 1u);
  EXPECT_FALSE(report.failure->counterexample);
  EXPECT_NE(report.failure->what.find("got -7"), std::string::npos) << report.failure->what;
  EXPECT_TRUE(std::filesystem::exists(report.failure->saved_rows)) << report.failure->saved_rows;
  EXPECT_NE(text_of(*report.failure, report).find("--bulk --seed 1 --first-case 3 --cases 1"), std::string::npos);
}

TEST_F(BulkCampaign, ReportsARunThatFails) {
  const auto host = harness::make_host_backend().backend;
  const BulkReport report = run(*host, [](BulkSlot& slot) { return slot.view().batch == 2 ? std::string("no such luck") : std::string(); });
  ASSERT_TRUE(report.failure);
  EXPECT_EQ(report.failure->batch, 2u);
  EXPECT_EQ(report.failure->what, "no such luck");
}

TEST_F(BulkCampaign, EndsWithItsReportWhereItIsInterrupted) {
  const auto host = harness::make_host_backend().backend;
  int num_asked = 0;
  const BulkReport report = run(*host, [](BulkSlot&) { return std::string(); }, [&] { return ++num_asked > 5; });
  EXPECT_TRUE(report.is_interrupted);
  EXPECT_EQ(report.next_batch, 5u);
  EXPECT_NE(table_of(report).find("go on with --seed 1 --first-case 5"), std::string::npos);
}

}  // namespace
}  // namespace slotproof::cli
