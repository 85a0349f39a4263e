// A problem and what is varied about it.

#include "property_tests/harness/case_rows.h"
#include "property_tests/harness/decoder.h"
#include "property_tests/harness/decoder_elements.h"
#include "property_tests/harness/independence.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <numeric>

namespace slotproof::harness {
namespace {

constexpr int32_t kNewRow = -1;

// Rows may come and go, and lie elsewhere.
bool has_plain_rows(const RemapCase& c) {
  const auto rows = size_t(c.num_tokens());
  return c.edits.empty() && c.req_id.size() == rows && (!c.prefill || c.prefill->request_ids.size() == rows);
}

class Varying {
 public:
  Varying(const RemapCase& c, const Variation& variation) : variation_(variation), is_plain_(has_plain_rows(c)), sources_(size_t(c.num_tokens())) {
    made_.problem = c;
    std::iota(sources_.begin(), sources_.end(), 0);
  }

  Varied take() {
    if (is_plain_) {
      if (PhiloxChoices* choices = choices_of(Change::kRowsRemoved)) remove_rows(*choices);
      if (PhiloxChoices* choices = choices_of(Change::kRowsReplaced)) replace_rows(*choices);
      if (PhiloxChoices* choices = choices_of(Change::kRowsAdded)) add_rows(*choices);
    }
    place_rows();
    if (is_plain_) change_layout();
    if (PhiloxChoices* choices = choices_of(Change::kPoison)) note("poison {}", made_.poison_seed = 2 + choices->below(1u << 30));
    if (PhiloxChoices* choices = choices_of(Change::kTile)) change_tile(*choices);
    change_schedule();
    if (PhiloxChoices* choices = choices_of(Change::kOtherCalls)) call_others(*choices);
    if (PhiloxChoices* choices = choices_of(Change::kSameMemory)) note("call {} in the same memory", made_.num_calls = 2 + up_to(*choices, 2));
    if (choices_of(Change::kBackEnd)) {
      made_.is_elsewhere = true;
      note("by another back end");
    }
    if (made_.text.empty()) made_.text = "nothing changed, called again";
    return std::move(made_);
  }

 private:
  // The change's own stream: which others are made plays no part. Null where it is not to be made.
  PhiloxChoices* choices_of(Change change) {
    if (!variation_.has(change)) return nullptr;
    choices_ = PhiloxChoices(variation_.seed, uint64_t(change));
    return &choices_;
  }

  template <class... Values>
  void note(fmt::format_string<Values...> text, Values&&... values) {
    if (!made_.text.empty()) made_.text += ", ";
    made_.text += fmt::format(text, std::forward<Values>(values)...);
  }

  // One row at least stays, so that there is something to compare.
  void remove_rows(PhiloxChoices& choices) {
    const std::vector<int32_t> before = sources_;
    if (before.size() < 2) return;
    const size_t kept = choices.below(uint32_t(before.size()));
    sources_.clear();
    for (size_t i = 0; i < before.size(); ++i) {
      if (choices.below(2) == 0 || i == kept) sources_.push_back(before[i]);
    }
    note("{} rows removed", before.size() - sources_.size());
  }

  void replace_rows(PhiloxChoices& choices) {
    if (sources_.size() < 2) return;
    const size_t kept = choices.below(uint32_t(sources_.size()));
    for (size_t i = 0; i < sources_.size(); ++i) {
      if (choices.below(2) == 0 && i != kept) sources_[i] = kNewRow;
    }
    note("{} rows replaced", std::count(sources_.begin(), sources_.end(), kNewRow));
  }

  void add_rows(PhiloxChoices& choices) {
    const bool is_narrow = made_.problem.topk() <= 16;
    const int32_t most = is_narrow && choices.below(4) == 0 ? 40 : 3, num_added = 1 + up_to(choices, most - 1);
    for (int32_t i = 0; i < num_added; ++i) sources_.insert(sources_.begin() + choices.below(uint32_t(sources_.size()) + 1), kNewRow);
    note("{} rows added", num_added);
  }

