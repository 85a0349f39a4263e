// Asks twice and compares.

#include "property_tests/harness/independence.h"

#include "property_tests/harness/choices.h"
#include "spec/arguments.h"
#include "spec/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>

namespace slotproof::harness {
namespace {

struct Answer {
  std::optional<spec::Rule> refused;
  std::string fault;         // the run itself failed
  spec::IndexMatrix rows;    // [T, K] slots, or [T, kNumReasons] counts
  spec::IndexVector counts;  // [T], or empty where the call asks for none
};

std::optional<Answer> answer_of(const RunOutcome& run) {
  Answer answer;
  if (run.kind == RunOutcome::Kind::kFault) answer.fault = run.message;
  if (run.kind == RunOutcome::Kind::kRefused) answer.refused = run.refused;
  return answer;
}

// Nothing where an edited call reaches past its own memory: nobody can run it.
std::optional<Answer> ask(Backend& backend, Frame& frame, const Schedule& schedule) {
  const spec::RemapProblem problem = frame.problem();
  if (!spec::refusal_of(problem) && !frame.holds_every_element()) return std::nullopt;
  const RunOutcome run = backend.run(frame, schedule);
  auto answer = answer_of(run);
  if (run.kind != RunOutcome::Kind::kDone) return answer;
  answer->rows = problem.slots.view();
  if (problem.valid_counts) answer->counts = problem.valid_counts->view();
  return answer;
}

// The outputs of a diagnosis: what they held before, and how far apart the rows of counts lie, is the variation's.
struct DiagnosisMemory {
  DiagnosisMemory(int32_t num_rows, const Variation& variation) {
    PhiloxChoices choices(variation.has(Change::kPoison) ? variation.seed : 1, kNumChanges + 2);
    const int32_t row_stride = spec::kNumReasons + (variation.has(Change::kRowStrides) ? int32_t(choices.below(5)) : 0);
    row_counts.resize(size_t(num_rows) * size_t(row_stride));
    for (int32_t& count : row_counts) count = int32_t(choices.below(1000));
    for (int64_t& total : totals) total = int64_t(choices.below(1000));
    outputs.row_counts = spec::OutputMatrix{row_counts.data(), num_rows, spec::kNumReasons, row_stride};
    outputs.totals = totals.data();
  }
  DiagnosisMemory(const DiagnosisMemory&) = delete;
  DiagnosisMemory& operator=(const DiagnosisMemory&) = delete;

  std::vector<int32_t> row_counts;
  std::array<int64_t, spec::kNumReasons> totals{};
  spec::DiagnosisOutputs outputs;
};

std::optional<Answer> ask(DiagnosisBackend& backend, Frame& frame, DiagnosisMemory& memory, const Schedule& schedule) {
  const spec::RemapProblem problem = frame.problem();
  if (!spec::refusal_of(problem, memory.outputs) && !frame.holds_every_element()) return std::nullopt;
  const auto before = memory.totals;
  const RunOutcome run = backend.run(problem, memory.outputs, schedule);
  auto answer = answer_of(run);
  if (run.kind != RunOutcome::Kind::kDone) return answer;
  answer->rows = memory.outputs.row_counts->view();
  for (int32_t reason = 0; reason < spec::kNumReasons; ++reason) {
    const int64_t due = answer->rows.col(reason).cast<int64_t>().sum(), added = memory.totals[size_t(reason)] - before[size_t(reason)];
    if (added != due) answer->fault = fmt::format("totals[{}]: {} was added, and the rows sum to {}", reason, added, due);
  }
  return answer;
}

// As far as a row is promised: under R12u its prefix in any order.
std::vector<int32_t> promised(const spec::IndexMatrix& rows, int32_t row, bool is_order_free) {
  std::vector<int32_t> values(rows.row(row).begin(), rows.row(row).end());
  if (is_order_free) std::sort(values.begin(), std::find(values.begin(), values.end(), spec::kNone));
  return values;
}

std::string text_of(const std::optional<spec::Rule>& refused) {
  return refused ? "refused by " + std::string(spec::id_of(*refused)) : "accepted";
}

// The first row that is answered otherwise. `output` is what the rows are called.
std::string difference(const Answer& before, const Answer& now, const Varied& varied, std::string_view output, bool is_order_free) {
  if (!now.fault.empty()) return fmt::format("{} ({})", now.fault, varied.text);
  if (before.refused != now.refused) return fmt::format("{} before, {} with {}", text_of(before.refused), text_of(now.refused), varied.text);
  if (before.refused) return {};
  for (int32_t t = 0; t < before.rows.rows(); ++t) {
    const int32_t row = varied.row_now[size_t(t)];
    if (row < 0) continue;
    const std::string moved = row == t ? "" : fmt::format(", now row {}", row);
    const auto due = promised(before.rows, t, is_order_free), got = promised(now.rows, row, is_order_free);
    const auto differ = std::mismatch(due.begin(), due.end(), got.begin());
    if (differ.first != due.end()) {
      return fmt::format("{}[{}, {}]{}: {} before, {} with {}", output, t, differ.first - due.begin(), moved, *differ.first, *differ.second, varied.text);
    }
    if (before.counts.size() > 0 && before.counts[t] != now.counts[row]) {
      return fmt::format("valid_counts[{}]{}: {} before, {} with {}", t, moved, before.counts[t], now.counts[row], varied.text);
    }
  }
  return {};
}

}  // namespace

std::string dependence(Backend& backend, Backend* elsewhere, const RemapCase& remap_case, const Variation& variation) {
  const Varied now = varied(remap_case, elsewhere ? variation : variation.without(Change::kBackEnd));
  Frame first(remap_case, 1), second(now.problem, now.poison_seed);
  const auto before = ask(backend, first, remap_case.schedule);
  if (!before) return {};
  if (!before->fault.empty()) return before->fault + " (as drawn)";
  Backend& then = now.is_elsewhere ? *elsewhere : backend;
  for (const RemapCase& other : now.others) {
    Frame frame(other, 1);
    ask(then, frame, other.schedule);
  }
  const bool is_order_free = remap_case.placement == spec::Placement::kCompacted && remap_case.order == spec::Order::kUnspecified;
  std::string found;
  for (int call = 0; call < now.num_calls && found.empty(); ++call) {
    const auto after = ask(then, second, now.problem.schedule);
    if (!after) return {};
    found = difference(*before, *after, now, "slots", is_order_free);
  }
  return found;
}

std::string dependence(DiagnosisBackend& backend, DiagnosisBackend* elsewhere, const RemapCase& remap_case, const Variation& variation) {
  const Varied now = varied(remap_case, elsewhere ? variation : variation.without(Change::kBackEnd));
  Frame first(remap_case, 1), second(now.problem, now.poison_seed);
  DiagnosisMemory first_outputs(remap_case.num_tokens(), {}), second_outputs(now.problem.num_tokens(), variation);
  const auto before = ask(backend, first, first_outputs, remap_case.schedule);
  if (!before) return {};
  if (!before->fault.empty()) return before->fault + " (as drawn)";
  DiagnosisBackend& then = now.is_elsewhere ? *elsewhere : backend;
  for (const RemapCase& other : now.others) {
    Frame frame(other, 1);
    DiagnosisMemory outputs(other.num_tokens(), {});
    ask(then, frame, outputs, other.schedule);
  }
  std::string found;
  for (int call = 0; call < now.num_calls && found.empty(); ++call) {
    const auto after = ask(then, second, second_outputs, now.problem.schedule);
    if (!after) return {};
    found = difference(*before, *after, now, "row_counts", false);
  }
  return found;
}

}  // namespace slotproof::harness
