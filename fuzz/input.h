#pragma once
// The two forms of an input. One that begins with '{' is the text of a case file, whose first case of the target's op is run: so
// vectors, counterexamples and shrunk findings are inputs. Any other is a stream of choices for a decoder. No stream is lost: the first choice of
// every decoder has a bound that divides 256, so that another first byte makes it as well.

#include "fuzz/target.h"
#include "property_tests/harness/decoder.h"

namespace slotproof::fuzz {

inline bool is_case_text(Input input) {
  return !input.empty() && input[0] == '{';
}

// The cases of a case file's text; none where it is no case file. Valid until the next text is read or written: a fuzzer mutates what it
// has just run and runs what it has just made, so the last text is not read again.
std::span<const harness::Case> cases_in(Input input);

// The first of them whose problem is a Problem; nothing where there is none.
template <class Problem>
std::optional<Problem> problem_in_text(Input input) {
  for (const harness::Case& value : cases_in(input)) {
    if (const auto* problem = std::get_if<Problem>(&value.problem)) return *problem;
  }
  return std::nullopt;
}

// The same of a remap problem. A schedule that the host does not know becomes the planner's: it is no part of the problem.
std::optional<harness::RemapCase> remap_case_in_text(Input input);

std::optional<harness::RemapCase> remap_case_of(Input input, const harness::DecoderOptions& options);

// What the environment asks for: SLOTPROOF_FUZZ_LEVEL (core, or all there is) and SLOTPROOF_FUZZ_CAPABILITIES (SLOTPROOF_CAN_*, a number).
// A campaign with another back end sets them, so that fuzzers and follower read the same problems out of the same bytes.
harness::DecoderOptions restricted(harness::DecoderOptions options);

// A problem as the input that says it.
std::string input_of(const harness::Case& value);
std::string input_of(harness::Problem problem);

// A problem with the spec's answer, as a case.
harness::Case case_with_answer(const harness::RemapCase& remap_case);

// Changes a case text that holds a remap problem: one value, one row or one column, or to a simpler neighbour.
bool mutate_remap_text(std::string& text, uint32_t random);

}  // namespace slotproof::fuzz