  void place_rows() {
    made_.row_now.assign(size_t(made_.problem.num_tokens()), -1);
    for (size_t i = 0; i < sources_.size(); ++i) {
      if (sources_[i] != kNewRow) made_.row_now[size_t(sources_[i])] = int32_t(i);
    }
    if (!is_plain_) return;
    made_.problem = with_rows(made_.problem, sources_);
    for (size_t i = 0; i < sources_.size(); ++i) {
      PhiloxChoices choices(variation_.seed, kNumChanges, 1, i);
      if (sources_[i] == kNewRow) fill_row(int32_t(i), choices);
    }
  }

  // Mostly what gives slots, and anything else: no row may answer for another's.
  void fill_row(int32_t row, PhiloxChoices& choices) {
    RemapCase& c = made_.problem;
    const int32_t request = up_to(choices, c.block_table.rows);
    c.req_id[size_t(row)] = pick<int32_t>(choices, request, request, request, -1, kInt32Max);
    if (c.prefill) {
      const auto prefill = int32_t(up_to(choices, int32_t(c.prefill->workspace_starts.size())));
      c.prefill->request_ids[size_t(row)] = pick<int32_t>(choices, prefill, -1, -1, kInt32Min);
    }
    const int64_t positions = int64_t{c.block_table.columns} * std::max(c.block_size, 1), most = std::clamp<int64_t>(positions + 3, 1, kInt32Max);
    for (int32_t k = 0; k < c.topk(); ++k) {
      const auto inside = int32_t(choices.below(uint32_t(most)));
      const uint32_t kind = choices.below(16);
      c.token_indices.at(row, k) = kind == 0 ? any_int32(choices) : kind < 3 ? spec::kNone : inside;
    }
  }

  void change_layout() {
    RemapCase& c = made_.problem;
    if (PhiloxChoices* choices = choices_of(Change::kRowStrides)) {
      set_stride(c.token_indices, *choices);
      set_stride(c.block_table, *choices);
      // In half of the draws rows stay on boundaries, so that a tuned kernel stays one.
      const int32_t unit = pick<int32_t>(*choices, 4, 1);
      c.layout.slots_storage_columns = c.topk() + unit * up_to(*choices, 3);
      note("row strides {}, {}, {}", c.token_indices.storage_columns, c.block_table.storage_columns, c.layout.slots_storage_columns);
    }
    if (PhiloxChoices* choices = choices_of(Change::kBetweenRows)) {
      for (OwnedMatrix* matrix : {&c.token_indices, &c.block_table}) {
        for (int32_t row = 0; row < matrix->rows; ++row) {
          for (int32_t column = matrix->columns; column < matrix->storage_columns; ++column) matrix->at(row, column) = hidden(*choices);
        }
      }
      note("other words between rows");
    }
    if (PhiloxChoices* choices = choices_of(Change::kAlignment)) {
      // Half of the tensors stay on boundaries: a kernel asks for those of one or the other.
      for (uint8_t& words : c.layout.misalignment) words = choices->below(2) == 0 ? 0 : uint8_t(choices->below(4));
      note("tensors {} words behind boundaries", fmt::join(c.layout.misalignment, ", "));
    }
  }

  // What would be taken for a position or an entry.
  static int32_t hidden(PhiloxChoices& choices) { return up_to(choices, 99); }

  static void set_stride(OwnedMatrix& matrix, PhiloxChoices& choices) {
    const int32_t unit = pick<int32_t>(choices, 4, 1), num_hidden = unit * up_to(choices, 3);
    OwnedMatrix wider = OwnedMatrix::filled(matrix.rows, matrix.columns, 0, matrix.columns + num_hidden);
    for (int32_t row = 0; row < matrix.rows; ++row) {
      for (int32_t column = 0; column < wider.storage_columns; ++column) {
        wider.at(row, column) = column < matrix.columns ? matrix.at(row, column) : hidden(choices);
      }
    }
    matrix = std::move(wider);
  }

