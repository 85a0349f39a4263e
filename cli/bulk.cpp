#include "cli/bulk.h"

#include "property_tests/harness/bulk_corners.h"
#include "spec/remap.h"

#include <fmt/format.h>

#include <algorithm>

namespace slotproof::cli {
namespace {

using harness::BulkMismatch;
using harness::BulkSlot;
using harness::BulkVerdict;
using harness::column_of;
using harness::kind_of;
using harness::RemapCase;
using harness::row_of;

std::array<bool, size_t(BulkMode::kNumModes)> modes_of(const harness::RemapShape& shape) {
  const bool is_strided =
      shape.indices_storage_columns > shape.topk || shape.slots_storage_columns > shape.topk || shape.table_storage_columns > shape.table_columns;
  return {true,
          shape.topk == 2048,
          !shape.is_compacted,
          shape.is_compacted && !shape.is_any_order,
          shape.is_any_order,
          shape.dcp_size > 1,
          shape.has_prefill,
          shape.has_counts,
          shape.block_stride_rows > shape.block_size,
          is_strided};
}

class BulkCampaign {
 public:
  BulkCampaign(const BulkOptions& options, std::vector<std::unique_ptr<BulkSlot>>& slots, harness::Backend& backend,
               const std::function<void(const Progress&)>& on_progress, const std::function<bool()>& should_stop)
      : options_(options), slots_(slots), backend_(backend), should_stop_(should_stop), meter_(options.num_batches, options.seconds, on_progress) {
    std::error_code ignored;  // A folder that cannot be made shows when a case is saved.
    std::filesystem::create_directories(options.findings, ignored);
    report_.backend = backend.info().name;
    report_.description = backend.info().description;
    report_.seed = options.seed;
    report_.topk = options.scale.topk;
    report_.first_batch = report_.next_batch = options.first_batch;
  }

  BulkReport run() {
    uint64_t begun = options_.first_batch;
    while (!report_.failure && !is_through(begun)) {
      begin_batch(begun++);
      if (!report_.failure && begun - report_.next_batch == slots_.size()) end_batch();
    }
    while (!report_.failure && report_.next_batch < begun) end_batch();
    report_.seconds = meter_.seconds();
    return std::move(report_);
  }

 private:
  bool is_through(uint64_t begun) {
    if (should_stop_()) return report_.is_interrupted = true;
    return meter_.is_through(begun - options_.first_batch);
  }

  BulkSlot& slot_of(uint64_t batch) { return *slots_[size_t(batch % slots_.size())]; }

  void begin_batch(uint64_t batch) {
    BulkSlot& slot = slot_of(batch);
    std::string error = slot.make(harness::make_bulk_view(options_.seed, batch, options_.scale));
    if (error.empty()) error = slot.run();
    if (error.empty()) error = slot.check();
    if (!error.empty()) fail(batch, std::move(error));
  }

  void end_batch() {
    const uint64_t batch = report_.next_batch;
    BulkSlot& slot = slot_of(batch);
    BulkVerdict verdict{};
    double device_seconds = 0;
    if (std::string error = slot.wait(verdict, device_seconds); !error.empty()) {
      // An error of a later batch shows in whatever is waited for next.
      return fail(batch, slots_.size() > 1 ? error + " (in this batch or the one behind it)" : error);
    }
    ++report_.next_batch;
    count(slot.view().shape, verdict, device_seconds);
    if (verdict.num_mismatches != 0) return fail(slot, verdict);
    if (meter_.is_due()) tell("bulk");
  }

  void count(const harness::RemapShape& shape, const BulkVerdict& verdict, double device_seconds) {
    const auto modes = modes_of(shape);
    for (size_t i = 0; i < modes.size(); ++i) {
      if (!modes[i]) continue;
      BulkTally& tally = report_.modes[i];
      ++tally.num_batches;
      tally.num_rows += shape.num_tokens;
      tally.num_indices += int64_t{shape.num_tokens} * shape.topk;
      tally.device_seconds += device_seconds;
    }
    const auto num_rows = int64_t(verdict.num_corner_rows);
    report_.num_corner_rows += num_rows;
    for (int i = 0; i < harness::kNumBulkCorners; ++i) report_.corners[size_t(harness::corner_of(harness::BulkCorner(i)))] += int64_t(verdict.corners[i]);
    const harness::CornerSet of_call = harness::call_corners_of(shape);
    for (size_t i = 0; i < harness::kNumCorners; ++i) report_.corners[i] += of_call.test(i) ? num_rows : 0;
  }

  void tell(std::string activity) { meter_.tell(std::move(activity), report_.next_batch - options_.first_batch, report_.all().num_indices); }

  // The run itself failed: a refusal, a launch or device error.
  void fail(uint64_t batch, std::string error) { report_.failure = BulkFailure{batch, 0, std::move(error), {}, {}}; }

