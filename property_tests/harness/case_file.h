#pragma once
// Case files: portable problems with what is expected of them. property_tests/cases.schema.json says the format
// exactly; property_tests/vectors/README.md says it in words.

#include "property_tests/harness/remap_case.h"
#include "spec/rules.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>
#include <variant>
#include <vector>

namespace slotproof::harness {

struct ExpectedRemap {
  OwnedMatrix out;                                  // [T, K]
  std::optional<std::vector<int32_t>> valid_counts;
  bool operator==(const ExpectedRemap&) const = default;
};
struct ExpectedView {
  int64_t num_rows = 0;
  int64_t block_stride_rows = 0;
  std::optional<std::vector<int64_t>> gap_rows;
  bool operator==(const ExpectedView&) const = default;
};
struct ExpectedLocalLengths {
  std::vector<int32_t> local_lengths;
  bool operator==(const ExpectedLocalLengths&) const = default;
};
struct ExpectedRefusal {
  std::optional<spec::Rule> rule;  // absent: any
  bool operator==(const ExpectedRefusal&) const = default;
};

struct LocalLengthProblem {
  std::vector<int32_t> lengths;
  spec::RankOwnership dcp;
  bool operator==(const LocalLengthProblem&) const = default;
};

// std::monostate: a problem without an expectation, which a counterexample may be.
using Expectation = std::variant<std::monostate, ExpectedRemap, ExpectedView, ExpectedLocalLengths, ExpectedRefusal>;

// What the spec expects of a problem. Nothing of a call whose arguments say more than there is memory for.
Expectation expectation_of(const RemapCase& remap_case);

using Problem = std::variant<RemapCase, spec::FlatRowViewProblem, LocalLengthProblem>;

struct Case {
  std::string id;
  std::string kind;    // group, for reading
  std::string report;  // where it was first seen, for reading
  std::string note;
  Problem problem;
  Expectation expected;
  bool operator==(const Case&) const = default;
};

struct CaseFile {
  std::vector<Case> cases;
  // Empty where the file was read; else what is wrong and where: `cases[3] (id "R6-edge"): problem.block_size: ...`.
  std::string error;
};

CaseFile read_cases(const std::filesystem::path& path);
CaseFile parse_cases(const std::string& text);  // never throws, whatever the bytes
nlohmann::ordered_json to_json(const Case& value);
// One case a line, in the order given; ends with a newline.
std::string write_cases(const std::vector<Case>& cases);
// Returns an error message, empty where written. Writes to a temporary name first, so a reader never sees half a file.
std::string save_cases(const std::filesystem::path& path, const std::vector<Case>& cases);

}  // namespace slotproof::harness