  void change_tile(PhiloxChoices& choices) {
    RemapCase& c = made_.problem;
    const int32_t topk = c.topk();
    if (!is_plain_ || topk == 0 || (c.tile && (*c.tile < 1 || topk % *c.tile != 0))) return;  // A14
    // A pass of few columns of a wide row shows no more, and takes long.
    const int32_t least = topk > 256 ? topk / 16 : 1;
    std::vector<int32_t> tiles;
    for (int32_t tile = least; tile <= topk; ++tile) {
      if (topk % tile == 0) tiles.push_back(tile);
    }
    const int32_t chosen = up_to(choices, int32_t(tiles.size()));
    if (chosen == std::ssize(tiles)) c.tile.reset();
    else c.tile = tiles[size_t(chosen)];
    note("tile {}", c.tile ? std::to_string(*c.tile) : "of the planner's choice");
  }

  void change_schedule() {
    Schedule& schedule = made_.problem.schedule;
    // The planner picks among all kernels where no width is asked for.
    if (PhiloxChoices* choices = choices_of(Change::kTeamWidth)) {
      note("team width {}", schedule.team_width = pick<int32_t>(*choices, 0, 32, 0, 64, 0, 128, 256));
    }
    if (PhiloxChoices* choices = choices_of(Change::kThreadOrder)) note("thread order {}", schedule.thread_order_seed = choices->bits64());
    if (PhiloxChoices* choices = choices_of(Change::kCtaOrder)) note("CTA order {}", schedule.cta_order_seed = choices->bits64());
    if (PhiloxChoices* choices = choices_of(Change::kPlannedRows)) {
      note("planned for {} rows", schedule.planned_rows = pick<int32_t>(*choices, 1, 32, 128, 512, 2048, 8192, 0));
    }
  }

  void call_others(PhiloxChoices& choices) {
    const int32_t num_others = 1 + up_to(choices, 1);
    for (int32_t i = 0; i < num_others; ++i) {
      RemapCase other = choices.below(4) == 0 ? case_of(kernel_path_of(up_to(choices, kNumKernelPaths - 1))) : draw_remap(variation_.seed, uint64_t(i), {});
      other.edits.clear();
      made_.others.push_back(std::move(other));
    }
    note("after {} other calls", num_others);
  }

  const Variation& variation_;
  bool is_plain_;
  std::vector<int32_t> sources_;  // of each row: the row of the problem before, or kNewRow
  PhiloxChoices choices_{0, 0};
  Varied made_;
};

}  // namespace

std::string_view name_of(Change change) {
  constexpr std::string_view kNames[kNumChanges] = {"poison",       "rows removed", "rows replaced", "rows added",  "row strides",
                                                    "between rows", "alignment",    "tile",          "team width",  "thread order",
                                                    "CTA order",    "planned rows", "other calls",   "same memory", "back end"};
  return kNames[size_t(change)];
}

Variation draw_variation(uint64_t seed) {
  Variation variation{seed, 0};
  PhiloxChoices choices(seed, kNumChanges + 1);
  // The other back end seldom: the one under test is to be compared with itself.
  for (int change = 0; change < kNumChanges; ++change) {
    if (choices.below(Change(change) == Change::kBackEnd ? 4 : 2) == 0) variation = variation.with(Change(change));
  }
  return variation;
}

std::vector<Variation> simpler_variations(const Variation& variation) {
  std::vector<Variation> simpler;
  if (variation.changes == 0) return simpler;
  simpler.push_back({variation.seed, 0});
  if (std::popcount(variation.changes) == 1) return simpler;
  for (int change = 0; change < kNumChanges; ++change) {
    if (variation.has(Change(change))) simpler.push_back(Variation{variation.seed, 0}.with(Change(change)));
  }
  for (int change = 0; change < kNumChanges; ++change) {
    if (variation.has(Change(change))) simpler.push_back(variation.without(Change(change)));
  }
  return simpler;
}

Varied varied(const RemapCase& remap_case, const Variation& variation) {
  return Varying(remap_case, variation).take();
}

}  // namespace slotproof::harness
