// The follower of a campaign: runs the problems that the fuzzers hand on, on another back end, in batches.

#include "cli/counterexample.h"
#include "fuzz/compare.h"
#include "fuzz/follow.h"
#include "fuzz/input.h"
#include "property_tests/harness/plugin_worker.h"
#include "property_tests/harness/replay.h"

#include <CLI/CLI.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <slotproof/plugin.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>

namespace slotproof::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr size_t kCallsInABatch = 256;
constexpr int kBatchLost = 3;  // exit code: no further call of this process tells anything; the journal has the batch

struct FollowOptions {
  std::string backend;
  fs::path pipe, journal, findings = "findings", judged;
  std::vector<fs::path> inputs;
  std::vector<std::string> accepted;
  bool describes = false;
};

class Follower {
 public:
  Follower(const FollowOptions& options, harness::Backend& backend) : options_(options), backend_(backend) {}

  std::string accept() { return accepted_.parse(options_.accepted); }

  // The problem of a message as this back end can be asked it; nothing where it cannot. A text may say more than the back end claims to
  // answer, and hostile arguments are beyond level core.
  std::optional<FollowedCall> call_of(const FollowHeader& header, Input input) const {
    if (header.target >= targets().size() || targets()[header.target]->remap_case == nullptr) return std::nullopt;
    const harness::BackendInfo& info = backend_.info();
    if (info.level == harness::Level::kCore && (is_case_text(input) || targets()[header.target] == &kArguments)) return std::nullopt;
    auto remap_case = targets()[header.target]->remap_case(input);
    if (!remap_case) return std::nullopt;
    if (!(info.capabilities & SLOTPROOF_CAN_COUNT)) remap_case->counts = false;
    if (!(info.capabilities & SLOTPROOF_CAN_PROMISE_ORDER) || accepted_.is_order_free()) remap_case->order = spec::Order::kUnspecified;
    if (!harness::missing_capability(*remap_case, info.capabilities).empty()) return std::nullopt;
    std::optional<FollowedCall> call(std::in_place, std::move(*remap_case));
    if (!call->remap_case.edits.empty() && !call->frame.holds_every_element()) return std::nullopt;
    return call;
  }

  // One problem by itself, in a worker that may die of it; a finding is shrunk and saved once for each name. `seen`: what is said of one
  // that holds here though it differed before; empty where it did not.
  void judge_alone(const harness::RemapCase& remap_case, const std::string& seen) {
    const auto judge = [&](const harness::RemapCase& c) { return harness::judge(backend_, c, {.accepted = &accepted_}); };
    const harness::Verdict verdict = judge(remap_case);
    if (verdict.is_accepted || (verdict.findings.empty() && seen.empty())) return;
    const std::string name = verdict.findings.empty() ? seen : name_of(harness::most_telling(verdict.findings));
    if (!names_.insert(name).second) return;
    const std::string id = cli::file_stem_of(options_.backend) + "-" + cli::file_stem_of(name);
    const fs::path file = options_.findings / (id + ".json");
    fs::create_directories(options_.findings);
    if (verdict.findings.empty()) {
      cli::save_case(file, remap_case, id, "differs from the reference at first; by itself it holds");
    } else {
      const cli::ShrinkSetting setting{judge, [] { return false; }, options_.findings, id};
      cli::minimize(remap_case, harness::most_telling(verdict.findings), setting);
    }
    fmt::print("FINDING\t{}\t{}\n", name, file.string());
    std::fflush(stdout);
  }

