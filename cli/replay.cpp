#include "cli/commands.h"
#include "property_tests/harness/backend.h"
#include "property_tests/harness/case_file.h"
#include "property_tests/harness/laws.h"
#include "property_tests/harness/replay.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <memory>

namespace slotproof::cli {
namespace {

struct ReplayOptions {
  std::vector<std::string> files;
  std::vector<std::string> backends;
  std::string case_id;
  bool has_exact_buffers = false, is_in_process = false, has_laws = false;
};

struct Tally {
  int holds = 0, fails = 0, not_applicable = 0;
};

// The first law that does not hold on a case that otherwise does, as text; empty where all hold.
std::string broken_law_of(harness::Backend& backend, const harness::Case& value) {
  const auto* remap_case = std::get_if<harness::RemapCase>(&value.problem);
  if (remap_case == nullptr) return {};
  for (const spec::LawText& law : spec::laws()) {
    const harness::LawVerdict verdict = harness::check_law(law.law, backend, *remap_case);
    if (!verdict.findings.empty()) return describe(verdict.findings.front());
  }
  return {};
}

int run_replay(const ReplayOptions& options) {
  std::vector<std::unique_ptr<harness::Backend>> backends;
  const bool is_default = options.backends.empty();
  const std::vector<std::string> all(std::begin(harness::kOwnBackends), std::end(harness::kOwnBackends));
  for (const std::string& name : is_default ? all : options.backends) {
    auto [backend, reason] = harness::make_backend(name, backend_options_of(options.has_exact_buffers, options.is_in_process));
    if (backend) {
      backends.push_back(std::move(backend));
    } else if (is_default) {
      fmt::print("{}: absent: {}\n", name, reason);
    } else {
      fmt::print(stderr, "slotproof replay: back end '{}': {}\n", name, reason);
      return kWrongUsage;
    }
  }
  // All files are read before the first case runs: a file that cannot be read is wrong usage, whatever the cases say.
  std::vector<std::pair<std::string, harness::CaseFile>> files;
  bool is_case_found = options.case_id.empty();
  for (const std::string& path : options.files) {
    harness::CaseFile file = harness::read_cases(path);
    if (!file.error.empty()) {
      fmt::print(stderr, "slotproof replay: {}\n", file.error);
      return kWrongUsage;
    }
    for (const harness::Case& value : file.cases) is_case_found |= value.id == options.case_id;
    files.emplace_back(path, std::move(file));
  }
  if (!is_case_found) {
    fmt::print(stderr, "slotproof replay: no case '{}' in the files\n", options.case_id);
    return kWrongUsage;
  }
  bool has_failed = false;
  for (const auto& backend : backends) {
    Tally tally;
    for (const auto& [path, file] : files) {
      for (const harness::Case& value : file.cases) {
        if (!options.case_id.empty() && value.id != options.case_id) continue;
        harness::Replayed replayed = harness::replay(*backend, value);
        if (options.has_laws && replayed.result == harness::Replayed::Result::kHolds) {
          replayed.why = broken_law_of(*backend, value);
          if (!replayed.why.empty()) replayed.result = harness::Replayed::Result::kFails;
        }
        tally.holds += replayed.result == harness::Replayed::Result::kHolds;
        tally.not_applicable += replayed.result == harness::Replayed::Result::kNotApplicable;
        if (replayed.result != harness::Replayed::Result::kFails) continue;
        ++tally.fails;
        fmt::print("FAILS {} {} on {}: {}\n", path, value.id, backend->info().name, replayed.why);
      }
    }
    has_failed |= tally.fails > 0;
    fmt::print("{}: {} cases hold, {} fail, {} not applicable ({})\n", backend->info().name, tally.holds, tally.fails, tally.not_applicable, backend->info().description);
  }
  return has_failed ? kCounterexample : kAllHolds;
}

}  // namespace

Command add_replay(CLI::App& app) {
  auto options = std::make_shared<ReplayOptions>();
  app.add_option("FILE", options->files, "Case files")->required();
  app.add_option("--backend", options->backends, "reference, host, host-fast, cuda or plugin:PATH; default: all that are present");
  app.add_option("--case", options->case_id, "Only the case of this id");
  app.add_flag("--laws", options->has_laws, "Check every law on each case, too");
  app.add_flag("--exact-buffers", options->has_exact_buffers, kExactBuffersHelp);
  app.add_flag("--in-process", options->is_in_process, kInProcessHelp);
  return [options] { return run_replay(*options); };
}

}  // namespace slotproof::cli
