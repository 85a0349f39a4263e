// The diagnosis of every problem, in every team and order, against the reference (G1-G6).

#include "fuzz/compare.h"
#include "fuzz/input.h"
#include "property_tests/harness/kernel_arguments.h"
#include "reference/diagnosis.h"
#include "spec/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>

namespace slotproof::fuzz {
namespace {

// Of 1025 columns, for two warps take two passes over them.
constexpr harness::DecoderOptions kOptions{.max_num_tokens = 3, .max_topk = 1025, .max_team_width = 64};
constexpr int32_t kGuard = 8;  // elements before and behind an output

// The outputs of one call between guards.
struct Counters {
  Counters(int32_t num_tokens, int32_t row_stride, bool has_rows, int64_t start)
      : rows(has_rows ? size_t(num_tokens) * size_t(row_stride) + 2 * kGuard : 0, -77), totals(spec::kNumReasons + 2 * kGuard, start) {
    if (has_rows) outputs.row_counts = spec::OutputMatrix{rows.data() + kGuard, num_tokens, spec::kNumReasons, row_stride};
    outputs.totals = totals.data() + kGuard;
  }
  Counters(const Counters&) = delete;
  Counters& operator=(const Counters&) = delete;

  std::vector<int32_t> rows;
  std::vector<int64_t> totals;
  spec::DiagnosisOutputs outputs;
};

std::string difference(const Counters& got, const Counters& due) {
  if (got.rows != due.rows) return "row_counts G2";
  if (got.totals != due.totals) return "totals G3";
  return {};
}

// What the spec says of the call, put where the call would put it.
void add_expected(const spec::RemapProblem& problem, Counters& counters) {
  const spec::ExpectedDiagnosis expected = spec::expected_diagnosis(problem);
  if (counters.outputs.row_counts) {
    const spec::OutputMatrix& rows = *counters.outputs.row_counts;
    for (int32_t t = 0; t < rows.rows; ++t) {
      for (int32_t c = 0; c < spec::kNumReasons; ++c) rows.data[t * rows.row_stride + c] = expected.row_counts(t, c);
    }
  }
  for (size_t c = 0; c < size_t(spec::kNumReasons); ++c) counters.outputs.totals[c] += expected.totals[c];
}

Outcome compare(const harness::RemapCase& remap_case, uint32_t chosen, bool is_judged) {
  harness::Frame frame(remap_case, 1);
  const spec::RemapProblem problem = frame.problem();
  const int32_t row_stride = spec::kNumReasons + int32_t(chosen % 4);
  const bool has_rows = chosen / 4 % 4 != 0;
  const int64_t start = chosen / 16 % 2 == 0 ? 1000 : 0;
  const int32_t num_tokens = std::max(remap_case.num_tokens(), 0);
  Counters got(num_tokens, row_stride, has_rows, start), due(num_tokens, row_stride, has_rows, start);
  static thread_local std::vector<int32_t> storage;
  const int32_t* before = copy_of_arena(frame, storage);
  // What the remap's own outputs are edited to be plays no part here (G5), so only a call that is accepted may reach too far.
  const auto expected_refusal = reference::validate(problem, due.outputs);
  if (!expected_refusal && !remap_case.edits.empty() && !frame.holds_every_element()) {
    const Status status = validate(harness::diagnose_args_of(problem, got.outputs));
    return status.ok() ? Outcome{true, {}, {}} : finding_of("diagnosis G5", status.message());
  }
  if (expected_refusal && validate(harness::diagnose_args_of(problem, got.outputs)).ok()) {
    return finding_of("diagnosis G5", "the kernels accept what " + std::string(spec::id_of(expected_refusal->rule)) + " refuses");
  }
  const auto refusal = reference::diagnose(problem, due.outputs);
  const HostOptions options{remap_case.schedule.team_width, remap_case.schedule.thread_order_seed, remap_case.schedule.cta_order_seed,
                            remap_case.schedule.planned_rows};
  const harness::RunOutcome run = harness::outcome_of(diagnose_on_host(harness::diagnose_args_of(problem, got.outputs), options));
  if (run.kind == harness::RunOutcome::Kind::kFault) return finding_of("no_fault G6 " + kind_of_fault(run.message), run.message);
  const auto due_rule = refusal ? std::optional(refusal->rule) : std::nullopt;
  if (run.refused != due_rule) return finding_of("diagnosis G5", fmt::format("kernels: {}, reference: {}", text_of(run.refused), text_of(due_rule)));
  if (const std::string name = difference(got, due); !name.empty()) return finding_of("diagnosis " + name, "kernels and reference differ");
  if (const int64_t word = first_difference(frame, before); word >= 0)
    return finding_of("diagnosis G4", fmt::format("word {} of the inputs was written", word));
  if (!is_judged) return {true, {}, {}};
  Counters spec_due(num_tokens, row_stride, has_rows, start);
  const auto by_spec = spec::refusal_of(problem, spec_due.outputs);
  if (by_spec.has_value() != due_rule.has_value() || (by_spec && by_spec->rule != *due_rule))
    return finding_of("diagnosis_reference_disagrees G5", text_of(due_rule));
  if (!by_spec) add_expected(problem, spec_due);
  if (const std::string name = difference(got, spec_due); !name.empty())
    return finding_of("diagnosis_reference_disagrees " + name, "reference and spec differ");
  return {true, {}, {}};
}

Outcome run(Input input, Depth depth) {
  const auto remap_case = remap_case_of(input, kOptions);
  if (!remap_case) return {};
  return compare(*remap_case, hash_of(input), depth == Depth::kFull || is_sampled(input));
}

}  // namespace

const Target kDiagnosis{"diagnosis",
                        "the diagnosis of every problem",
                        run,
                        [](harness::ByteChoices& choices) { harness::decode_remap(choices, kOptions); },
                        [](Input input) {
                          const auto remap_case = remap_case_of(input, kOptions);
                          return remap_case ? std::optional(case_with_answer(*remap_case)) : std::nullopt;
                        },
                        mutate_remap_text};

}  // namespace slotproof::fuzz
