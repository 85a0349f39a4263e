#pragma once
// A failing case and the smallest case that fails alike.

#include "property_tests/harness/backend.h"
#include "property_tests/harness/judge.h"

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace slotproof::cli {

struct Counterexample {
  std::string case_name;  // "case 8", or what it was made for
  harness::RemapCase original;
  harness::RemapCase shrunk;
  harness::Finding finding;  // of the shrunk case
  int num_steps = 0;
  int num_tries = 0;
  double seconds = 0;  // from the finding to the smallest case
  std::filesystem::path file;
  std::string save_error;  // empty where the file was written
};

// Long enough for the last step of a stubborn one, short enough that nobody waits.
inline constexpr double kDefaultShrinkSeconds = 8;

struct ShrinkSetting {
  std::function<harness::Verdict(const harness::RemapCase&)> judge;
  std::function<bool()> should_stop;
  std::filesystem::path folder;
  std::string id;  // of the case, and the stem of its file
  double most_seconds = kDefaultShrinkSeconds;
};

// Shrinks a case that fails by `wanted`, and saves the smallest one and the first.
Counterexample minimize(const harness::RemapCase& failing, const harness::Finding& wanted, const ShrinkSetting& setting);

// Writes cases before or after they are run. Returns an error, empty where the file was written.
std::string save_case(const std::filesystem::path& file, const harness::RemapCase& remap_case, std::string id, std::string note);

std::string file_stem_of(const std::string& backend);  // "plugin:build/faults/x.so" -> "x"

}  // namespace slotproof::cli
