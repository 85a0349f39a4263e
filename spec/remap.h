#pragma once
// What the remap means, told from the writer's side (P4): where the cache's writer put each position, and which of those
// places a row may see. The closed form with its divisions is in reference/; the two share nothing but the problem's types.

#include "spec/problem.h"
#include "spec/rules.h"

namespace slotproof::spec {

// The meaning of one entry: a slot, or none, and the rule that decides it (R2 or R8 for a slot).
struct Entry {
  int32_t slot = kNone;
  Rule decided_by = Rule::R8;
  bool is_none() const { return slot == kNone; }
};

// The meaning of token_indices[t, k], before compaction. The problem is one that is not refused.
Entry entry_of(const RemapProblem& problem, int32_t t, int32_t k);

// What the outputs must hold. With Order::kUnspecified the prefix of a compacted row is one of the allowed ones.
struct ExpectedOutputs {
  IndexMatrix slots;         // [T, K]
  IndexVector valid_counts;  // [T], whether the call asks for them or not
};
ExpectedOutputs expected_outputs(const RemapProblem& problem);

}  // namespace slotproof::spec
