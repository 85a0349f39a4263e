#include "cli/campaign.h"

#include "property_tests/harness/laws.h"

#include <fmt/format.h>
#include <slotproof/plugin.h>

#include <algorithm>
#include <set>
#include <utility>

namespace slotproof::cli {
namespace {

using Clock = std::chrono::steady_clock;
using harness::Backend;
using harness::Finding;
using harness::RemapCase;
using harness::Verdict;

// What an invariant finds can be explained entry by entry, so the first cases are for the invariants alone.
constexpr uint64_t kFirstLawCase = 100;
// A back end that failed is put to each law so often, and so long, to say which of them it breaks.
constexpr uint64_t kLawCasesAfterFailure = 100;
constexpr double kLawSecondsAfterFailure = 2;

class Campaign {
 public:
  Campaign(const CampaignOptions& options, std::vector<std::unique_ptr<Backend>>& backends,
           const std::function<void(const Progress&)>& on_progress, const std::function<bool()>& should_stop)
      : options_(options), backends_(backends), should_stop_(should_stop), meter_(options.num_cases, options.seconds, on_progress) {
    std::error_code ignored;  // A folder that cannot be made shows when a case is saved.
    std::filesystem::create_directories(options.findings, ignored);
    report_.seed = options.seed;
    report_.requires_coverage = options.requires_coverage;
    report_.requires_corners = options.requires_corners;
    report_.first_case = report_.next_case = options.first_case;
    for (const auto& backend : backends) {
      BackendTally tally;
      tally.name = backend->info().name;
      tally.description = backend->info().description;
      tally.level = name_of(options.level.value_or(backend->info().level));
      report_.backends.push_back(tally);
    }
  }

  CampaignReport run() {
    if (options_.has_every_path) check_every_path();
    while (!is_through()) {
      for (size_t i = 0; i < backends_.size(); ++i) {
        if (is_wanted(report_.backends[i])) check_drawn_case(*backends_[i], report_.backends[i]);
        if (is_wanted(report_.backends[i]) && report_.next_case >= kFirstLawCase) check_law_in_turn(*backends_[i], report_.backends[i]);
      }
      ++report_.next_case;
      if (meter_.is_due()) tell("checking");
    }
    report_.seconds = meter_.seconds();
    for (size_t i = 0; i < backends_.size(); ++i) {
      if (const auto* paths = backends_[i]->kernel_paths()) report_.backends[i].kernel_paths = *paths;
    }
    remove_cases_in_flight();
    return std::move(report_);
  }

 private:
  bool is_through() {
    if (should_stop_()) return report_.is_interrupted = true;
    if (meter_.is_through(num_cases())) return true;
    return std::none_of(report_.backends.begin(), report_.backends.end(), [&](const BackendTally& tally) { return is_wanted(tally); });
  }
  bool is_wanted(const BackendTally& tally) const { return options_.keeps_going || !tally.counterexample; }

  uint64_t num_cases() const { return report_.next_case - options_.first_case; }

  void tell(std::string activity) {
    int64_t num_indices = 0;
    for (const BackendTally& tally : report_.backends) num_indices += tally.num_indices;
    meter_.tell(std::move(activity), num_cases(), num_indices);
  }

  Verdict judge(Backend& backend, const RemapCase& remap_case) const {
    return harness::judge(backend, remap_case, {options_.seed, true, &options_.accepted});
  }

  harness::DecoderOptions decoder_options_of(const Backend& backend) const {
    return {options_.level.value_or(backend.info().level), backend.info().capabilities};
  }

  void check_drawn_case(Backend& backend, BackendTally& tally) {
    check_case(backend, tally, harness::draw_remap(options_.seed, report_.next_case, decoder_options_of(backend)), fmt::format("case {}", report_.next_case));
  }

