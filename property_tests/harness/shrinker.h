#pragma once
// The one shrinker: works on problems, not on choices, so that every stage is a problem that a person could have written.

#include "property_tests/harness/remap_case.h"

#include <functional>
#include <vector>

namespace slotproof::harness {

// What a pass of the shrinker tries to make simpler, boldest first.
enum class ShrinkPass : uint8_t { kRows, kColumns, kOptions, kTable, kSizes, kLayout, kAllValues, kValues };
inline constexpr int kNumShrinkPasses = 8;

// Simpler neighbours of a case. Each is smaller in some measure, so that shrinking ends. By number (0 <= index < how many there are), for
// who wants one of thousands and not all made.
int num_simpler_cases(const RemapCase& remap_case, ShrinkPass pass);
RemapCase simpler_case(const RemapCase& remap_case, ShrinkPass pass, int index);
std::vector<RemapCase> simpler_cases(const RemapCase& remap_case, ShrinkPass pass);
std::vector<RemapCase> simpler_cases(const RemapCase& remap_case);  // of all passes, in their order

struct Shrunk {
  RemapCase remap_case;
  int num_steps = 0;  // simplifications kept
  int num_tries = 0;
};

// Follows simpler neighbours as long as one still fails: each pass to its end, and all of them again until none helps. Stops at max_tries, or where should_stop says so.
Shrunk shrink(const RemapCase& failing, const std::function<bool(const RemapCase&)>& still_fails, int max_tries = 20000,
              const std::function<bool()>& should_stop = [] { return false; });

}  // namespace slotproof::harness
