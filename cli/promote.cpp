// A finding becomes a regression: an input that fuzz_replay runs in every build, a vector for everyone, and a line that says why.

#include "cli/commands.h"
#include "fuzz/target.h"
#include "property_tests/harness/case_file.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

namespace slotproof::cli {
namespace {

namespace fs = std::filesystem;

struct PromoteOptions {
  fs::path file, tree = ".";
  std::string why, target, id;
};

int wrong_usage(const std::string& what) {
  fmt::print(stderr, "slotproof promote: {}\n", what);
  return kWrongUsage;
}

// The target that the file's place names: a finding's folder begins with it, a corpus's folder is it.
const fuzz::Target* target_by_place(const fs::path& file) {
  const std::string folder = fs::absolute(file).parent_path().filename().string();
  const fuzz::Target* found = nullptr;
  for (const fuzz::Target* target : fuzz::targets()) {
    const std::string name = target->name;
    if ((folder == name || folder.starts_with(name + "-")) && (found == nullptr || name.size() > std::string_view(found->name).size())) found = target;
  }
  return found;
}

// A case file says by its problem who can run it.
const fuzz::Target* target_by_case(fuzz::Input input) {
  for (const fuzz::Target* target : fuzz::targets()) {
    if (target->case_of != nullptr && !input.empty() && input[0] == '{' && target->run(input, fuzz::Depth::kFull).is_compared) return target;
  }
  return nullptr;
}

bool append_line(const fs::path& index, const std::string& line) {
  const bool is_new = !fs::exists(index);
  std::ofstream stream(index, std::ios::app | std::ios::binary);
  if (is_new)
    stream << "# Regressions\n\nWhat fuzzing found, by `slotproof promote`: the input, the same as a vector, and why it is kept.\n\n| input | vector | why "
              "|\n|---|---|---|\n";
  stream << line;
  stream.close();
  return bool(stream);
}

int run_promote(const PromoteOptions& options) {
  std::ifstream stream(options.file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (!stream) return wrong_usage(options.file.string() + ": cannot be read");
  if (!fs::is_directory(options.tree / "fuzz") || !fs::is_directory(options.tree / "property_tests"))
    return wrong_usage(options.tree.string() + " is no source tree of slotproof: --tree says where it is");
  const fuzz::Input input{reinterpret_cast<const uint8_t*>(text.data()), text.size()};
  const fuzz::Target* target = options.target.empty() ? target_by_place(options.file) : fuzz::target_of(options.target);
  if (target == nullptr && options.target.empty()) target = target_by_case(input);
  if (target == nullptr) return wrong_usage("which target is it for? --target says so");
  const fuzz::Outcome outcome = target->run(input, fuzz::Depth::kFull);
  if (!outcome.is_compared) return wrong_usage(fmt::format("the input says nothing to the target {}", target->name));
  const std::string id = options.id.empty() ? fmt::format("{}-{:08x}", target->name, fuzz::hash_of(input)) : options.id;

  const fs::path input_path = fs::path("fuzz") / "regressions" / target->name / id, vector_path = fs::path("property_tests") / "regressions" / (id + ".json");
  for (const fs::path& path : {input_path, vector_path}) {
    if (fs::exists(options.tree / path)) return wrong_usage(path.string() + " is there already");
  }
  // The input comes last: where something fails, the same command can be given again.
  fs::create_directories((options.tree / input_path).parent_path());
  fs::create_directories((options.tree / vector_path).parent_path());
  std::string vector_text = "none: no case file has such a problem";
  if (auto value = target->case_of != nullptr ? target->case_of(input) : std::nullopt) {
    value->id = id;
    value->kind = "regression";
    value->note = options.why;
    if (const std::string error = harness::save_cases(options.tree / vector_path, {*value}); !error.empty()) return wrong_usage(error);
    vector_text = fmt::format("`{}`", vector_path.string());
  }
  std::string why = options.why;
  for (char& c : why) c = c == '|' || c == '\n' ? ' ' : c;
  const fs::path index = vector_path.parent_path() / "index.md";
  std::error_code error;
  if (!append_line(options.tree / index, fmt::format("| `{}` | {} | {} |\n", input_path.string(), vector_text, why))) {
    fs::remove(options.tree / vector_path, error);
    return wrong_usage(index.string() + " cannot be written");
  }
  fs::copy_file(options.file, options.tree / input_path, error);
  if (error) return wrong_usage(fmt::format("{} cannot be written ({}); take its line out of {} and {} away", input_path.string(), error.message(), index.string(), vector_path.string()));
  fmt::print("{}\n{}\n{}\n", input_path.string(), vector_text, outcome.finding.empty() ? "it holds in this build" : "it still fails: " + outcome.finding);
  return kAllHolds;
}

}  // namespace

Command add_promote(CLI::App& app) {
  auto options = std::make_shared<PromoteOptions>();
  app.add_option("FILE", options->file, "The finding: an input of a fuzz target, or a case file")->required();
  app.add_option("--why", options->why, "What was wrong, in a line")->required();
  app.add_option("--target", options->target, "The fuzz target; default: by the file's folder, or by its problem");
  app.add_option("--id", options->id, "The regression's name; default: the target and a hash");
  app.add_option("--tree", options->tree, "The source tree; default: here");
  return [options] { return run_promote(*options); };
}

}  // namespace slotproof::cli