  // Whether there is another batch to come; false where the device is lost.
  bool run(std::vector<FollowedCall>& calls, DeviceBatch* batch) {
    if (calls.empty()) return true;
    std::vector<std::vector<int32_t>> storage(calls.size());
    std::vector<ReferenceRun> due;
    for (size_t i = 0; i < calls.size(); ++i) due.emplace_back(calls[i].frame, storage[i]);
    if (batch != nullptr) {
      if (const std::string error = batch->run(calls); !error.empty()) {
        fmt::print("LOST {}\n", error);
        return false;
      }
    }
    for (size_t i = 0; i < calls.size(); ++i) {
      std::optional<spec::Rule> refused;
      bool has_failed = false;
      if (batch != nullptr) {
        has_failed = calls[i].code < 0 || calls[i].code > 15;
        if (!has_failed && calls[i].code > 0) refused = spec::argument_rule_of(calls[i].code);
      } else {
        const harness::RunOutcome outcome = backend_.run(calls[i].frame, calls[i].remap_case.schedule);
        has_failed = outcome.kind == harness::RunOutcome::Kind::kFault;
        refused = outcome.refused;
      }
      ++num_calls_;
      if (has_failed || !due[i].agrees(calls[i].frame, refused)) judge_alone(calls[i].remap_case, batch ? "only_in_a_batch" : "only_at_first");
    }
    ++num_batches_;
    return true;
  }

  bool has_findings() const { return !names_.empty(); }
  void say_how_far() const {
    fmt::print("followed {} in {} batches, {} findings\n", num_calls_, num_batches_, names_.size());
    std::fflush(stdout);
  }

 private:
  // Ways to crash are findings of their own, as on the host.
  static std::string name_of(const harness::Finding& finding) {
    return finding.violation ? std::string(finding.name()) : fmt::format("{} {}", finding.name(), kind_of_fault(finding.fault));
  }

  const FollowOptions& options_;
  harness::Backend& backend_;
  harness::AcceptedDivergences accepted_;
  std::set<std::string> names_;  // of the findings
  int64_t num_calls_ = 0, num_batches_ = 0;
};

bool read_all(int fd, void* into, size_t num_bytes) {
  for (size_t done = 0; done < num_bytes;) {
    const ssize_t got = read(fd, static_cast<char*>(into) + done, num_bytes - done);
    if (got <= 0) return false;
    done += size_t(got);
  }
  return true;
}

int follow(const FollowOptions& options, Follower& follower, DeviceBatch* batch) {
  const int fd = open(options.pipe.c_str(), O_RDWR | O_CLOEXEC);  // RDWR: the pipe does not end when a fuzzer does
  if (fd < 0) {
    fmt::print(stderr, "fuzz_follow: {} cannot be opened\n", options.pipe.string());
    return 2;
  }
  std::vector<FollowedCall> calls;
  std::string journal;
  auto said = std::chrono::steady_clock::now();
  for (bool is_ended = false; !is_ended;) {
    pollfd waiting{fd, POLLIN, 0};
    const bool has_message = poll(&waiting, 1, 200) > 0;
    if (has_message) {
      FollowHeader header;
      std::vector<uint8_t> bytes;
      if (!read_all(fd, &header, sizeof header)) return 2;
      if (header.target == kEndOfProblems) is_ended = true;
      bytes.resize(header.size);
      if (header.size > 0 && !read_all(fd, bytes.data(), bytes.size())) return 2;
      if (auto call = follower.call_of(header, bytes)) {
        calls.push_back(std::move(*call));
        journal.append(reinterpret_cast<const char*>(&header), sizeof header);
        journal.append(bytes.begin(), bytes.end());
      }
    }
    if (calls.size() < kCallsInABatch && has_message && !is_ended) continue;
    if (!calls.empty()) std::ofstream(options.journal, std::ios::binary) << journal;
    if (!follower.run(calls, batch)) return kBatchLost;
    if (!calls.empty()) fs::resize_file(options.journal, 0);
    calls.clear();
    journal.clear();
    if (std::chrono::steady_clock::now() - said < std::chrono::seconds(1)) continue;
    said = std::chrono::steady_clock::now();
    follower.say_how_far();
  }
  follower.say_how_far();
  return 0;
}

