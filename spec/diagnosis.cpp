#include "spec/diagnosis.h"

#include "spec/remap.h"

namespace slotproof::spec {

NoneReason reason_of(const RemapProblem& problem, int32_t t, int32_t k) {
  const Entry entry = entry_of(problem, t, k);
  if (!entry.is_none()) return NoneReason::kSlot;
  const bool is_workspace_row = problem.prefill_request_id && problem.prefill_request_id->view()[t] >= 0;
  switch (entry.decided_by) {
    case Rule::R1: return NoneReason::kPadding;
    case Rule::R3: return NoneReason::kForeignRank;
    case Rule::R5: return NoneReason::kRequestRow;
    case Rule::R6: return NoneReason::kColumn;
    case Rule::R7: return NoneReason::kPhysicalBlock;
    case Rule::R9: return is_workspace_row ? NoneReason::kWorkspace : NoneReason::kUnrepresentable;
    default: return NoneReason::kWorkspace;  // R2: no other rule gives none
  }
}

ExpectedDiagnosis expected_diagnosis(const RemapProblem& problem) {
  ExpectedDiagnosis expected{IndexMatrix::Zero(problem.num_tokens(), kNumReasons), {}};
  for (int32_t t = 0; t < problem.num_tokens(); ++t) {
    for (int32_t k = 0; k < problem.topk(); ++k) {
      const auto reason = int32_t(reason_of(problem, t, k));
      ++expected.row_counts(t, reason);
      ++expected.totals[std::size_t(reason)];
    }
  }
  return expected;
}

}  // namespace slotproof::spec
