#include "fuzz/replay.h"

#include "fuzz/input.h"
#include "property_tests/harness/shrinker.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

// Of a build that counts coverage; null in all others.
extern "C" __attribute__((weak)) void __llvm_profile_reset_counters(void);

namespace slotproof::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr const char* kUsage = R"(usage: fuzz_replay [TARGET] [OPTION]... FILE-OR-FOLDER...
Runs inputs through a fuzz target, each judged in full. Without TARGET each file's is the name of its folder: fuzz/corpus/remap/*.
  --quick            as the fuzzer judges: by the reference, the spec's invariants on one in sixteen
  --write-case FILE  writes the one input as a case file with the spec's answer
  --shrink FILE      shrinks the one input, which must fail, and writes the smallest that fails alike as an input
  --seeds FOLDER     takes every case of the given case files apart into inputs, one for each target that can run it
)";

struct Options {
  const Target* target = nullptr;
  Depth depth = Depth::kFull;
  fs::path case_file, shrunk_file, seed_folder;
  std::vector<fs::path> paths;
};

int wrong_usage(const std::string& what) {
  fmt::print(stderr, "fuzz_replay: {}\n{}", what, kUsage);
  return 2;
}

std::string read(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

Input input_in(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

bool write(const fs::path& path, const std::string& text) {
  const fs::path partial = path.string() + ".partial";
  std::ofstream stream(partial, std::ios::binary);
  stream << text;
  stream.close();
  std::error_code failure;
  if (stream) fs::rename(partial, path, failure);
  if (stream && !failure) return true;
  fmt::print(stderr, "fuzz_replay: {} cannot be written\n", path.string());
  return false;
}

std::vector<fs::path> files_below(const std::vector<fs::path>& paths) {
  std::vector<fs::path> files;
  for (const fs::path& path : paths) {
    if (!fs::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    for (const auto& entry : fs::recursive_directory_iterator(path)) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

const Target* target_for(const fs::path& file, const Target* given) {
  return given != nullptr ? given : target_of(fs::absolute(file).parent_path().filename().string());
}

struct Tally {
  int64_t inputs = 0, compared = 0, findings = 0;
};

// Where coverage is counted: without what was not compared, for code that ran is not yet code that was checked.
void count_compared_alone(const Options& options) {
  if (__llvm_profile_reset_counters == nullptr) return;
  std::vector<std::pair<const Target*, std::string>> compared;
  for (const fs::path& file : files_below(options.paths)) {
    const Target* target = target_for(file, options.target);
    std::string text = read(file);
    if (target != nullptr && target->run(input_in(text), options.depth).is_compared) compared.emplace_back(target, std::move(text));
  }
  __llvm_profile_reset_counters();
  for (const auto& [target, text] : compared) target->run(input_in(text), options.depth);
}

// An input that says nothing any more is no regression that holds: a format or a decoder has changed under it.
int replay_all(const Options& options) {
  std::vector<std::pair<const Target*, Tally>> tallies;
  bool all_hold = true;
  const std::vector<fs::path> files = files_below(options.paths);
  if (files.empty()) return wrong_usage("there are no inputs");
  for (const fs::path& file : files) {
    const Target* target = target_for(file, options.target);
    if (target == nullptr) return wrong_usage(fmt::format("{}: no target is called as its folder is", file.string()));
    if (!fs::exists(file)) return wrong_usage(fmt::format("{}: no such file", file.string()));
    auto tally = std::find_if(tallies.begin(), tallies.end(), [&](const auto& entry) { return entry.first == target; });
    if (tally == tallies.end()) tally = tallies.insert(tallies.end(), {target, {}});
    const std::string text = read(file);
    const Outcome outcome = target->run(input_in(text), options.depth);
    ++tally->second.inputs;
    tally->second.compared += outcome.is_compared;
    all_hold &= outcome.is_compared && outcome.finding.empty();
    if (!outcome.is_compared) fmt::print("NOTHING {}: it says nothing to the target {}\n", file.string(), target->name);
    if (outcome.finding.empty()) continue;
    ++tally->second.findings;
    fmt::print("FINDING {} {}: {}\n", file.string(), outcome.finding, outcome.detail);
  }
  for (const auto& [target, tally] : tallies)
    fmt::print("{}: {} inputs, {} compared, {} findings\n", target->name, tally.inputs, tally.compared, tally.findings);
  count_compared_alone(options);
  return all_hold ? 0 : 1;
}

int write_case(const Options& options) {
  if (options.paths.size() != 1) return wrong_usage("--write-case takes one input");
  const Target* target = target_for(options.paths[0], options.target);
  if (target == nullptr || target->case_of == nullptr) return wrong_usage("inputs of this target are no cases");
  const std::string text = read(options.paths[0]);
  auto value = target->case_of(input_in(text));
  if (!value) return wrong_usage("the input is no problem");
  value->id = options.case_file.stem().string();
  return write(options.case_file, harness::write_cases({*value})) ? 0 : 2;
}

// Works on the case where the input is a remap problem, so that the smallest is one that a person could have written. Whatever
// crashes the process is beyond it: libFuzzer's -minimize_crash is for those.
int shrink_input(const Options& options) {
  if (options.paths.size() != 1) return wrong_usage("--shrink takes one input");
  const Target* target = target_for(options.paths[0], options.target);
  if (target == nullptr || target->case_of == nullptr) return wrong_usage("inputs of this target are no cases");
  const std::string text = read(options.paths[0]);
  const std::string wanted = target->run(input_in(text), Depth::kFull).finding;
  const auto value = target->case_of(input_in(text));
  const auto* remap_case = value ? std::get_if<harness::RemapCase>(&value->problem) : nullptr;
  if (wanted.empty() || remap_case == nullptr) return wrong_usage("the input does not fail, or is no remap problem");
  const auto still_fails = [&](const harness::RemapCase& candidate) { return target->run(input_in(input_of(candidate)), Depth::kFull).finding == wanted; };
  if (!still_fails(*remap_case)) return wrong_usage("the input fails as bytes, but not as a case");
  const auto begin = std::chrono::steady_clock::now();
  const auto shrunk = harness::shrink(*remap_case, still_fails, 20000, [&] { return std::chrono::steady_clock::now() - begin > std::chrono::seconds(20); });
  fmt::print("{}: {} simplifications, {} tries\n", wanted, shrunk.num_steps, shrunk.num_tries);
  return write(options.shrunk_file, input_of(shrunk.remap_case)) ? 0 : 2;
}

int write_seeds(const Options& options) {
  int num_written = 0;
  for (const fs::path& file : files_below(options.paths)) {
    if (file.extension() != ".json") continue;
    const harness::CaseFile cases = harness::read_cases(file);
    if (!cases.error.empty()) return wrong_usage(cases.error);
    for (const harness::Case& value : cases.cases) {
      harness::Case bare;
      bare.id = value.id;
      bare.problem = value.problem;
      const std::string text = input_of(bare);
      for (const Target* target : targets()) {
        const bool reads_text = target->case_of != nullptr || target->decode == nullptr;
        if (!reads_text || (options.target != nullptr && target != options.target)) continue;
        if (!target->run(input_in(text), Depth::kFull).is_compared) continue;
        const fs::path folder = options.seed_folder / target->name;
        fs::create_directories(folder);
        if (!write(folder / fmt::format("{}-{}", file.stem().string(), value.id), text)) return 2;
        ++num_written;
      }
    }
  }
  fmt::print("{} inputs written to {}\n", num_written, options.seed_folder.string());
  return 0;
}

}  // namespace

int replay_main(int argc, char** argv, const Target* only) {
  Options options;
  options.target = only;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const auto value_into = [&](fs::path& path) {
      if (i + 1 < argc) path = argv[++i];
      return !path.empty();
    };
    if (argument == "--quick") options.depth = Depth::kQuick;
    else if (argument == "--write-case" ? !value_into(options.case_file)
             : argument == "--shrink"   ? !value_into(options.shrunk_file)
                                        : argument == "--seeds" && !value_into(options.seed_folder))
      return wrong_usage(fmt::format("{} needs a value", argument));
    else if (argument.starts_with("--")) {
      if (argument != "--write-case" && argument != "--shrink" && argument != "--seeds") return wrong_usage(fmt::format("unknown option {}", argument));
    } else if (options.target == nullptr && options.paths.empty() && target_of(argument) != nullptr && !fs::exists(argument))
      options.target = target_of(argument);
    else options.paths.emplace_back(argument);
  }
  if (options.paths.empty()) return wrong_usage("no inputs");
  if (!options.case_file.empty()) return write_case(options);
  if (!options.shrunk_file.empty()) return shrink_input(options);
  if (!options.seed_folder.empty()) return write_seeds(options);
  return replay_all(options);
}

}  // namespace slotproof::fuzz
