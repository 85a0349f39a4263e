#include "cli/progress.h"

#include <algorithm>
#include <utility>

namespace slotproof::cli {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

bool ProgressMeter::is_through(uint64_t num_cases) const {
  return (num_cases_ && num_cases >= *num_cases_) || (seconds_ && seconds() >= *seconds_);
}

bool ProgressMeter::is_due() const { return seconds_since(last_) > 0.1; }

void ProgressMeter::tell(std::string activity, uint64_t num_cases, int64_t num_indices) {
  last_ = Clock::now();
  Progress progress;
  progress.num_cases = num_cases;
  progress.seconds = seconds();
  if (num_cases_) progress.share_done = double(num_cases) / double(std::max<uint64_t>(*num_cases_, 1));
  else if (seconds_) progress.share_done = progress.seconds / *seconds_;
  progress.indices_per_second = double(num_indices) / std::max(progress.seconds, 1e-9);
  progress.activity = std::move(activity);
  on_progress_(progress);
}

}  // namespace slotproof::cli
