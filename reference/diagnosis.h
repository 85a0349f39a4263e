#pragma once
// Why entries are none, counted: the oracle of the diagnosis (G1-G6).

#include "reference/remap.h"

namespace slotproof::reference {

// Writes outputs.row_counts, where asked for, and adds to outputs.totals; touches nothing else (G4). A refusal has written nothing.
inline std::optional<Refusal> diagnose(const spec::RemapProblem& problem, const spec::DiagnosisOutputs& outputs) {
  if (auto refusal = validate(problem, outputs)) return refusal;
  for (int32_t t = 0; t < problem.num_tokens(); ++t) {
    int32_t counts[spec::kNumReasons] = {};
    for (int32_t k = 0; k < problem.topk(); ++k) ++counts[int(entry_of(problem, t, problem.token_indices.view()(t, k)).reason)];  // G1
    for (int32_t c = 0; c < spec::kNumReasons; ++c) {
      if (outputs.row_counts) outputs.row_counts->data[t * outputs.row_counts->row_stride + c] = counts[c];  // G2
      outputs.totals[c] = int64_t(uint64_t(outputs.totals[c]) + uint64_t(counts[c]));                         // G3
    }
  }
  return std::nullopt;
}

}  // namespace slotproof::reference
