#include "cli/counterexample.h"

#include "property_tests/harness/case_file.h"
#include "property_tests/harness/shrinker.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace slotproof::cli {
namespace {

using Clock = std::chrono::steady_clock;
using harness::Finding;
using harness::RemapCase;
using harness::Verdict;

harness::Case case_of(const RemapCase& remap_case, std::string id, std::string note) {
  harness::Case value;
  value.id = std::move(id);
  value.kind = "counterexample";
  value.note = std::move(note);
  value.problem = remap_case;
  value.expected = harness::expectation_of(remap_case);
  return value;
}

// The finding among those of a verdict that is the same fault as `wanted`.
const Finding* same_finding(const Verdict& verdict, const Finding& wanted) {
  for (const Finding& finding : verdict.findings) {
    if (finding.name() == wanted.name()) return &finding;
  }
  return nullptr;
}

}  // namespace

std::string file_stem_of(const std::string& backend) {
  std::string stem = backend.rfind("plugin:", 0) == 0 ? std::filesystem::path(backend.substr(7)).stem().string() : backend;
  for (char& c : stem) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '_') c = '_';
  }
  return stem;
}

Counterexample minimize(const RemapCase& failing, const Finding& wanted, const ShrinkSetting& setting) {
  Counterexample found;
  found.original = failing;
  found.finding = wanted;
  const auto begin = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  const auto still_fails = [&](const RemapCase& candidate) {
    const Verdict verdict = setting.judge(candidate);
    const Finding* finding = same_finding(verdict, wanted);
    if (finding) found.finding = *finding;
    return finding != nullptr;
  };
  const harness::Shrunk shrunk = harness::shrink(failing, still_fails, 20000, [&] { return seconds() > setting.most_seconds || setting.should_stop(); });
  found.shrunk = shrunk.remap_case;
  // A small problem shows more than the one that it came from: with a single entry, which rule it is.
  if (const Verdict last = setting.judge(found.shrunk); !last.findings.empty()) found.finding = harness::most_telling(last.findings);
  found.num_steps = shrunk.num_steps;
  found.num_tries = shrunk.num_tries;
  found.seconds = seconds();
  found.file = setting.folder / (setting.id + ".json");
  found.save_error = harness::save_cases(found.file, {case_of(found.shrunk, setting.id, describe(found.finding)),
                                                      case_of(found.original, setting.id + "-unshrunk", "the same before it was shrunk")});
  return found;
}

std::string save_case(const std::filesystem::path& file, const RemapCase& remap_case, std::string id, std::string note) {
  return harness::save_cases(file, {case_of(remap_case, std::move(id), std::move(note))});
}

}  // namespace slotproof::cli
