// Invariants about ranks, rows of the cache, memory, repeated runs and arguments.

#include "spec/invariant_checks.h"
#include "spec/rank_ownership.h"

#include <algorithm>
#include <map>

namespace slotproof::spec {
namespace {

// A word of the outputs themselves, as opposed to gaps, guards, inputs.
bool is_output_element(const RemapProblem& problem, const int32_t* word) {
  const auto offset_in = [&](const int32_t* data) {
    return (int64_t(reinterpret_cast<uintptr_t>(word)) - int64_t(reinterpret_cast<uintptr_t>(data))) / int64_t(sizeof(int32_t));
  };
  const OutputMatrix& slots = problem.slots;
  if (slots.rows > 0 && slots.columns > 0) {
    const int64_t offset = offset_in(slots.data);
    const int64_t row = slots.rows == 1 ? 0 : offset / slots.row_stride;
    if (offset >= 0 && row < slots.rows && offset - row * slots.row_stride < slots.columns) return true;
  }
  if (problem.valid_counts && problem.valid_counts->size > 0) {
    const int64_t offset = offset_in(problem.valid_counts->data);
    if (offset >= 0 && offset < problem.valid_counts->size) return true;
  }
  return false;
}

template <class Report>
void for_each_changed_word(const RemapOutcome& outcome, Report report) {
  for (const MemoryRegion& region : outcome.memory) {
    for (int64_t i = 0; i < region.num_words; ++i) {
      if (region.before[i] != region.after[i]) report(region, i);
    }
  }
}

std::string word_place(const MemoryRegion& region, int64_t i) {
  return std::string(region.name) + " memory, word " + std::to_string(i);
}

std::vector<int32_t> row_of(const auto& matrix, int32_t t, int32_t topk, bool is_order_free) {
  std::vector<int32_t> row;
  for (int32_t k = 0; k < topk; ++k) row.push_back(matrix(t, k));
  if (is_order_free) std::sort(row.begin(), row.end());
  return row;
}

void check_repeats(Check& check, Repeat::Changed changed) {
  const RemapProblem& problem = check.problem;
  const bool is_order_free = check.is_compacted() && problem.order == Order::kUnspecified;
  for (const Repeat& repeat : check.outcome.repeats) {
    if (repeat.changed != changed) continue;
    check.exercise();
    if (repeat.refused) {
      check.report_at(Rule::R14, "the call with " + repeat.what, "accepted, as before", "refused by " + std::string(id_of(*repeat.refused)));
      continue;
    }
    for (int32_t t = 0; t < problem.num_tokens(); ++t) {
      const auto before = row_of([&](int32_t r, int32_t k) { return check.got(r, k); }, t, problem.topk(), is_order_free);
      const auto now = row_of(repeat.slots, t, problem.topk(), is_order_free);
      const auto differ = std::mismatch(before.begin(), before.end(), now.begin());
      if (differ.first != before.end()) {
        check.report(Rule::R14, t, int32_t(differ.first - before.begin()), std::to_string(*differ.first) + " as in the first run",
                     std::to_string(*differ.second) + " with " + repeat.what);
      }
      if (problem.valid_counts && problem.valid_counts->data[t] != repeat.valid_counts[t]) {
        check.report_at(Rule::R14, "valid_counts[" + std::to_string(t) + "]",
                        std::to_string(problem.valid_counts->data[t]) + " as in the first run",
                        std::to_string(repeat.valid_counts[t]) + " with " + repeat.what);
      }
    }
  }
}

}  // namespace

void check_dcp_ownership(Check& check) {
  if (check.problem.dcp.size == 1) return;
  check.expect_none_by([](const Entry& entry) { return entry.decided_by == Rule::R3; });
  for (int32_t t = 0; t < check.problem.num_tokens(); ++t) {
    for (int32_t k = 0; k < check.problem.topk(); ++k) {
      if (check.meaning.at(t, k).is_none()) continue;
      check.exercise();
      if (!check.is_compacted() && check.got(t, k) == kNone) {
        check.report(Rule::R3, t, k, "slot " + std::to_string(check.meaning.at(t, k).slot) + ", the rank's own", "-1");
      }
    }
  }
}

void check_interleave_alignment(Check& check) {
  const RemapProblem& problem = check.problem;
  // With N > 1 two neighbouring positions of one rank are in one group: the next group is another rank's.
  if (problem.dcp.size == 1 || problem.dcp.interleave == 1 || check.is_compacted()) return;
  for (int32_t t = 0; t < problem.num_tokens(); ++t) {
    if (check.is_workspace_row(t)) continue;
    std::map<int32_t, int32_t> column_of_position;
    for (int32_t k = 0; k < problem.topk(); ++k) {
      if (!check.meaning.at(t, k).is_none()) column_of_position[problem.token_indices.view()(t, k)] = k;
    }
    for (const auto& [position, k] : column_of_position) {
      const auto next = position == std::numeric_limits<int32_t>::max() ? column_of_position.end() : column_of_position.find(position + 1);
      if (next == column_of_position.end()) continue;
      check.exercise();
      const int32_t slot = check.got(t, k), next_slot = check.got(t, next->second);
      if (int64_t{next_slot} != int64_t{slot} + 1) {
        check.report(Rule::P3, t, next->second, "the slot behind that of position " + std::to_string(position) + ", " + std::to_string(slot),
                     std::to_string(next_slot));
      }
    }
  }
}

void check_strided_view_no_overlap(Check& check) {
  if (check.is_compacted()) return;
  struct Seen {
    int32_t expected, t, k;
  };
  std::map<int32_t, Seen> seen;  // by the slot got
  for (int32_t t = 0; t < check.problem.num_tokens(); ++t) {
    if (check.is_workspace_row(t)) continue;
    for (int32_t k = 0; k < check.problem.topk(); ++k) {
      const Entry& entry = check.meaning.at(t, k);
      if (entry.is_none() || check.got(t, k) == kNone) continue;
      const auto [first, is_new] = seen.try_emplace(check.got(t, k), Seen{entry.slot, t, k});
      if (seen.size() > 1) check.exercise();
      if (!is_new && first->second.expected != entry.slot) {
        check.report(Rule::V4, t, k, "another slot than that of [" + std::to_string(first->second.t) + ", " + std::to_string(first->second.k) + "]",
                     std::to_string(check.got(t, k)) + " for both");
      }
    }
  }
}

void check_gap_rows_untouched(Check& check) {
  const int64_t stride = check.problem.block_stride_rows;
  if (stride == check.problem.block_size) return;
  for (int32_t t = 0; t < check.problem.num_tokens(); ++t) {
    if (check.is_workspace_row(t)) continue;
    for (int32_t k = 0; k < check.problem.topk(); ++k) {
      const bool is_slot_due = check.is_compacted() ? k < check.meaning.expected.valid_counts[t] : !check.meaning.at(t, k).is_none();
      if (!is_slot_due) continue;
      check.exercise();
      const int32_t slot = check.got(t, k);
      if (slot >= 0 && slot % stride >= check.problem.block_size) {
        check.report(Rule::V5, t, k, "one of the first " + std::to_string(check.problem.block_size) + " rows of each " + std::to_string(stride),
                     std::to_string(slot) + ", a row between blocks");
      }
    }
  }
}

void check_frame(Check& check) {
  check.exercise();
  for_each_changed_word(check.outcome, [&](const MemoryRegion& region, int64_t i) {
    if (is_output_element(check.problem, region.after + i)) return;
    check.report_at(Rule::R13, word_place(region, i), std::to_string(region.before[i]) + ", untouched", std::to_string(region.after[i]));
  });
  if (check.is_compacted()) return;
  for (const MemoryRegion& region : check.outcome.memory) {
    if (region.name != "slots") continue;
    for (int32_t t = 0; t < check.problem.num_tokens(); ++t) {
      for (int32_t k = 0; k < check.problem.topk(); ++k) {
        const int64_t i = &check.problem.slots.data[int64_t{t} * check.problem.slots.row_stride + k] - region.after;
        if (region.before[i] == region.after[i] && region.after[i] != check.meaning.at(t, k).slot) {
          check.report(Rule::R10, t, k, std::to_string(check.meaning.at(t, k).slot),
                       std::to_string(region.after[i]) + ", what the memory held before");
        }
      }
    }
  }
}

void check_determinism(Check& check) { check_repeats(check, Repeat::Changed::kScheduleOrPoison); }
void check_tiling_invariance(Check& check) { check_repeats(check, Repeat::Changed::kTiling); }

void check_argument_validation(Check& check) {
  const auto& due = check.meaning.refusal;
  const auto& refused = check.outcome.refused;
  if (due) {
    check.exercise();
    if (refused != due->rule) {
      check.report_at(due->rule, "the call", "refused by " + std::string(id_of(due->rule)) + ": " + due->message,
                      refused ? "refused by " + std::string(id_of(*refused)) : "accepted");
    }
    for_each_changed_word(check.outcome, [&](const MemoryRegion& region, int64_t i) {
      check.report_at(due->rule, word_place(region, i), std::to_string(region.before[i]) + ", untouched by a refused call",
                      std::to_string(region.after[i]));
    });
  } else if (refused) {
    check.report_at(*refused, "the call", "accepted", "refused by " + std::string(id_of(*refused)));
  }
}

}  // namespace slotproof::spec
