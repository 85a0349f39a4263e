#include "spec/invariant_checks.h"

#include <algorithm>

namespace slotproof::spec {
namespace {

std::string entry_place(int32_t t, int32_t k) { return "slots[" + std::to_string(t) + ", " + std::to_string(k) + "]"; }

// The elements of `sorted` that `other_sorted` does not hold as often.
std::vector<int32_t> surplus(const std::vector<int32_t>& sorted, const std::vector<int32_t>& other_sorted) {
  std::vector<int32_t> more;
  std::set_difference(sorted.begin(), sorted.end(), other_sorted.begin(), other_sorted.end(), std::back_inserter(more));
  return more;
}

std::string list(const std::vector<int32_t>& values) {
  std::string text = "{";
  for (size_t i = 0; i < values.size() && i < 8; ++i) text += (i ? ", " : "") + std::to_string(values[i]);
  return text + (values.size() > 8 ? ", ...}" : "}");
}

}  // namespace

Meaning::Meaning(const RemapProblem& problem) : refusal(refusal_of(problem)) {
  if (refusal) return;
  expected = expected_outputs(problem);
  entries.reserve(size_t(problem.num_tokens()) * size_t(problem.topk()));
  for (int32_t t = 0; t < problem.num_tokens(); ++t) {
    for (int32_t k = 0; k < problem.topk(); ++k) entries.push_back(entry_of(problem, t, k));
  }
}

std::vector<int32_t> Check::slots_got(int32_t t) const {
  std::vector<int32_t> slots;
  for (int32_t k = 0; k < problem.topk(); ++k) {
    if (got(t, k) != kNone) slots.push_back(got(t, k));
  }
  std::sort(slots.begin(), slots.end());
  return slots;
}

std::vector<int32_t> Check::slots_expected(int32_t t) const {
  std::vector<int32_t> slots;
  for (int32_t k = 0; k < problem.topk(); ++k) {
    if (!meaning.at(t, k).is_none()) slots.push_back(meaning.at(t, k).slot);
  }
  std::sort(slots.begin(), slots.end());
  return slots;
}

void Check::report_at(Rule rule, std::string place, std::string expected_text, std::string got_text) {
  if (violations.size() == kMaxViolations) return;
  violations.push_back({invariant_, rule, std::move(place), std::move(expected_text), std::move(got_text), -1, -1});
}

void Check::report(Rule rule, int32_t t, int32_t k, std::string expected_text, std::string got_text) {
  if (violations.size() == kMaxViolations) return;
  violations.push_back({invariant_, rule, entry_place(t, k), std::move(expected_text), std::move(got_text), t, k});
}

void Check::expect_none_by(const std::function<bool(const Entry&)>& is_mine) {
  for (int32_t t = 0; t < problem.num_tokens(); ++t) {
    const Entry* first_mine = nullptr;
    bool are_all_mine = true;  // and of one rule: else a surplus in a compacted row cannot be told to be one of them
    for (int32_t k = 0; k < problem.topk(); ++k) {
      const Entry& entry = meaning.at(t, k);
      if (!entry.is_none()) continue;
      if (!is_mine(entry)) {
        are_all_mine = false;
        continue;
      }
      exercise();
      if (first_mine == nullptr) first_mine = &entry;
      if (entry.decided_by != first_mine->decided_by) are_all_mine = false;
      if (!is_compacted() && got(t, k) != kNone) {
        report(entry.decided_by, t, k, "-1", std::to_string(got(t, k)));
      }
    }
    if (!is_compacted() || first_mine == nullptr || !are_all_mine) continue;
    const auto too_many = surplus(slots_got(t), slots_expected(t));
    const int32_t count = meaning.expected.valid_counts[t];
    // Behind an exact prefix it is the tail that was not written.
    bool is_prefix_exact = true;
    for (int32_t k = 0; k < count; ++k) is_prefix_exact &= got(t, k) == meaning.expected.slots(t, k);
    if (is_prefix_exact) continue;
    // A surplus in the prefix beside a slot that is missing is a wrong slot, not one too many.
    if (!too_many.empty() && count < problem.topk() && got(t, count) != kNone && int32_t(slots_got(t).size()) > count) {
      report(first_mine->decided_by, t, count, "no slot beyond " + std::to_string(count) + " of them", list(too_many) + " too many");
    }
  }
}

void Check::expect_slots(const std::function<bool(int32_t)>& is_mine, const std::function<Rule(int32_t)>& rule) {
  for (int32_t t = 0; t < problem.num_tokens(); ++t) {
    if (!is_mine(t)) continue;
    const std::vector<int32_t> allowed = is_compacted() ? slots_expected(t) : std::vector<int32_t>{};
    const int32_t end = is_compacted() ? meaning.expected.valid_counts[t] : problem.topk();
    for (int32_t k = 0; k < end; ++k) {
      if (is_compacted()) {
        exercise();
        if (!std::binary_search(allowed.begin(), allowed.end(), got(t, k))) {
          report(rule(t), t, k, "one of " + list(allowed), std::to_string(got(t, k)));
        }
      } else if (!meaning.at(t, k).is_none()) {
        exercise();
        if (got(t, k) != meaning.at(t, k).slot) report(rule(t), t, k, std::to_string(meaning.at(t, k).slot), std::to_string(got(t, k)));
      }
    }
  }
}

void check_minus_one_propagation(Check& check) {
  check.expect_none_by([](const Entry& entry) { return entry.decided_by == Rule::R1; });
}

void check_bounds_safety(Check& check) {
  check.expect_none_by([](const Entry& entry) {
    const Rule rule = entry.decided_by;
    return rule == Rule::R2 || rule == Rule::R5 || rule == Rule::R6 || rule == Rule::R7 || rule == Rule::R9;
  });
}

void check_valid_count_exactness(Check& check) {
  const RemapProblem& problem = check.problem;
  if (!problem.valid_counts) return;
  for (int32_t t = 0; t < problem.num_tokens(); ++t) {
    check.exercise();
    const int32_t expected = check.meaning.expected.valid_counts[t], got = problem.valid_counts->data[t];
    if (got != expected) {
      check.report_at(problem.topk() == 0 ? Rule::R15 : Rule::R11, "valid_counts[" + std::to_string(t) + "]", std::to_string(expected),
                      std::to_string(got));
    }
  }
}

void check_compacted_prefix_set(Check& check) {
  if (!check.is_compacted()) return;
  const Rule rule = check.problem.order == Order::kStable ? Rule::R12 : Rule::R12u;
  for (int32_t t = 0; t < check.problem.num_tokens(); ++t) {
    const int32_t count = check.meaning.expected.valid_counts[t];
    if (count == 0) continue;
    check.exercise();
    std::vector<int32_t> prefix;
    for (int32_t k = 0; k < count; ++k) prefix.push_back(check.got(t, k));
    std::sort(prefix.begin(), prefix.end());
    const auto expected = check.slots_expected(t);
    if (prefix == expected) continue;
    const auto missing = surplus(expected, prefix), extra = surplus(prefix, expected);
    int32_t k = 0;
    while (std::find(extra.begin(), extra.end(), check.got(t, k)) == extra.end()) ++k;
    check.report(rule, t, k, "a prefix of " + std::to_string(count) + " slots with " + list(missing), list(extra) + " in their place");
  }
}

void check_stable_order(Check& check) {
  if (!check.is_compacted() || check.problem.order != Order::kStable) return;
  for (int32_t t = 0; t < check.problem.num_tokens(); ++t) {
    const int32_t count = check.meaning.expected.valid_counts[t];
    std::vector<int32_t> prefix, expected;
    for (int32_t k = 0; k < count; ++k) {
      prefix.push_back(check.got(t, k));
      expected.push_back(check.meaning.expected.slots(t, k));
    }
    if (count >= 2) check.exercise();
    const auto wrong = std::mismatch(prefix.begin(), prefix.end(), expected.begin());
    if (wrong.first == prefix.end()) continue;
    const int32_t k = int32_t(wrong.first - prefix.begin());
    const int32_t got = *wrong.first, right = *wrong.second;
    std::sort(prefix.begin(), prefix.end());
    std::sort(expected.begin(), expected.end());
    if (prefix == expected) check.report(Rule::R12, t, k, std::to_string(right), std::to_string(got) + ", out of order");
  }
}

void check_tail_is_none(Check& check) {
  if (!check.is_compacted()) return;
  const Rule rule = check.problem.order == Order::kStable ? Rule::R12 : Rule::R12u;
  for (int32_t t = 0; t < check.problem.num_tokens(); ++t) {
    for (int32_t k = check.meaning.expected.valid_counts[t]; k < check.problem.topk(); ++k) {
      check.exercise();
      if (check.got(t, k) != kNone) check.report(rule, t, k, "-1", std::to_string(check.got(t, k)));
    }
  }
}

void check_workspace_mapping(Check& check) {
  check.expect_slots([&](int32_t t) { return check.is_workspace_row(t); }, [](int32_t) { return Rule::R2; });
}

void check_writer_reader_agreement(Check& check) {
  const Rule rule = check.problem.dcp.size > 1 ? Rule::P4 : Rule::R8;
  check.expect_slots([&](int32_t t) { return !check.is_workspace_row(t); }, [&](int32_t) { return rule; });
}

}  // namespace slotproof::spec
