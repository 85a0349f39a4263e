// The laws between calls (M1-M8): one problem and changes of it whose effect on the answer is known without knowing the answer.

#include "property_tests/harness/case_rows.h"
#include "property_tests/harness/laws_parts.h"

#include <fmt/format.h>
#include <slotproof/plugin.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace slotproof::harness {
namespace {

// A permutation of 0 ... n - 1 that moves every element (Sattolo), always the same of a size.
std::vector<int32_t> permutation_of(int32_t n) {
  std::vector<int32_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  PhiloxChoices choices(1, uint64_t(n));
  for (int32_t last = n - 1; last > 0; --last) std::swap(order[size_t(last)], order[choices.below(uint32_t(last))]);
  return order;
}

// Rows `rows` of what the problem itself gave are the rows of what was made of them.
void expect_rows(LawCheck& law, const LawOutputs& before, const std::vector<int32_t>& rows, const LawOutputs& after, std::string_view what) {
  for (int32_t i = 0; i < std::ssize(rows); ++i) {
    const int32_t row = rows[size_t(i)];
    law.expect_row(after, i, before.row(row), what);
    if (before.valid_counts.size() > 0) law.expect_count(after, i, before.valid_counts[row], what);
  }
}

std::vector<int32_t> row_range(int32_t begin, int32_t end) {
  std::vector<int32_t> rows(static_cast<size_t>(end - begin));
  std::iota(rows.begin(), rows.end(), begin);
  return rows;
}

bool is_workspace_row(const RemapCase& c, int32_t t) {
  return c.prefill && c.prefill->request_ids[size_t(t)] >= 0;
}

// A permutation of the valid blocks of the table; of a single one, a swap with its neighbour.
std::map<int32_t, int32_t> relabelling_of(const RemapCase& c) {
  const int64_t limit = num_valid_blocks(c);
  std::set<int32_t> found;
  for (int32_t row = 0; row < c.block_table.rows; ++row) {
    for (int32_t column = 0; column < c.block_table.columns; ++column) {
      const int32_t block = c.block_table.at(row, column);
      if (block >= 0 && block < limit) found.insert(block);
    }
  }
  if (found.size() == 1) found.insert(*found.begin() > 0 ? *found.begin() - 1 : 1);
  if (found.size() < 2 || *found.rbegin() >= limit) return {};
  const std::vector<int32_t> blocks(found.begin(), found.end()), order = permutation_of(int32_t(blocks.size()));
  std::map<int32_t, int32_t> relabelling;
  for (size_t i = 0; i < blocks.size(); ++i) relabelling[blocks[i]] = blocks[size_t(order[i])];
  return relabelling;
}

}  // namespace

// M1
void check_rows(LawCheck& law) {
  const RemapCase& c = law.problem();
  const auto before = law.run(c, "rows as they are");
  if (!before || c.num_tokens() < 2 || c.topk() == 0) return;
  const std::vector<int32_t> order = permutation_of(c.num_tokens());
  const auto after = law.run(with_rows(c, order), "rows permuted");
  if (!after) return;
  law.exercise();
  expect_rows(law, *before, order, *after, "rows permuted");
}

// M2
void check_columns(LawCheck& law) {
  const RemapCase& c = law.problem();
  const auto before = law.run(c, "columns as they are");
  if (!before || c.num_tokens() == 0 || c.topk() < 2) return;
  const std::vector<int32_t> order = permutation_of(c.topk());
  RemapCase permuted = c;
  for (int32_t t = 0; t < c.num_tokens(); ++t) {
    for (int32_t k = 0; k < c.topk(); ++k) permuted.token_indices.at(t, k) = c.token_indices.at(t, order[size_t(k)]);
  }
  const auto after = law.run(permuted, "columns permuted");
  if (!after) return;
  law.exercise();
  const bool is_compacted = c.placement == spec::Placement::kCompacted;
  for (int32_t t = 0; t < c.num_tokens(); ++t) {
    std::vector<int32_t> due, got = after->row(t);
    for (int32_t k = 0; k < c.topk(); ++k) due.push_back(before->slots(t, is_compacted ? k : order[size_t(k)]));
    if (is_compacted) {  // the prefix in some order, and the same tail
      std::sort(due.begin(), due.end(), std::greater<>());
      std::sort(got.begin(), got.end(), std::greater<>());
    }
    const auto [d, g] = std::mismatch(due.begin(), due.end(), got.begin());
    if (d != due.end()) {
      const std::string column = is_compacted ? "*" : std::to_string(d - due.begin());
      law.report(fmt::format("slots[{}, {}] with columns permuted", t, column), std::to_string(*d), std::to_string(*g));
    }
    if (c.counts) law.expect_count(*after, t, before->valid_counts[t], "columns permuted");
  }
}

