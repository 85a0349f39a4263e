#pragma once
// What case_file.cpp is made of. Inside the case_file*.cpp files only.

#include "property_tests/harness/case_file.h"
#include "property_tests/harness/case_file_json.h"

namespace slotproof::harness {

// The names of the `op` field, in the order of Case::problem's alternatives.
inline constexpr const char* kOpNames[] = {"remap", "flat_kv_row_view", "dcp_local_length"};

// The `problem` of each op. Whether counts are asked for depends on the expectation too: see case_of.
RemapCase remap_of(const Json& problem);
spec::FlatRowViewProblem view_of(const Json& problem);
LocalLengthProblem local_length_of(const Json& problem);

// Reads a case; throws Malformed with a place inside the case. Does not look at what is expected of edits.
Case case_of(const Json& value);

// Whether the call asks for counts where the problem's `counts` field does not say: exactly where outputs are expected
// without valid_counts, it does not.
inline bool asks_for_counts_by_default(const Expectation& expected) {
  const auto* outputs = std::get_if<ExpectedRemap>(&expected);
  return outputs == nullptr || outputs->valid_counts.has_value();
}

}  // namespace slotproof::harness