  void fail(BulkSlot& slot, const BulkVerdict& verdict) {
    const harness::BulkView& view = slot.view();
    const int32_t row = std::min(row_of(verdict.first), view.shape.num_tokens - 1);
    BulkFailure failure;
    failure.batch = view.batch;
    failure.num_mismatches = verdict.num_mismatches;
    failure.what = describe(slot, verdict.first);
    // A single row first. What takes more than that, a certain number of rows or their alignment, may show in a few.
    for (const int32_t num_rows : {1, 2, 8, 64}) {
      const int32_t end = std::min(row + num_rows, view.shape.num_tokens);
      const RemapCase rows = harness::case_of_bulk_rows(view, std::max(end - num_rows, 0), end);
      tell("making the failing rows again");
      const harness::Verdict found = judge(rows);
      if (found.findings.empty()) continue;
      failure.counterexample = shrink(view.batch, rows, most_telling(found.findings));
      break;
    }
    if (!failure.counterexample) {
      const std::string id = id_of(view.batch) + fmt::format("-row{}", row);
      failure.saved_rows = (options_.findings / (id + ".json")).string();
      const std::string error =
          save_case(failure.saved_rows, harness::case_of_bulk_rows(view, row, row + 1), id, "failed in its batch and not by itself: " + failure.what);
      if (!error.empty()) failure.saved_rows = "NOT SAVED: " + error;
    }
    report_.failure = std::move(failure);
  }

  std::string id_of(uint64_t batch) const { return fmt::format("{}-bulk-seed{}-batch{}", file_stem_of(report_.backend), options_.seed, batch); }

  harness::Verdict judge(const RemapCase& rows) const { return harness::judge(backend_, rows, {.poison_seed = options_.seed}); }

  Counterexample shrink(uint64_t batch, const RemapCase& rows, const harness::Finding& wanted) {
    ShrinkSetting setting;
    setting.judge = [&](const RemapCase& candidate) {
      if (meter_.is_due()) tell("shrinking a counterexample");
      return judge(candidate);
    };
    setting.should_stop = should_stop_;
    setting.folder = options_.findings;
    setting.id = id_of(batch);
    Counterexample found = minimize(rows, wanted, setting);
    found.case_name = fmt::format("batch {}", batch);
    return found;
  }

  // The place of the first mismatch, what the host's spec has there, and what the device has.
  std::string describe(BulkSlot& slot, harness::BulkCount place) const {
    const harness::BulkView& view = slot.view();
    const int32_t row = row_of(place), column = column_of(place);
    const auto word = [&](harness::Tensor tensor, int64_t index) {
      int32_t value = 0;
      const std::string error = slot.read(view.layout.regions[size_t(tensor)].begin + index, 1, &value);
      return error.empty() ? fmt::to_string(value) : "(" + error + ")";
    };
    if (kind_of(place) == BulkMismatch::kGuard)
      return fmt::format("guard word {} of the outputs was written (0-127 around slots, 128-255 around valid_counts)", column);
    const std::string at_slot = fmt::format("slots[{}, {}]", row, column);
    const std::string got = word(harness::Tensor::kSlots, int64_t{row} * view.shape.slots_storage_columns + column);
    if (kind_of(place) == BulkMismatch::kGap) return fmt::format("{}: a gap between output rows was written, it holds {}", at_slot, got);
    harness::Frame frame(harness::case_of_bulk_rows(view, row, row + 1), 1);
    const spec::ExpectedOutputs expected = spec::expected_outputs(frame.problem());
    switch (kind_of(place)) {
      case BulkMismatch::kInput:
        return fmt::format("token_indices[{}, {}] was written: it held {}, it holds {}", row, column, frame.problem().token_indices.data[column],
                           word(harness::Tensor::kTokenIndices, int64_t{row} * view.shape.indices_storage_columns + column));
      case BulkMismatch::kCount:
        return fmt::format("valid_counts[{}]: expected {}, got {}", row, expected.valid_counts[0], word(harness::Tensor::kValidCounts, row));
      case BulkMismatch::kPrefix: return fmt::format("slots[{}, 0..{}): not the row's slots", row, expected.valid_counts[0]);
      default: return fmt::format("{}: expected {}, got {}", at_slot, expected.slots(0, column), got);
    }
  }

  const BulkOptions& options_;
  std::vector<std::unique_ptr<BulkSlot>>& slots_;
  harness::Backend& backend_;
  const std::function<bool()>& should_stop_;
  BulkReport report_;
  ProgressMeter meter_;
};

}  // namespace

BulkReport run_bulk(const BulkOptions& options, std::vector<std::unique_ptr<BulkSlot>>& slots, harness::Backend& backend,
                    const std::function<void(const Progress&)>& on_progress, const std::function<bool()>& should_stop) {
  return BulkCampaign(options, slots, backend, on_progress, should_stop).run();
}

}  // namespace slotproof::cli
