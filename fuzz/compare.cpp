#include "fuzz/compare.h"

#include "fuzz/steering.h"
#include "property_tests/harness/judge.h"
#include "property_tests/harness/kernel_arguments.h"
#include "reference/remap.h"
#include "spec/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace slotproof::fuzz {
namespace {

using harness::Frame;
using harness::RemapCase;
using harness::RunOutcome;

harness::Backend& host() {
  static thread_local const auto backend = harness::make_host_backend().backend;
  return *backend;
}
// The bodies over the other context of the host, which checks nothing.
harness::Backend& fast_host() {
  static thread_local const auto backend = harness::make_fast_host_backend().backend;
  return *backend;
}

constexpr uint64_t kPoisonSeed = 1;

// Where the order of a compacted prefix is free, both are compared sorted.
void sort_prefixes(const spec::RemapProblem& problem) {
  if (problem.topk() == 0) return;  // without elements there may be no pointer
  for (int32_t t = 0; t < problem.num_tokens(); ++t) {
    int32_t* row = problem.slots.data + t * problem.slots.row_stride;
    std::sort(row, std::find(row, row + problem.topk(), spec::kNone));
  }
}

// The judge's most telling finding; it knows the invariant's name and where it broke.
std::optional<Outcome> judged(const RemapCase& remap_case, bool has_repeats) {
  const Unsteered unsteered;
  const harness::Verdict verdict = harness::judge(host(), remap_case, {.has_repeats = has_repeats});
  if (verdict.findings.empty()) return std::nullopt;
  const harness::Finding& finding = harness::most_telling(verdict.findings);
  if (!finding.violation) return finding_of("no_fault " + kind_of_fault(finding.fault), finding.fault);
  return finding_of(fmt::format("{} {}", finding.name(), spec::id_of(finding.violation->rule)), harness::describe(finding));
}

// A call that nothing refuses and that reaches out of our memory cannot be run; that nothing refuses it can be compared.
Outcome compare_validation(const spec::RemapProblem& problem, const std::optional<reference::Refusal>& due) {
  const RunOutcome got = harness::outcome_of(validate(harness::remap_args_of(problem)));
  const auto by_spec = spec::refusal_of(problem);
  const auto due_rule = due ? std::optional(due->rule) : std::nullopt, spec_rule = by_spec ? std::optional(by_spec->rule) : std::nullopt;
  if (got.refused == due_rule && spec_rule == due_rule) return {true, {}, {}};
  return finding_of("argument_validation " + text_of(got.refused ? got.refused : spec_rule),
                    fmt::format("kernels: {}, reference: {}, spec: {}", text_of(got.refused), text_of(due_rule), text_of(spec_rule)));
}

// The fast host, on memory like that of the reference's run.
Outcome compare_fast_host(const RemapCase& remap_case, const ReferenceRun& reference) {
  const Unsteered unsteered;
  Frame frame(remap_case, kPoisonSeed);
  const RunOutcome got = fast_host().run(frame, remap_case.schedule);
  if (got.kind == RunOutcome::Kind::kFault) return finding_of("fast_host " + kind_of_fault(got.message), got.message);
  if (reference.agrees(frame, got.refused)) return {true, {}, {}};
  return finding_of("fast_host_disagrees", fmt::format("fast host: {}, reference: {}, first different word of memory: {}", text_of(got.refused),
                                                       text_of(reference.refused()), reference.first_difference(frame)));
}

}  // namespace

std::string text_of(const std::optional<spec::Rule>& refused) {
  return refused ? std::string(spec::id_of(*refused)) : "accepted";
}

std::string kind_of_fault(const std::string& message) {
  std::string kind;
  for (const char c : message) {
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_digit) kind += c;
    else if (kind.empty() || kind.back() != '#') kind += '#';
  }
  return kind.substr(0, 120);
}

int32_t* copy_of_arena(Frame& frame, std::vector<int32_t>& storage) {
  const auto num_words = size_t(frame.num_words());
  if (storage.size() < num_words + 4) storage.resize(num_words + 4);
  int32_t* words = storage.data() + (16 - reinterpret_cast<uintptr_t>(storage.data()) % 16) % 16 / sizeof(int32_t);
  std::memcpy(words, frame.arena(), num_words * sizeof(int32_t));
  return words;
}

int64_t first_difference(Frame& frame, const int32_t* words) {
  const auto num_words = size_t(frame.num_words());
  if (std::memcmp(words, frame.arena(), num_words * sizeof(int32_t)) == 0) return -1;
  return std::mismatch(words, words + num_words, frame.arena()).first - words;
}

ReferenceRun::ReferenceRun(Frame& frame, std::vector<int32_t>& storage) : words_(copy_of_arena(frame, storage)) {
  const auto refusal = reference::remap(frame.problem_at(words_));
  if (refusal) refused_ = refusal->rule;
}

bool ReferenceRun::agrees(Frame& frame, const std::optional<spec::Rule>& got) const {
  if (got != refused_) return false;
  const spec::RemapProblem problem = frame.problem();
  if (!got && problem.placement == spec::Placement::kCompacted && problem.order == spec::Order::kUnspecified) {
    sort_prefixes(problem);
    sort_prefixes(frame.problem_at(words_));
  }
  return first_difference(frame) < 0;
}

int64_t ReferenceRun::first_difference(Frame& frame) const {
  return fuzz::first_difference(frame, words_);
}

Outcome compare_remap(const RemapCase& remap_case, bool is_judged) {
  Frame frame(remap_case, kPoisonSeed);
  if (!remap_case.edits.empty() && !frame.holds_every_element()) {
    const spec::RemapProblem problem = frame.problem();
    const auto due = reference::validate(problem);
    if (!due) return compare_validation(problem, due);
  }
  static thread_local std::vector<int32_t> storage;
  const ReferenceRun reference(frame, storage);
  // A call that must be refused may lead anywhere, so it is not run where it is accepted.
  if (reference.refused() && validate(harness::remap_args_of(frame.problem())).ok()) {
    return finding_of("argument_validation " + text_of(reference.refused()), "the kernels accept the call");
  }
  const RunOutcome got = host().run(frame, remap_case.schedule);
  if (got.kind == RunOutcome::Kind::kFault) return finding_of("no_fault " + kind_of_fault(got.message), got.message);
  const bool is_same = reference.agrees(frame, got.refused);
  if (is_same && !is_judged) return {true, {}, {}};
  if (auto found = judged(remap_case, /*has_repeats=*/is_judged)) return *found;
  if (is_same) return compare_fast_host(remap_case, reference);
  return finding_of("reference_disagrees", fmt::format("kernel: {}, reference: {}, first different word of memory: {}", text_of(got.refused),
                                                       text_of(reference.refused()), reference.first_difference(frame)));
}

}  // namespace slotproof::fuzz
