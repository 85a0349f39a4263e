#pragma once
// How far a campaign is: what it has run, for how long, and when that is said again.

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace slotproof::cli {

double seconds_since(std::chrono::steady_clock::time_point begin);

struct Progress {
  uint64_t num_cases = 0;
  double seconds = 0;
  double share_done = 0;  // in [0, 1]
  double indices_per_second = 0;
  std::string activity;   // "checking", "shrinking ..."
};

// The clock of a campaign, with its limits: a number of cases (or batches), seconds, or none.
class ProgressMeter {
 public:
  ProgressMeter(std::optional<uint64_t> num_cases, std::optional<double> seconds, const std::function<void(const Progress&)>& on_progress)
      : num_cases_(num_cases), seconds_(seconds), on_progress_(on_progress) {}

  double seconds() const { return seconds_since(begin_); }
  bool is_through(uint64_t num_cases) const;  // a limit is reached
  bool is_due() const;                        // nothing was told for a tenth of a second
  void tell(std::string activity, uint64_t num_cases, int64_t num_indices);

 private:
  std::optional<uint64_t> num_cases_;
  std::optional<double> seconds_;
  const std::function<void(const Progress&)>& on_progress_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_ = begin_;
};

}  // namespace slotproof::cli
