#include "property_tests/harness/case_file.h"

#include "property_tests/harness/case_file_parts.h"
#include "property_tests/harness/frame.h"
#include "spec/arguments.h"
#include "spec/remap.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <fstream>
#include <iterator>
#include <map>
#include <system_error>

#include <unistd.h>

namespace slotproof::harness {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFormat = "slotproof-cases";
constexpr int32_t kVersion = 1;

std::string text_of(const Malformed& malformed) {
  return malformed.place.empty() ? malformed.problem : malformed.place + ": " + malformed.problem;
}

// "cases[3] (id "R6-edge")": the position for programs, the id for people.
std::string place_of_case(size_t index, const Json& value) {
  std::string place = "cases[" + std::to_string(index) + "]";
  if (value.is_object() && value.contains("id") && value["id"].is_string()) place += " (id " + excerpt_of(value["id"]) + ")";
  return place;
}

std::vector<Case> cases_of(const Json& file) {
  const Fields fields(file, "", {"format", "version", "cases"});
  if (const Json& format = fields.required("format"); format != kFormat) {
    fail("format", std::string("expected \"") + kFormat + "\", got " + excerpt_of(format));
  }
  if (const Json& version = fields.required("version"); version != kVersion) {
    fail("version", "this program reads version " + std::to_string(kVersion) + ", got " + excerpt_of(version));
  }
  const Json& list = list_of(fields.required("cases"), "cases");
  std::vector<Case> cases;
  std::map<std::string, size_t> index_of_id;
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string place = place_of_case(i, list[i]);
    try {
      cases.push_back(case_of(list[i]));
    } catch (const Malformed& malformed) {
      fail(place, text_of(malformed));
    }
    const auto [first, is_new] = index_of_id.try_emplace(cases.back().id, i);
    if (!is_new) fail(place, "id: cases[" + std::to_string(first->second) + "] has it already");
  }
  return cases;
}

}  // namespace

Expectation expectation_of(const RemapCase& remap_case) {
  Frame frame(remap_case, 1);
  const spec::RemapProblem problem = frame.problem();
  if (const auto refusal = spec::refusal_of(problem)) return ExpectedRefusal{refusal->rule};
  if (!frame.holds_every_element()) return std::monostate{};
  const spec::ExpectedOutputs expected = spec::expected_outputs(problem);
  ExpectedRemap outputs;
  outputs.out = OwnedMatrix::filled(problem.num_tokens(), problem.topk(), 0);
  std::copy_n(expected.slots.data(), expected.slots.size(), outputs.out.storage.begin());
  if (remap_case.counts) outputs.valid_counts = std::vector<int32_t>(expected.valid_counts.begin(), expected.valid_counts.end());
  return outputs;
}

CaseFile parse_cases(const std::string& text) {
  CaseFile file;
  try {
    file.cases = cases_of(parse_json(text));
  } catch (const Malformed& malformed) {
    file.error = text_of(malformed);
  } catch (const std::exception& error) {  // no memory
    file.error = std::string("cannot be read: ") + error.what();
  }
  return file;
}

CaseFile read_cases(const fs::path& path) {
  std::error_code failure;
  std::ifstream stream(path, std::ios::binary);
  if (!stream || fs::is_directory(path, failure)) return {{}, path.string() + ": cannot be opened"};
  std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (stream.bad()) return {{}, path.string() + ": cannot be read"};
  CaseFile file = parse_cases(text);
  if (!file.error.empty()) file.error = path.string() + ": " + file.error;
  return file;
}

std::string save_cases(const fs::path& path, const std::vector<Case>& cases) {
  // A name of its own for each save: several processes may save counterexamples to one folder.
  static std::atomic<unsigned> num_saves{0};
  fs::path partial = path;
  partial += ".partial-" + std::to_string(getpid()) + "-" + std::to_string(num_saves++);
  std::error_code failure;
  {
    std::ofstream stream(partial, std::ios::binary);
    stream << write_cases(cases);
    stream.close();
    if (!stream) {
      fs::remove(partial, failure);
      return path.string() + ": cannot be written";
    }
  }
  fs::rename(partial, path, failure);
  if (!failure) return "";
  const std::string reason = failure.message();
  fs::remove(partial, failure);
  return path.string() + ": " + reason;
}

}  // namespace slotproof::harness
