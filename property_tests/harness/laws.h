#pragma once
// Runs the laws (spec/laws.h) on a back end. A law takes one problem, makes further ones of it, runs them all, and says how their
// answers must hang together. What it makes depends on the problem alone, so a problem at which a law breaks is shrunk and replayed
// like any other.

#include "property_tests/harness/decoder.h"
#include "property_tests/harness/judge.h"
#include "spec/laws.h"

#include <vector>

namespace slotproof::harness {

// Whether the back end can be asked what the law asks.
bool is_applicable(spec::Law law, const BackendInfo& info);

// A drawn problem, changed so that it meets the law's premise: for the laws over all ranks, with N of 1 ... 9 or a prime up to 31, an I
// that divides S, valid entries and positions near what the table covers. Problems that no change mends stay as they are.
RemapCase prepared_for(spec::Law law, RemapCase drawn, PhiloxChoices& choices, const BackendInfo& info);

struct LawVerdict {
  bool is_exercised = false;      // the problem meets the premise, and there was something to compare
  std::vector<Finding> findings;  // one at most
  int64_t num_indices = 0;        // entries of all runs
};
LawVerdict check_law(spec::Law law, Backend& backend, const RemapCase& remap_case, const AcceptedDivergences* accepted = nullptr);

// The case of a campaign that puts the law to the test: the drawn case `index`, prepared.
RemapCase draw_for_law(spec::Law law, uint64_t seed, uint64_t index, const DecoderOptions& options, const BackendInfo& info);

}  // namespace slotproof::harness