  // Each case number has a law, and a problem that is drawn for it.
  void check_law_in_turn(Backend& backend, BackendTally& tally) {
    const auto law = spec::Law(report_.next_case % spec::kNumLaws);
    const RemapCase remap_case = case_for_law(backend, law, report_.next_case);
    const std::string name = fmt::format("case {} law {}", report_.next_case, spec::id_of(law));
    const harness::LawVerdict verdict = check_law(backend, tally, law, remap_case, name);
    if (verdict.findings.empty() || tally.counterexample) return;
    const auto judge_by_law = [&, law](const RemapCase& candidate) {
      Verdict found;
      found.findings = harness::check_law(law, backend, candidate, &options_.accepted).findings;
      return found;
    };
    tally.counterexample = minimize(tally, remap_case, name, verdict.findings.front(), judge_by_law);
    if (!options_.keeps_going) name_broken_laws(backend, tally);
  }

  RemapCase case_for_law(const Backend& backend, spec::Law law, uint64_t index) const {
    return harness::draw_for_law(law, options_.seed, index, decoder_options_of(backend), backend.info());
  }

  harness::LawVerdict check_law(Backend& backend, BackendTally& tally, spec::Law law, const RemapCase& remap_case, const std::string& name) {
    if (!harness::is_applicable(law, backend.info())) return {};
    if (backend.may_crash()) save_case_in_flight(remap_case, tally.name, name);
    const auto begin = Clock::now();
    harness::LawVerdict verdict = harness::check_law(law, backend, remap_case, &options_.accepted);
    tally.seconds += seconds_since(begin);
    tally.num_indices += verdict.num_indices;
    InvariantTally& of_law = tally.laws[size_t(law)];
    of_law.num_exercised += verdict.is_exercised;
    for (const Finding& finding : verdict.findings) add_failure(finding.breach ? of_law : tally.no_fault, tally.num_cases);
    return verdict;
  }

  // What a fault does is told by the laws that it breaks: each gets cases until it is broken.
  void name_broken_laws(Backend& backend, BackendTally& tally) {
    const auto begin = Clock::now();
    for (uint64_t index = 0; index < kLawCasesAfterFailure; ++index) {
      for (const spec::LawText& text : spec::laws()) {
        if (tally.laws[size_t(text.law)].num_failures > 0) continue;
        if (should_stop_() || seconds_since(begin) > kLawSecondsAfterFailure) return;
        if (meter_.is_due()) tell(fmt::format("{}: looking for the laws that it breaks", tally.name));
        check_law(backend, tally, text.law, case_for_law(backend, text.law, index), fmt::format("case {} law {}", index, text.id));
      }
    }
  }

  void check_every_path() {
    for (int path = 0; path < kNumKernelPaths; ++path) {
      for (size_t i = 0; i < backends_.size(); ++i) {
        if (should_stop_()) return;
        // What the signature cannot say it is not asked for.
        const harness::BackendInfo& info = backends_[i]->info();
        if (!is_wanted(report_.backends[i]) || info.capabilities != SLOTPROOF_CAN_ALL || info.level != harness::Level::kStable) continue;
        check_case(*backends_[i], report_.backends[i], harness::case_of(kernel_path_of(path)), fmt::format("path {}", path));
        if (meter_.is_due()) tell("launching every path of the kernels");
      }
    }
  }

