#include "cli/bulk.h"
#include "cli/campaign.h"
#include "cli/commands.h"
#include "cli/report.h"
#include "property_tests/harness/backend.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace slotproof::cli {
namespace {

constexpr uint64_t kDefaultCases = 20000;
constexpr double kDefaultBulkSeconds = 10;
constexpr int64_t kHostBulkIndices = 1 << 18;  // so that Ctrl-C is heard soon

volatile std::sig_atomic_t g_is_interrupted = 0;

struct CheckOptions {
  std::vector<std::string> backends;
  std::vector<std::string> faults;
  std::string level;
  std::vector<std::string> accepted;
  std::optional<uint64_t> num_cases;
  std::optional<double> seconds;
  uint64_t seed = 1;
  uint64_t first_case = 0;
  std::string json, junit;
  std::string findings = "findings";
  bool has_exact_buffers = false, is_in_process = false, has_every_path = false, requires_coverage = false, requires_corners = false;
  bool keeps_going = false;
  double shrink_seconds = kDefaultShrinkSeconds;
  double time_limit = harness::BackendOptions{}.time_limit_s;
  bool is_bulk = false;
  int32_t topk = 0;
};

int usage_error(const std::string& what) {
  fmt::print(stderr, "slotproof check: {}\n", what);
  return kWrongUsage;
}

// Planted faults lie beside the program: bin/slotproof, faults/NAME.so.
std::filesystem::path fault_folder() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  return program.parent_path().parent_path() / "faults";
}

std::string known_faults() {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(fault_folder(), error)) {
    if (entry.path().extension() == ".so") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list.empty() ? fmt::format("none were built into {}", fault_folder().string()) : list;
}

// A failure to write the report is not lost.
bool write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) fmt::print(stderr, "slotproof check: could not write {}\n", path);
  return bool(file);
}

struct Backends {
  std::vector<std::unique_ptr<harness::Backend>> present;
  std::vector<AbsentBackend> absent;
  std::string error;  // a back end that was asked for by name and is not there
};

Backends make_backends(const CheckOptions& options) {
  Backends backends;
  std::vector<std::string> names = options.backends;
  for (const std::string& fault : options.faults) {
    const auto path = fault_folder() / (fault + ".so");
    if (!std::filesystem::exists(path)) {
      backends.error = fmt::format("there is no planted fault '{}'; known: {}", fault, known_faults());
      return backends;
    }
    names.push_back("plugin:" + path.string());
  }
  const bool is_default = names.empty();
  if (is_default) names.assign(std::begin(harness::kOwnBackends), std::end(harness::kOwnBackends));
  harness::BackendOptions with = backend_options_of(options.has_exact_buffers, options.is_in_process);
  with.time_limit_s = options.time_limit;
  for (const std::string& name : names) {
    auto [backend, reason] = harness::make_backend(name, with);
    if (backend) {
      backends.present.push_back(std::move(backend));
    } else if (is_default) {
      backends.absent.push_back({name, reason});
    } else {
      backends.error = fmt::format("back end '{}': {}", name, reason);
    }
  }
  return backends;
}

// One line on a terminal, written over and over, gone in the end; nothing anywhere else.
class ProgressLine {
 public:
  explicit ProgressLine(const char* unit) : unit_(unit) {}

  void show(const Progress& progress) const {
    if (!is_terminal_) return;
    fmt::print(stderr, "{}{} {:3.0f} %  {} {}  {:.2e} indices/s  {:.0f} s", kClear, progress.activity, 100 * std::min(progress.share_done, 1.0),
               progress.num_cases, unit_, progress.indices_per_second, progress.seconds);
    std::fflush(stderr);
  }
  void clear() const {
    if (is_terminal_) fmt::print(stderr, kClear);
  }

 private:
  static constexpr const char* kClear = "\r\x1b[K";
  const char* unit_;
  bool is_terminal_ = isatty(STDERR_FILENO) == 1;
};

