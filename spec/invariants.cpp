#include "spec/invariants.h"

#include "spec/invariant_checks.h"

namespace slotproof::spec {
namespace {

constexpr Rule kMinusOne[] = {Rule::R1};
constexpr Rule kBounds[] = {Rule::R2, Rule::R5, Rule::R6, Rule::R7, Rule::R9};
constexpr Rule kCount[] = {Rule::R11, Rule::R15};
constexpr Rule kPrefix[] = {Rule::R12, Rule::R12u};
constexpr Rule kStable[] = {Rule::R12};
constexpr Rule kTail[] = {Rule::R12, Rule::R12u};
constexpr Rule kOwnership[] = {Rule::R3};
constexpr Rule kAlignment[] = {Rule::P3};
constexpr Rule kNoOverlap[] = {Rule::V4};
constexpr Rule kGaps[] = {Rule::V5};
constexpr Rule kAgreement[] = {Rule::R8, Rule::P4};
constexpr Rule kFrame[] = {Rule::R10, Rule::R13};
constexpr Rule kSame[] = {Rule::R14};
constexpr Rule kWorkspace[] = {Rule::R2};
constexpr Rule kArguments[] = {Rule::A1, Rule::A2,  Rule::A3,  Rule::A4,  Rule::A5,  Rule::A6,  Rule::A7, Rule::A8,
                               Rule::A9, Rule::A10, Rule::A11, Rule::A12, Rule::A13, Rule::A14, Rule::A15};

constexpr std::array<InvariantText, kNumInvariants> kInvariants = {{
    {Invariant::kMinusOnePropagation, "minus_one_propagation", "Every negative position stays none.", kMinusOne},
    {Invariant::kBoundsSafety, "bounds_safety", "Whatever lies outside a bound of the table, the cache, the workspace or int32 becomes none.", kBounds},
    {Invariant::kValidCountExactness, "valid_count_exactness", "A row's count is the number of its entries that are not none.", kCount},
    {Invariant::kCompactedPrefixSet, "compacted_prefix_set", "A compacted prefix holds the row's slots, each as often as it was selected.", kPrefix},
    {Invariant::kStableOrder, "stable_order", "A compacted prefix keeps the input order.", kStable},
    {Invariant::kTailIsNone, "tail_is_none", "Behind a compacted prefix every column is -1.", kTail},
    {Invariant::kDcpOwnership, "dcp_ownership", "A rank keeps the positions that it owns, and no others.", kOwnership},
    {Invariant::kInterleaveAlignment, "interleave_alignment", "Neighbouring positions of one group get neighbouring slots.", kAlignment},
    {Invariant::kStridedViewNoOverlap, "strided_view_no_overlap", "Different (block, offset) pairs get different slots.", kNoOverlap},
    {Invariant::kGapRowsUntouched, "gap_rows_untouched", "No slot is a row between two blocks' contents.", kGaps},
    {Invariant::kWriterReaderAgreement, "writer_reader_agreement", "The slot is the one where the writer put the token.", kAgreement},
    {Invariant::kFrame, "frame", "The outputs are written, all of them, and nothing else is.", kFrame},
    {Invariant::kDeterminism, "determinism", "The result does not depend on the schedule or on what the outputs held before.", kSame},
    {Invariant::kTilingInvariance, "tiling_invariance", "The result does not depend on the tile or the team's width.", kSame},
    {Invariant::kWorkspaceMapping, "workspace_mapping", "A prefill row's slot is its request's start plus the position.", kWorkspace},
    {Invariant::kArgumentValidation, "argument_validation", "Calls that A1-A15 refuse are refused by the first rule that fails, with nothing written; others are not.", kArguments},
}};

using CheckFunction = void (*)(Check&);
constexpr std::array<CheckFunction, kNumInvariants> kChecks = {
    check_minus_one_propagation, check_bounds_safety, check_valid_count_exactness, check_compacted_prefix_set,
    check_stable_order, check_tail_is_none, check_dcp_ownership, check_interleave_alignment,
    check_strided_view_no_overlap, check_gap_rows_untouched, check_writer_reader_agreement, check_frame,
    check_determinism, check_tiling_invariance, check_workspace_mapping, check_argument_validation,
};

constexpr bool tables_follow_the_enumeration() {
  for (std::size_t i = 0; i < kNumInvariants; ++i) {
    if (kInvariants[i].invariant != Invariant(i)) return false;
  }
  return std::size_t(Invariant::kArgumentValidation) + 1 == kNumInvariants;
}
static_assert(tables_follow_the_enumeration());

Check run(Invariant invariant, const RemapProblem& problem, const Meaning& meaning, const RemapOutcome& outcome) {
  Check check(invariant, problem, meaning, outcome);
  // A refused call, rightly or not, has no outputs to judge: only that it was refused, and that nothing was written.
  const bool has_outputs = !meaning.refusal && !outcome.refused;
  if (has_outputs || invariant == Invariant::kArgumentValidation) kChecks[std::size_t(invariant)](check);
  return check;
}

}  // namespace

std::span<const InvariantText> invariants() { return kInvariants; }
std::string_view name_of(Invariant invariant) { return kInvariants[std::size_t(invariant)].name; }

Report check_all(const RemapProblem& problem, const RemapOutcome& outcome) {
  const Meaning meaning(problem);
  Report report;
  for (std::size_t i = 0; i < kNumInvariants; ++i) {
    const Check check = run(Invariant(i), problem, meaning, outcome);
    report.is_exercised[i] = check.is_exercised;
    report.violations.insert(report.violations.end(), check.violations.begin(), check.violations.end());
  }
  return report;
}

std::vector<Violation> check(Invariant invariant, const RemapProblem& problem, const RemapOutcome& outcome) {
  return run(invariant, problem, Meaning(problem), outcome).violations;
}

}  // namespace slotproof::spec
