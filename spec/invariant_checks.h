#pragma once
// The invariants one by one, over a problem whose meaning has been worked out. Internal to spec/: callers use invariants.h.

#include "spec/arguments.h"
#include "spec/invariants.h"
#include "spec/remap.h"

#include <functional>
#include <optional>
#include <vector>

namespace slotproof::spec {

// What the problem means, worked out once for all invariants. A refused problem has no entries.
struct Meaning {
  explicit Meaning(const RemapProblem& problem);
  std::optional<Refusal> refusal;
  std::vector<Entry> entries;  // [T * K]
  ExpectedOutputs expected;
  const Entry& at(int32_t t, int32_t k) const { return entries[size_t(t) * size_t(expected.slots.cols()) + size_t(k)]; }
};

// One invariant at work. Checks say whether the problem exercised them, and report what is wrong.
class Check {
 public:
  Check(Invariant invariant, const RemapProblem& p, const Meaning& m, const RemapOutcome& o)
      : problem(p), meaning(m), outcome(o), invariant_(invariant) {}

  const RemapProblem& problem;
  const Meaning& meaning;
  const RemapOutcome& outcome;

  int32_t got(int32_t t, int32_t k) const { return problem.slots.data[int64_t{t} * problem.slots.row_stride + k]; }
  bool is_compacted() const { return problem.placement == Placement::kCompacted; }
  bool is_workspace_row(int32_t t) const { return problem.prefill_request_id && problem.prefill_request_id->view()[t] >= 0; }
  // What a row holds that is not -1, and what it should hold, each sorted.
  std::vector<int32_t> slots_got(int32_t t) const;
  std::vector<int32_t> slots_expected(int32_t t) const;

  void exercise() { is_exercised = true; }
  void report(Rule rule, int32_t t, int32_t k, std::string expected_text, std::string got_text);
  void report_at(Rule rule, std::string place, std::string expected_text, std::string got_text);
  // An entry that should be none, in place; or a compacted row all of whose missing entries are missing by `rules`, so
  // that whatever it holds too much can be told to be one of them.
  void expect_none_by(const std::function<bool(const Entry&)>& is_mine);
  // Where an entry is a slot, the output holds that slot (in place) or one of the row's slots (in a compacted prefix).
  void expect_slots(const std::function<bool(int32_t t)>& is_mine, const std::function<Rule(int32_t t)>& rule);

  bool is_exercised = false;
  std::vector<Violation> violations;

 private:
  Invariant invariant_;
};

void check_minus_one_propagation(Check& check);
void check_bounds_safety(Check& check);
void check_valid_count_exactness(Check& check);
void check_compacted_prefix_set(Check& check);
void check_stable_order(Check& check);
void check_tail_is_none(Check& check);
void check_dcp_ownership(Check& check);
void check_interleave_alignment(Check& check);
void check_strided_view_no_overlap(Check& check);
void check_gap_rows_untouched(Check& check);
void check_writer_reader_agreement(Check& check);
void check_frame(Check& check);
void check_determinism(Check& check);
void check_tiling_invariance(Check& check);
void check_workspace_mapping(Check& check);
void check_argument_validation(Check& check);

}  // namespace slotproof::spec