// The first Ctrl-C ends the campaign with its report; a second one kills.
void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = [](int) { g_is_interrupted = 1; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

// A bulk batch is all of one level and judged whole, so what narrows a case has no place here.
std::string bulk_usage_error_of(const CheckOptions& options) {
  const auto has_batches = [](const std::string& name) { return name == "cuda" || name == "host" || name == "host-fast"; };
  if (options.backends.size() > 1 || (options.backends.size() == 1 && !has_batches(options.backends[0]))) {
    return "--bulk runs on one back end, cuda (the default), host-fast or host";
  }
  if (!options.faults.empty() || !options.level.empty() || !options.accepted.empty() || !options.junit.empty() || options.has_exact_buffers ||
      options.is_in_process || options.keeps_going || options.has_every_path || options.requires_coverage || options.requires_corners) {
    return "--bulk goes with none of --fault, --level, --accept, --junit, --keep-going, --exact-buffers, --in-process, --every-path, --require-coverage and --require-corners";
  }
  return {};
}

int run_bulk_check(const CheckOptions& options) {
  if (const std::string error = bulk_usage_error_of(options); !error.empty()) return usage_error(error);
  const std::string name = options.backends.empty() ? "cuda" : options.backends[0];
  BulkOptions bulk;
  bulk.seed = options.seed;
  bulk.first_batch = options.first_case;
  bulk.num_batches = options.num_cases;
  bulk.seconds = options.seconds;
  if (!options.num_cases && !options.seconds) bulk.seconds = kDefaultBulkSeconds;
  bulk.scale.topk = options.topk;
  const bool is_on_host = name != "cuda";
  if (is_on_host) bulk.scale.max_indices = kHostBulkIndices;
  bulk.findings = options.findings;
  const auto kernel = name == "host" ? harness::HostKernel::kChecked : harness::HostKernel::kFast;
  auto [slots, reason] = is_on_host ? harness::BulkSlotsOrReason{harness::make_host_bulk_slots(kernel), {}} : harness::make_bulk_slots(2, bulk.scale);
  if (slots.empty()) return usage_error(fmt::format("--bulk on {}: {}", name, reason));
  auto [backend, why_not] = harness::make_backend(name);
  if (!backend) return usage_error(fmt::format("--bulk on {}: {}", name, why_not));

  catch_interrupts();
  const ProgressLine line("batches");
  const BulkReport report = run_bulk(bulk, slots, *backend, [&](const Progress& progress) { line.show(progress); }, [] { return g_is_interrupted != 0; });
  line.clear();
  fmt::print("{}", table_of(report));
  if (report.failure) fmt::print("\n{}", text_of(*report.failure, report));
  const bool is_written = options.json.empty() || write_file(options.json, json_of(report));
  if (report.failure) return kCounterexample;
  if (report.is_interrupted) return kInterrupted;
  return is_written ? kAllHolds : kWrongUsage;
}

int run_check(const CheckOptions& options) {
  if (options.is_bulk) return run_bulk_check(options);
  if (options.topk != 0) return usage_error("--topk goes with --bulk");
  CampaignOptions campaign;
  campaign.seed = options.seed;
  campaign.first_case = options.first_case;
  campaign.num_cases = options.num_cases;
  campaign.seconds = options.seconds;
  campaign.findings = options.findings;
  campaign.shrink_seconds = options.shrink_seconds;
  campaign.keeps_going = options.keeps_going;
  campaign.has_every_path = options.has_every_path;
  campaign.requires_coverage = options.requires_coverage;
  campaign.requires_corners = options.requires_corners;
  if (!options.num_cases && !options.seconds) campaign.num_cases = kDefaultCases;
  if (!options.level.empty()) campaign.level = harness::level_of(options.level);
  if (const std::string error = campaign.accepted.parse(options.accepted); !error.empty()) return usage_error(error);
  Backends backends = make_backends(options);
  if (!backends.error.empty()) return usage_error(backends.error);

  catch_interrupts();
  const ProgressLine line("cases");
  const CampaignReport report = run_campaign(campaign, backends.present, [&](const Progress& progress) { line.show(progress); }, [] { return g_is_interrupted != 0; });
  line.clear();
  fmt::print("{}", table_of(report, backends.absent));
  for (const BackendTally& tally : report.backends) {
    if (tally.counterexample) fmt::print("\n{}", text_of(*tally.counterexample, tally));
  }
  bool is_written = true;
  if (!options.json.empty()) is_written &= write_file(options.json, json_of(report, backends.absent));
  if (!options.junit.empty()) is_written &= write_file(options.junit, junit_of(report, backends.absent));
  if (!report.holds()) return kCounterexample;
  if (report.is_interrupted) return kInterrupted;
  if (options.requires_coverage && !report.is_covered()) return kCounterexample;
  if (options.requires_corners && !report.has_every_corner()) return kCounterexample;
  return is_written ? kAllHolds : kWrongUsage;
}

}  // namespace

Command add_check(CLI::App& app) {
  auto options = std::make_shared<CheckOptions>();
  app.add_option("--backend", options->backends, "reference, host, host-fast, cuda or plugin:PATH; default: all that are present");
  app.add_option("--fault", options->faults, "A planted fault by name; it must be found");
  app.add_option("--level", options->level, "core, guarded or stable; default: what the back end claims")->check(CLI::IsMember({"core", "guarded", "stable"}));
  app.add_option("--accept", options->accepted, "Known divergences not to judge, e.g. D3,D10")->delimiter(',');
  auto* cases = app.add_option("--cases", options->num_cases, fmt::format("Cases to draw (default {})", kDefaultCases));
  app.add_option("--seconds", options->seconds, "Seconds to run, instead of a number of cases")->excludes(cases)->check(CLI::NonNegativeNumber);
  app.add_option("--seed", options->seed, "Seed of the campaign: the same seed draws the same cases")->capture_default_str();
  app.add_option("--first-case", options->first_case, "Where to go on in an interrupted campaign")->capture_default_str();
  app.add_flag("--bulk", options->is_bulk, fmt::format("Make, run and judge whole batches on the device, or on the host with --backend host-fast (--cases counts batches; default {} s)", kDefaultBulkSeconds));
  app.add_option("--topk", options->topk, "With --bulk: the width of all rows, instead of drawn ones")->check(CLI::Range(1, 1 << 20));
  app.add_option("--json", options->json, "Write the report as JSON");
  app.add_option("--junit", options->junit, "Write the report as JUnit XML");
  app.add_option("--findings", options->findings, "Folder for counterexamples")->capture_default_str();
  app.add_flag("--exact-buffers", options->has_exact_buffers, kExactBuffersHelp);
  app.add_flag("--in-process", options->is_in_process, kInProcessHelp);
  app.add_option("--time-limit", options->time_limit, "Seconds that one call of a plug-in or of the CUDA worker may take")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--shrink-seconds", options->shrink_seconds, "Seconds that making a counterexample smaller may take")->check(CLI::NonNegativeNumber)->capture_default_str();
  app.add_flag("--keep-going", options->keeps_going, "Go on behind a counterexample, and count in how many cases each invariant and law sees the fault");
  app.add_flag("--every-path", options->has_every_path, "Begin with a case for each path that the launcher of our kernels can pick");
  app.add_flag("--require-corners", options->requires_corners, "Fail where a corner was not reached (slotproof corners lists them)");
  app.add_flag("--require-coverage", options->requires_coverage, "Fail where such a path was never launched");
  return [options] { return run_check(*options); };
}

}  // namespace slotproof::cli
