// Any bytes to the reader of case files: no crash, and either cases that survive being written and read again, or a complaint that
// says where.

#include "fuzz/input.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <random>

namespace slotproof::fuzz {
namespace {

using Json = nlohmann::json;

// A complaint says where, what was expected or what is unknown, in one line of printable ASCII that is short enough to read.
bool is_precise(const std::string& error) {
  const bool is_printable = std::all_of(error.begin(), error.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
  return is_printable && error.size() > 8 && error.size() < 600;
}

Outcome run(Input input, Depth) {
  const std::string text(reinterpret_cast<const char*>(input.data()), input.size());
  const harness::CaseFile file = harness::parse_cases(text);
  if (!file.error.empty()) {
    if (!file.cases.empty()) return finding_of("cases_beside_an_error", file.error);
    return is_precise(file.error) ? Outcome{true, {}, {}} : finding_of("imprecise_error", file.error);
  }
  if (!Json::accept(text)) return finding_of("read_what_is_no_json", "the reader took text that is not JSON");
  const std::string written = harness::write_cases(file.cases);
  const harness::CaseFile again = harness::parse_cases(written);
  if (!again.error.empty()) return finding_of("unreadable_own_text", again.error);
  if (again.cases != file.cases) return finding_of("round_trip", "written and read again, the cases differ");
  if (harness::write_cases(again.cases) != written) return finding_of("round_trip_text", "written, read and written again, the text differs");
  return {true, {}, {}};
}

// ---- The mutator works on the tree where the text is one.

// Every node below `value`, itself among them.
void collect(Json& value, std::vector<Json*>& nodes) {
  nodes.push_back(&value);
  if (value.is_structured()) {
    for (Json& element : value) collect(element, nodes);
  }
}

Json odd_value(std::minstd_rand& random) {
  constexpr int64_t kMax32 = std::numeric_limits<int32_t>::max();
  switch (random() % 14) {
    case 0: return nullptr;
    case 1: return true;
    case 2: return -1;
    case 3: return kMax32;
    case 4: return kMax32 + 1;
    case 5: return -kMax32 - 2;
    case 6: return std::numeric_limits<int64_t>::min();
    case 7: return std::numeric_limits<uint64_t>::max();
    case 8: return 1.5;
    case 9: return "";
    case 10: return Json::array();
    case 11: return Json::object();
    case 12: return "R8";
    default: return int64_t(random() % 64);
  }
}

bool mutate_text(std::string& text, uint32_t seed) {
  Json root = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (root.is_discarded()) return false;
  std::minstd_rand random(seed + 1);
  std::vector<Json*> nodes;
  collect(root, nodes);
  Json& node = *nodes[random() % nodes.size()];
  const Json other = *nodes[random() % nodes.size()];
  if (other.size() > 64) return false;  // so that texts do not double for ever
  switch (random() % 5) {
    case 0: node = odd_value(random); break;
    case 1: node = other; break;
    case 2:
      if (node.is_array()) node.push_back(random() % 2 && !node.empty() ? node.front() : other);
      break;
    case 3:
      if (node.is_array() && !node.empty()) node.erase(random() % node.size());
      if (node.is_object() && !node.empty()) node.erase(std::next(node.begin(), int64_t(random() % node.size())));
      break;
    default:
      if (node.is_object()) node[other.is_string() ? other.get<std::string>() : "tile"] = odd_value(random);
  }
  text = root.dump(-1, ' ', false, Json::error_handler_t::replace);
  return true;
}

}  // namespace

const Target kCaseFile{"case_file", "any bytes to the reader of case files", run, nullptr, nullptr, mutate_text};

}  // namespace slotproof::fuzz
