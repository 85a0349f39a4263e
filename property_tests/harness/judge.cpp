#include "property_tests/harness/judge.h"

#include "spec/arguments.h"
#include "spec/remap.h"

#include <fmt/format.h>
#include <slotproof/plugin.h>

#include <algorithm>
#include <numeric>

namespace slotproof::harness {
namespace {

using spec::Rule;

struct Divergence {
  std::string_view id;
  bool (*matters)(const spec::RemapProblem&);
};

bool any_position(const spec::RemapProblem& p, auto predicate) {
  for (int32_t t = 0; t < p.num_tokens(); ++t) {
    for (int32_t k = 0; k < p.topk(); ++k) {
      if (predicate(t, p.token_indices.view()(t, k))) return true;
    }
  }
  return false;
}

bool any_entry_by(const spec::RemapProblem& p, Rule rule) {
  for (int32_t t = 0; t < p.num_tokens(); ++t) {
    for (int32_t k = 0; k < p.topk(); ++k) {
      if (spec::entry_of(p, t, k).decided_by == rule) return true;
    }
  }
  return false;
}

// Semantics, "Where upstream disagrees with itself, or we differ": the problems in which the answer is in dispute. D4 and D11
// are no difference of results; D15, D16 are about views, D17, D18 about spelling.
constexpr std::array kDivergences = {
    Divergence{"D1", [](const spec::RemapProblem& p) { return any_position(p, [](int32_t, int32_t tok) { return tok < -1; }); }},
    Divergence{"D2",
               [](const spec::RemapProblem& p) {
                 return p.prefill_request_id && any_position(p, [&](int32_t t, int32_t tok) {
                          return p.prefill_request_id->view()[t] >= 0 && tok / p.block_size >= p.block_table.columns;
                        });
               }},
    Divergence{"D3", [](const spec::RemapProblem& p) { return p.placement == spec::Placement::kCompacted && p.dcp.size == 1; }},
    Divergence{"D5", [](const spec::RemapProblem& p) { return p.dcp.size > 1 && p.block_stride_rows != p.block_size; }},
    Divergence{"D7", [](const spec::RemapProblem& p) { return any_entry_by(p, Rule::R7); }},
    Divergence{"D8", [](const spec::RemapProblem& p) { return any_entry_by(p, Rule::R5); }},
    Divergence{"D9", [](const spec::RemapProblem& p) { return any_entry_by(p, Rule::R9); }},
    Divergence{"D10", [](const spec::RemapProblem&) { return false; }},  // taken care of by judging as order unspecified
    Divergence{"D13", [](const spec::RemapProblem& p) { return p.topk() % 128 != 0; }},
};
// The same for calls that are refused: by which rule, and for what.
struct RefusalDivergence {
  std::string_view id;
  Rule rule;
  bool (*matters)(const spec::RemapProblem&);
};
constexpr std::array kRefusalDivergences = {
    RefusalDivergence{"D6", Rule::A3, [](const spec::RemapProblem& p) { return p.req_id.size != p.num_tokens(); }},
    RefusalDivergence{"D12", Rule::A3, [](const spec::RemapProblem& p) { return p.prefill_request_id && p.prefill_request_id->size < p.num_tokens(); }},
    RefusalDivergence{"D14", Rule::A12, [](const spec::RemapProblem&) { return true; }},
};

std::optional<Rule> refusal_in(const RunOutcome& run) {
  return run.kind == RunOutcome::Kind::kRefused ? run.refused : std::nullopt;
}

spec::Repeat repeat_of(Frame& frame, const RunOutcome& run, spec::Repeat::Changed changed, std::string what) {
  const spec::RemapProblem problem = frame.problem();
  spec::Repeat repeat{changed, std::move(what), refusal_in(run), {}, {}};
  if (repeat.refused) return repeat;
  repeat.slots = problem.slots.view();
  if (problem.valid_counts) repeat.valid_counts = problem.valid_counts->view();
  return repeat;
}

// Other widths and orders than the first run had.
Schedule other_schedule(const Schedule& schedule) {
  const int32_t other_width = schedule.team_width == 32 ? 64 : 32;
  return {other_width, schedule.thread_order_seed + 1, schedule.cta_order_seed + 1};
}

std::string text_of(const Schedule& schedule) {
  const std::string team = schedule.team_width != 0 ? fmt::format("team width {}", schedule.team_width)
                                                    : fmt::format("the planner's team for {} rows", schedule.planned_rows);
  return fmt::format("{}, thread order {}, CTA order {}", team, schedule.thread_order_seed, schedule.cta_order_seed);
}

// A tile other than the case's: the widest or the narrowest that is not it and divides K.
std::optional<int32_t> other_tile(const RemapCase& remap_case) {
  const int32_t topk = remap_case.topk();
  if (topk == 0) return std::nullopt;
  const int32_t narrow = std::gcd(topk, topk > 64 ? 32 : 2);
  return remap_case.tile == narrow ? topk : narrow;
}

}  // namespace

std::string AcceptedDivergences::parse(const std::vector<std::string>& ids) {
  for (const std::string& id : ids) {
    bool is_known = false;
    for (const Divergence& divergence : kDivergences) is_known |= divergence.id == id;
    for (const RefusalDivergence& divergence : kRefusalDivergences) is_known |= divergence.id == id;
    if (!is_known) {
      return fmt::format("'{}' is no divergence that can be accepted: D1, D2, D3, D5, D6, D7, D8, D9, D10, D12, D13, D14", id);
    }
    ids_.insert(id);
  }
  return {};
}

bool AcceptedDivergences::is_accepted(const spec::RemapProblem& problem) const {
  if (ids_.empty()) return false;
  if (const auto refusal = spec::refusal_of(problem)) {
    for (const RefusalDivergence& divergence : kRefusalDivergences) {
      if (ids_.count(std::string(divergence.id)) && refusal->rule == divergence.rule && divergence.matters(problem)) return true;
    }
    return false;
  }
  for (const Divergence& divergence : kDivergences) {
    if (ids_.count(std::string(divergence.id)) && divergence.matters(problem)) return true;
  }
  return false;
}

Verdict judge(Backend& backend, const RemapCase& remap_case, const JudgeOptions& options) {
  RemapCase asked = remap_case;
  if (options.accepted && options.accepted->is_order_free()) asked.order = spec::Order::kUnspecified;
  Frame frame(asked, options.poison_seed);
  const spec::RemapProblem problem = frame.problem();
  Verdict verdict;
  verdict.is_accepted = options.accepted && options.accepted->is_accepted(problem);
  if (verdict.is_accepted) return verdict;
  // An edited call that is accepted but reaches past its own memory would be ours to blame: nobody can run it.
  if (!spec::refusal_of(problem) && !frame.holds_every_element()) return verdict;
  verdict.is_compared = true;
  verdict.corners = corners_of(problem, !asked.edits.empty());
  const bool is_refused = verdict.corners.test(std::size_t(Corner::kRefused));
  const auto count_indices = [&] {
    if (!is_refused) verdict.num_indices += int64_t{problem.num_tokens()} * problem.topk();
  };

  const RunOutcome first = backend.run(frame, asked.schedule);
  if (first.kind == RunOutcome::Kind::kFault) {
    verdict.findings.push_back({std::nullopt, first.message});
    return verdict;
  }
  count_indices();
  spec::RemapOutcome outcome{refusal_in(first), frame.memory(), {}};

  const bool has_repeats = options.has_repeats && asked.edits.empty() && !is_refused && !outcome.refused;
  const auto run_again = [&](const RemapCase& changed, spec::Repeat::Changed kind, const Schedule& schedule, std::string what) {
    Frame again(changed, options.poison_seed + 1);
    const RunOutcome run = backend.run(again, schedule);
    if (run.kind == RunOutcome::Kind::kFault) {
      verdict.findings.push_back({std::nullopt, fmt::format("{} (with {})", run.message, what)});
      return;
    }
    count_indices();
    outcome.repeats.push_back(repeat_of(again, run, kind, std::move(what)));
  };
  if (has_repeats) {
    const Schedule schedule = other_schedule(asked.schedule);
    Schedule other_order = asked.schedule;
    other_order.thread_order_seed = schedule.thread_order_seed;
    other_order.cta_order_seed = schedule.cta_order_seed;
    run_again(asked, spec::Repeat::Changed::kScheduleOrPoison, other_order, "other poison, " + text_of(other_order));
    RemapCase tiled = asked;
    if (backend.info().capabilities & SLOTPROOF_CAN_EXPLICIT_TILE) tiled.tile = other_tile(asked);
    run_again(tiled, spec::Repeat::Changed::kTiling, {schedule.team_width, asked.schedule.thread_order_seed, asked.schedule.cta_order_seed},
              fmt::format("team width {}, tile {}", schedule.team_width, tiled.tile ? fmt::to_string(*tiled.tile) : "of the planner's choice"));
  }
  spec::Report report = spec::check_all(problem, outcome);
  verdict.is_exercised = report.is_exercised;
  for (spec::Violation& violation : report.violations) verdict.findings.push_back({std::move(violation), {}});
  return verdict;
}

const Finding& most_telling(const std::vector<Finding>& findings) {
  using spec::Invariant;
  const auto rank = [](const Finding& finding) {
    if (!finding.violation) return 0;
    switch (finding.violation->invariant) {
      case Invariant::kStridedViewNoOverlap:
      case Invariant::kInterleaveAlignment:
      case Invariant::kGapRowsUntouched: return 2;
      case Invariant::kCompactedPrefixSet:
      case Invariant::kTailIsNone: return 3;
      case Invariant::kValidCountExactness: return 4;
      case Invariant::kFrame: return finding.violation->rule == spec::Rule::R13 ? 1 : 4;
      case Invariant::kDeterminism:
      case Invariant::kTilingInvariance: return 5;
      default: return 1;
    }
  };
  return *std::min_element(findings.begin(), findings.end(), [&](const Finding& a, const Finding& b) { return rank(a) < rank(b); });
}

std::string describe(const Finding& finding) {
  if (finding.breach) {
    const LawBreach& b = *finding.breach;
    return fmt::format("law {} ({}): {}: expected {}, got {}", spec::id_of(b.law), spec::text_of(b.law).title, b.place, b.expected, b.got);
  }
  if (!finding.violation) return "no_fault: " + finding.fault;
  const spec::Violation& v = *finding.violation;
  return fmt::format("{} ({}): {}: expected {}, got {}", spec::name_of(v.invariant), spec::id_of(v.rule), v.place, v.expected, v.got);
}

}  // namespace slotproof::harness
