#pragma once
// A check campaign: draws problems, runs the back ends on them, keeps the tally, shrinks what fails.

#include "cli/counterexample.h"
#include "cli/progress.h"
#include "property_tests/harness/backend.h"
#include "property_tests/harness/decoder.h"
#include "property_tests/harness/judge.h"
#include "spec/laws.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace slotproof::cli {

struct CampaignOptions {
  uint64_t seed = 1;
  uint64_t first_case = 0;
  std::optional<uint64_t> num_cases;
  std::optional<double> seconds;
  std::optional<harness::Level> level;  // absent: each back end's own
  harness::AcceptedDivergences accepted;
  std::filesystem::path findings = "findings";
  double shrink_seconds = kDefaultShrinkSeconds;  // at most, for a counterexample
  bool keeps_going = false;        // behind a counterexample, to count what each invariant and law sees
  bool has_every_path = false;     // a case for each path of our kernels comes first, whatever the cases or the seconds
  bool requires_coverage = false;  // for the report
  bool requires_corners = false;   // for the report
};

struct InvariantTally {
  int64_t num_exercised = 0;
  int64_t num_failures = 0;
  int64_t first_failure = 0;        // cases that had been compared by then, this one included; 0: none failed
  std::set<spec::Rule> rules = {};  // under which an invariant failed
};

struct BackendTally {
  std::string name;
  std::string description;
  std::string level;
  int64_t num_cases = 0;     // compared
  int64_t num_failing = 0;   // of these, cases with a finding
  int64_t num_accepted = 0;  // not compared: an accepted divergence
  int64_t num_indices = 0;
  double seconds = 0;        // in the back end and the checks
  std::array<InvariantTally, spec::kNumInvariants> invariants{};
  InvariantTally no_fault;
  std::array<InvariantTally, spec::kNumLaws> laws{};  // cases of their own: drawn, and changed to meet the law's premise
  std::optional<Counterexample> counterexample;
  std::optional<harness::KernelPathTally> kernel_paths;  // of a back end that runs our kernels
};

struct CampaignReport {
  uint64_t seed = 0;
  uint64_t first_case = 0;
  uint64_t next_case = 0;  // where to go on
  double seconds = 0;
  bool is_interrupted = false;
  std::string save_error;  // of the first case that could not be saved before it was run
  bool requires_coverage = false;
  bool requires_corners = false;
  std::vector<BackendTally> backends;
  std::array<int64_t, harness::kNumCorners> corners{};  // compared cases that reached each

  bool holds() const;
  bool has_every_corner() const;
  bool is_covered() const;  // every back end that runs our kernels launched each of their paths, and there is such a back end
};

// Runs until the cases or the seconds are through, should_stop says so, or, unless it keeps going, every back end has a counterexample.
CampaignReport run_campaign(const CampaignOptions& options, std::vector<std::unique_ptr<harness::Backend>>& backends,
                            const std::function<void(const Progress&)>& on_progress, const std::function<bool()>& should_stop);

}  // namespace slotproof::cli
