#pragma once
// A bulk campaign: batches of tens of millions of indices, made, run and judged on the device. Only verdicts come back; a row that
// fails is made again on the host, shrunk and saved like any other counterexample.

#include "cli/campaign.h"
#include "property_tests/harness/bulk_device.h"

#include <array>
#include <functional>
#include <optional>
#include <string>

namespace slotproof::cli {

struct BulkOptions {
  uint64_t seed = 1;
  uint64_t first_batch = 0;
  std::optional<uint64_t> num_batches;
  std::optional<double> seconds;
  harness::BulkScale scale;
  std::filesystem::path findings = "findings";
};

struct BulkTally {
  int64_t num_batches = 0;
  int64_t num_rows = 0;
  int64_t num_indices = 0;
  double device_seconds = 0;  // to make, run and judge them
};

// What a batch can be; a batch can be several.
enum class BulkMode : uint8_t { kAll, kTopk2048, kInPlace, kCompacted, kAnyOrder, kRanks, kPrefill, kCounts, kBlockStride, kStrided, kNumModes };
const char* name_of(BulkMode mode);

struct BulkFailure {
  uint64_t batch = 0;
  harness::BulkCount num_mismatches = 0;
  std::string what;                              // "slots[17, 3]: expected 5, got 6"; or the device's error
  std::optional<Counterexample> counterexample;  // absent where no case of a few of the rows fails by itself
  std::string saved_rows;                        // then: the file of the row as it was
};

struct BulkReport {
  std::string backend, description;
  uint64_t seed = 0, first_batch = 0, next_batch = 0;
  int32_t topk = 0;  // that all batches have; 0: drawn
  double seconds = 0;
  bool is_interrupted = false;
  std::array<BulkTally, size_t(BulkMode::kNumModes)> modes{};
  int64_t num_corner_rows = 0;  // rows that were read for corners
  std::array<int64_t, harness::kNumCorners> corners{};
  std::optional<BulkFailure> failure;

  const BulkTally& all() const { return modes[size_t(BulkMode::kAll)]; }
};

// Runs until the batches or the seconds are through, a batch fails, or should_stop says so. `backend` runs what is made again of a
// failure. As many batches as there are slots are on their way at once.
BulkReport run_bulk(const BulkOptions& options, std::vector<std::unique_ptr<harness::BulkSlot>>& slots, harness::Backend& backend,
                    const std::function<void(const Progress&)>& on_progress, const std::function<bool()>& should_stop);

std::string table_of(const BulkReport& report);
std::string text_of(const BulkFailure& failure, const BulkReport& report);
std::string json_of(const BulkReport& report);

}  // namespace slotproof::cli
