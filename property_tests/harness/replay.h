#pragma once
// Runs a case of a case file on a back end and compares with what the file expects, and with the spec.

#include "property_tests/harness/backend.h"
#include "property_tests/harness/case_file.h"

#include <string>

namespace slotproof::harness {

struct Replayed {
  enum class Result : uint8_t { kHolds, kFails, kNotApplicable };
  Result result = Result::kHolds;
  std::string why;  // of a failure: what was expected and what came; of a case that is not applicable: what the back end lacks
};

Replayed replay(Backend& backend, const Case& value);

// What a problem needs that a signature with these capabilities cannot say, empty where it can say all. Counts and a promised order
// are not looked at: they can be left out of the question.
std::string missing_capability(const RemapCase& c, uint64_t capabilities);

}  // namespace slotproof::harness