  void check_case(Backend& backend, BackendTally& tally, const RemapCase& remap_case, const std::string& name) {
    if (backend.may_crash()) save_case_in_flight(remap_case, tally.name, name);
    const auto begin = Clock::now();
    const Verdict verdict = judge(backend, remap_case);
    tally.seconds += seconds_since(begin);
    if (!verdict.is_compared) {
      tally.num_accepted += verdict.is_accepted;
      return;
    }
    ++tally.num_cases;
    ++tally.no_fault.num_exercised;
    tally.num_indices += verdict.num_indices;
    for (size_t i = 0; i < spec::kNumInvariants; ++i) tally.invariants[i].num_exercised += verdict.is_exercised[i];
    for (size_t i = 0; i < harness::kNumCorners; ++i) report_.corners[i] += verdict.corners.test(i);
    if (verdict.findings.empty()) return;
    ++tally.num_failing;
    std::array<bool, spec::kNumInvariants> has_failed{};
    for (const Finding& finding : verdict.findings) {
      if (!finding.violation) {
        add_failure(tally.no_fault, tally.num_cases);
        continue;
      }
      InvariantTally& of_invariant = tally.invariants[size_t(finding.violation->invariant)];
      if (!std::exchange(has_failed[size_t(finding.violation->invariant)], true)) add_failure(of_invariant, tally.num_cases);
      of_invariant.rules.insert(finding.violation->rule);
    }
    if (tally.counterexample) return;
    const auto judge_again = [&](const RemapCase& candidate) { return judge(backend, candidate); };
    tally.counterexample = minimize(tally, remap_case, name, most_telling(verdict.findings), judge_again);
    if (!options_.keeps_going) name_broken_laws(backend, tally);
  }

  static void add_failure(InvariantTally& tally, int64_t case_number) {
    if (tally.num_failures++ == 0) tally.first_failure = case_number;
  }

  Counterexample minimize(const BackendTally& tally, const RemapCase& failing, const std::string& name, const Finding& wanted,
                          const std::function<Verdict(const RemapCase&)>& judge_again) {
    ShrinkSetting setting;
    setting.judge = [&](const RemapCase& candidate) {
      if (meter_.is_due()) tell(fmt::format("{}: shrinking a counterexample", tally.name));
      return judge_again(candidate);
    };
    setting.should_stop = should_stop_;
    setting.folder = options_.findings;
    setting.most_seconds = options_.shrink_seconds;
    setting.id = fmt::format("{}-{}", file_stem_of(tally.name), id_of(name));
    Counterexample found = cli::minimize(failing, wanted, setting);
    found.case_name = name;
    return found;
  }

  // "case 8" -> "seed1-case8"
  std::string id_of(std::string name) const {
    std::erase(name, ' ');
    return fmt::format("seed{}-{}", options_.seed, name);
  }

  // Written before the call, so that a back end that takes this process down leaves its case behind.
  void save_case_in_flight(const RemapCase& remap_case, const std::string& backend, const std::string& name) {
    const std::filesystem::path file = options_.findings / (file_stem_of(backend) + "-in-flight.json");
    cases_in_flight_.insert(file);
    const std::string error = save_case(file, remap_case, id_of(name), "saved before it was run");
    if (!error.empty() && report_.save_error.empty()) report_.save_error = error;
  }
  void remove_cases_in_flight() const {
    std::error_code ignored;
    for (const std::filesystem::path& file : cases_in_flight_) std::filesystem::remove(file, ignored);
  }

  const CampaignOptions& options_;
  std::vector<std::unique_ptr<Backend>>& backends_;
  const std::function<bool()>& should_stop_;
  CampaignReport report_;
  std::set<std::filesystem::path> cases_in_flight_;
  ProgressMeter meter_;
};

}  // namespace

bool CampaignReport::holds() const {
  return std::none_of(backends.begin(), backends.end(), [](const BackendTally& tally) { return tally.counterexample.has_value(); });
}

bool CampaignReport::has_every_corner() const {
  return std::none_of(corners.begin(), corners.end(), [](int64_t num_cases) { return num_cases == 0; });
}

bool CampaignReport::is_covered() const {
  bool has_kernels = false;
  for (const BackendTally& tally : backends) {
    if (tally.kernel_paths && !tally.kernel_paths->missing().empty()) return false;
    has_kernels |= tally.kernel_paths.has_value();
  }
  return has_kernels;
}

CampaignReport run_campaign(const CampaignOptions& options, std::vector<std::unique_ptr<Backend>>& backends,
                            const std::function<void(const Progress&)>& on_progress, const std::function<bool()>& should_stop) {
  return Campaign(options, backends, on_progress, should_stop).run();
}

}  // namespace slotproof::cli
