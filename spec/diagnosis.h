#pragma once
// What the diagnosis of a remap says: why entries are none, counted (G1-G6). The reason is read off the writer's walk.

#include "spec/arguments.h"
#include "spec/problem.h"
#include "spec/rules.h"

#include <array>
#include <optional>

namespace slotproof::spec {

// Why token_indices[t, k] has no slot, or that it has one. The problem is one that is not refused.
NoneReason reason_of(const RemapProblem& problem, int32_t t, int32_t k);

struct ExpectedDiagnosis {
  IndexMatrix row_counts;                      // [T, kNumReasons], whether the call asks for them or not
  std::array<int64_t, kNumReasons> totals{};  // what the call adds
};
ExpectedDiagnosis expected_diagnosis(const RemapProblem& problem);

// The first of A1-A13 and A15 that the call breaks (G5). Reads no tensor element.
std::optional<Refusal> refusal_of(const RemapProblem& problem, const DiagnosisOutputs& outputs);

}  // namespace slotproof::spec