// M3
void check_blocks(LawCheck& law) {
  const RemapCase& c = law.problem();
  const auto before = law.run(c, "blocks as they are");
  if (!before) return;
  const std::map<int32_t, int32_t> relabelling = relabelling_of(c);
  if (relabelling.empty()) return;
  RemapCase relabelled = c;
  for (int32_t row = 0; row < c.block_table.rows; ++row) {
    for (int32_t column = 0; column < c.block_table.columns; ++column) {
      int32_t& block = relabelled.block_table.at(row, column);
      if (const auto found = relabelling.find(block); found != relabelling.end()) block = found->second;
    }
  }
  const auto after = law.run(relabelled, "blocks relabelled");
  if (!after) return;
  for (int32_t t = 0; t < c.num_tokens(); ++t) {
    std::vector<int32_t> due = before->row(t);
    for (int32_t& slot : due) {
      if (slot < 0 || is_workspace_row(c, t)) continue;
      const auto found = relabelling.find(int32_t(slot / c.block_stride_rows));
      if (found == relabelling.end()) continue;  // a block without all of its slots
      law.exercise();
      slot = int32_t(found->second * c.block_stride_rows + slot % c.block_stride_rows);
    }
    law.expect_row(*after, t, due, "blocks relabelled");
    if (c.counts) law.expect_count(*after, t, before->valid_counts[t], "blocks relabelled");
  }
}

// M4
void check_padding(LawCheck& law) {
  RemapCase c = law.problem();
  c.tile.reset();
  const auto before = law.run(c, "columns as they are");
  if (!before || c.num_tokens() == 0) return;
  const int32_t more = law.can(SLOTPROOF_CAN_ANY_WIDTH) ? 3 : 128, topk = c.topk(), hidden = c.token_indices.storage_columns - topk;
  RemapCase wider = c;
  wider.token_indices = OwnedMatrix::filled(c.num_tokens(), topk + more, spec::kNone, topk + more + hidden);
  for (int32_t t = 0; t < c.num_tokens(); ++t) {
    for (int32_t k = 0; k < topk; ++k) wider.token_indices.at(t, k) = c.token_indices.at(t, k);
    for (int32_t k = 0; k < hidden; ++k) wider.token_indices.at(t, topk + more + k) = c.token_indices.at(t, topk + k);
  }
  if (c.layout.slots_storage_columns >= 0) wider.layout.slots_storage_columns += more;
  const auto after = law.run(wider, "columns of -1 appended");
  if (!after) return;
  law.exercise();
  for (int32_t t = 0; t < c.num_tokens(); ++t) {
    std::vector<int32_t> due = before->row(t);
    due.resize(due.size() + size_t(more), spec::kNone);
    law.expect_row(*after, t, due, "columns of -1 appended");
    if (c.counts) law.expect_count(*after, t, before->valid_counts[t], "columns of -1 appended");
  }
}

// M5
void check_batch(LawCheck& law) {
  const RemapCase& c = law.problem();
  const auto whole = law.run(c, "the whole batch");
  if (!whole || c.num_tokens() < 2 || c.topk() == 0) return;
  const int32_t middle = (c.num_tokens() + 1) / 2;
  for (const auto& rows : {row_range(0, middle), row_range(middle, c.num_tokens())}) {
    const std::string what = fmt::format("rows {} ... {} alone", rows.front(), rows.back());
    const auto part = law.run(with_rows(c, rows), what);
    if (!part) return;
    law.exercise();
    expect_rows(law, *whole, rows, *part, what);
  }
}

// M6
void check_one_rank(LawCheck& law) {
  RemapCase c = law.problem();
  if (c.dcp.size != 1 || c.dcp.interleave < 2) return;
  const auto interleaved = law.run(c, "N = 1");
  c.dcp = {};
  const auto plain = interleaved ? law.run(c, "no DCP") : std::nullopt;
  if (!plain || c.num_tokens() == 0) return;
  law.exercise();
  expect_rows(law, *plain, row_range(0, c.num_tokens()), *interleaved, fmt::format("N = 1, I = {}", law.problem().dcp.interleave));
}

// M7
void check_count(LawCheck& law) {
  RemapCase c = law.problem();
  c.counts = true;
  c.placement = spec::Placement::kInPlace;
  const auto in_place = law.run(c, "counts, in place");
  c.placement = spec::Placement::kCompacted;
  const auto compacted = in_place ? law.run(c, "counts, compacted") : std::nullopt;
  if (!compacted) return;
  for (int32_t t = 0; t < c.num_tokens(); ++t) {
    law.exercise();
    const int32_t due = in_place->num_kept(t);
    law.expect_count(*in_place, t, due, "entries in place that are not none");
    law.expect_count(*compacted, t, due, "compaction, which places what is not none in place");
    if (compacted->num_kept(t) != due)
      law.report(fmt::format("the compacted set of row {}", t), fmt::format("{} slots, as in place", due), std::to_string(compacted->num_kept(t)));
  }
}

// M8
void check_compaction(LawCheck& law) {
  RemapCase c = law.problem();
  c.placement = spec::Placement::kInPlace;
  const auto in_place = law.run(c, "entries in place");
  c.placement = spec::Placement::kCompacted;
  const auto compacted = in_place ? law.run(c, "compaction") : std::nullopt;
  if (!compacted || c.topk() == 0) return;
  for (int32_t t = 0; t < c.num_tokens(); ++t) {
    law.exercise();
    std::vector<int32_t> due = in_place->kept(t);
    due.resize(size_t(c.topk()), spec::kNone);
    law.expect_row(*compacted, t, due, "compaction");
  }
}

}  // namespace slotproof::harness
