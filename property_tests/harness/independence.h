#pragma once
// What an answer must not depend on (R13, R14), drawn all at once: one problem is asked twice, the second time with a variation, and
// the rows that both calls have must be answered alike.

#include "property_tests/harness/backend.h"
#include "property_tests/harness/diagnosis_backend.h"

#include <string>
#include <string_view>
#include <vector>

namespace slotproof::harness {

// The plainest first: what the memory held before a call is other, too, wherever rows or tensors lie elsewhere.
enum class Change : uint8_t {
  kPoison,  // what outputs, gaps of the output and guard words held before
  kRowsRemoved,
  kRowsReplaced,  // by rows of other requests, with other indices
  kRowsAdded,
  kRowStrides,   // of each matrix
  kBetweenRows,  // what the inputs hold there
  kAlignment,
  kTile,
  kTeamWidth,
  kThreadOrder,
  kCtaOrder,
  kPlannedRows,
  kOtherCalls,  // of other problems, beforehand
  kSameMemory,  // called several times where the call before left its answer
  kBackEnd,     // one that runs the same problem by another body
};
inline constexpr int kNumChanges = 15;
std::string_view name_of(Change change);  // "rows removed"

// Which changes, and the seed of what they are drawn from, each by itself. It can be made to any problem: a change that would alter what
// is asked (a tile where the call's own is refused, rows where an edit reaches behind them) is left out.
struct Variation {
  uint64_t seed = 0;
  uint32_t changes = 0;  // bit c: Change(c)

  bool has(Change change) const { return changes >> int(change) & 1; }
  Variation with(Change change) const { return {seed, changes | uint32_t{1} << int(change)}; }
  Variation without(Change change) const { return {seed, changes & ~(uint32_t{1} << int(change))}; }
};
Variation draw_variation(uint64_t seed);
// Each of its changes alone, then all but one.
std::vector<Variation> simpler_variations(const Variation& variation);

struct Varied {
  RemapCase problem;  // with its schedule
  uint64_t poison_seed = 1;
  std::vector<int32_t> row_now;   // of each row of the problem before; -1 where it is gone
  std::vector<RemapCase> others;  // to be called beforehand
  int num_calls = 1;              // in one frame
  bool is_elsewhere = false;      // another back end runs it
  std::string text;               // "thread order 77, CTA order 5"
};
Varied varied(const RemapCase& remap_case, const Variation& variation);

// What depends on the variation, with its place, both values and what was varied; nothing where the rows kept are answered alike, and
// where the frame does not hold what the call is to read. `elsewhere` is the other body, null where there is none.
std::string dependence(Backend& backend, Backend* elsewhere, const RemapCase& remap_case, const Variation& variation);
// The same of the diagnosis: the counts of rows, and the totals, which are their sums.
std::string dependence(DiagnosisBackend& backend, DiagnosisBackend* elsewhere, const RemapCase& remap_case, const Variation& variation);

// The fewest changes that still show it, one after another left out.
template <class Shows>
Variation smallest(Variation variation, const Shows& shows) {
  for (bool is_smaller = true; is_smaller;) {
    is_smaller = false;
    for (const Variation& simpler : simpler_variations(variation)) {
      if (!shows(simpler)) continue;
      variation = simpler;
      is_smaller = true;
      break;
    }
  }
  return variation;
}

}  // namespace slotproof::harness