// Every input of the folders, each for the target that its folder is called by: corpora and regressions on another back end. Exit code: 0
// all agree, 1 a finding, 3 the device is lost.
int follow_inputs(const FollowOptions& options, Follower& follower, DeviceBatch* batch) {
  std::vector<FollowedCall> calls;
  for (const fs::path& folder : options.inputs) {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      const Target* target = target_of(entry.path().parent_path().filename().string());
      if (!entry.is_regular_file() || target == nullptr || target->remap_case == nullptr) continue;
      std::ifstream stream(entry.path(), std::ios::binary);
      const std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(stream), {}};
      const auto index = std::find(targets().begin(), targets().end(), target) - targets().begin();
      if (auto call = follower.call_of({uint16_t(index), 0}, bytes)) calls.push_back(std::move(*call));
      if (calls.size() < kCallsInABatch) continue;
      if (!follower.run(calls, batch)) return kBatchLost;
      calls.clear();
    }
  }
  if (!follower.run(calls, batch)) return kBatchLost;
  follower.say_how_far();
  return follower.has_findings() ? 1 : 0;
}

// The calls of a batch that was lost, one by one.
int judge_journal(const FollowOptions& options, Follower& follower) {
  std::ifstream stream(options.judged, std::ios::binary);
  FollowHeader header;
  while (stream.read(reinterpret_cast<char*>(&header), sizeof header)) {
    std::vector<uint8_t> bytes(header.size);
    if (!stream.read(reinterpret_cast<char*>(bytes.data()), header.size) && header.size > 0) break;
    if (const auto call = follower.call_of(header, bytes)) follower.judge_alone(call->remap_case, {});
  }
  return 0;
}

int run_follow(const FollowOptions& options) {
  auto [backend, reason] = harness::make_backend(options.backend);
  if (backend == nullptr) {
    fmt::print(stderr, "fuzz_follow: back end {}: {}\n", options.backend, reason);
    return 2;
  }
  if (options.describes) {
    fmt::print("{} {:#x} {}\n", harness::name_of(backend->info().level), backend->info().capabilities, backend->info().description);
    return 0;
  }
  // The decoders read the same problems out of the same bytes as those of the fuzzers, which were told the same.
  setenv("SLOTPROOF_FUZZ_LEVEL", harness::name_of(backend->info().level), 1);
  setenv("SLOTPROOF_FUZZ_CAPABILITIES", std::to_string(backend->info().capabilities).c_str(), 1);
  Follower follower(options, *backend);
  if (const std::string error = follower.accept(); !error.empty()) {
    fmt::print(stderr, "fuzz_follow: {}\n", error);
    return 2;
  }
  if (!options.judged.empty()) return judge_journal(options, follower);
  const auto [batch, no_batch] = make_device_batch(options.backend);
  fmt::print("{}: {}\n", options.backend, batch ? "many launches a synchronisation" : "call by call: " + no_batch);
  std::fflush(stdout);
  return options.inputs.empty() ? follow(options, follower, batch.get()) : follow_inputs(options, follower, batch.get());
}

}  // namespace
}  // namespace slotproof::fuzz

int main(int argc, char** argv) {
  slotproof::harness::run_as_plugin_worker_if_asked(argc, argv);
  slotproof::fuzz::FollowOptions options;
  CLI::App app("Runs the problems that fuzzers hand on, on another back end", "fuzz_follow");
  app.add_option("--backend", options.backend, "cuda or plugin:PATH")->required();
  app.add_flag("--describe", options.describes, "Print level, capabilities and description of the back end");
  app.add_option("--pipe", options.pipe, "The named pipe to read from, to the end of problems");
  app.add_option("--inputs", options.inputs, "Folders of inputs to run in place of a pipe: fuzz/corpus");
  app.add_option("--journal", options.journal, "Where the batch that runs is noted");
  app.add_option("--judge", options.judged, "A journal whose calls are to be judged one by one");
  app.add_option("--findings", options.findings, "Folder for counterexamples");
  app.add_option("--accept", options.accepted, "Divergences of the seed that count as right: D3, ...")->delimiter(',');
  CLI11_PARSE(app, argc, argv);
  return slotproof::fuzz::run_follow(options);
}
