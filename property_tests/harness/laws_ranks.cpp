// The laws over all ranks at once (P1-P4, M9): the same problem at each rank, told by what a writer does.

#include "property_tests/harness/laws_parts.h"
#include "spec/rank_ownership.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <slotproof/plugin.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

namespace slotproof::harness {
namespace {

constexpr int32_t kMostDensePositions = 512;
constexpr int32_t kMostGroups = 4;  // of a row
constexpr int32_t kMostGroupWidth = 64;
constexpr int64_t kMostStored = 1 << 14;  // positions that the writer deals

RemapCase at_rank(RemapCase c, int32_t rank) {
  c.dcp.rank = rank;
  return c;
}
RemapCase in_place(RemapCase c) {
  c.placement = spec::Placement::kInPlace;
  return c;
}
std::string rank_text(const RemapCase& c, int32_t rank) {
  return fmt::format("rank {} of {}, interleave {}", rank, c.dcp.size, c.dcp.interleave);
}

bool has_few_ranks(const RemapCase& c) {
  return !c.prefill && c.dcp.size >= 1 && c.dcp.size <= kMostRanks && c.dcp.interleave >= 1 && c.block_size >= 1 && c.block_size % c.dcp.interleave == 0;
}

int32_t last_position_of(const RemapCase& c) {
  int32_t last = spec::kNone;
  for (int32_t t = 0; t < c.num_tokens(); ++t) {
    for (int32_t k = 0; k < c.topk(); ++k) last = std::max(last, c.token_indices.at(t, k));
  }
  return last;
}

// The problem with rows of its own: of one width, which a back end of fixed widths gets in multiples of 128.
void set_rows(RemapCase& c, std::vector<std::vector<int32_t>> rows, bool can_any_width) {
  size_t width = 1;
  for (const auto& row : rows) width = std::max(width, row.size());
  if (!can_any_width) width = (width + 127) / 128 * 128;
  c.token_indices = OwnedMatrix::filled(int32_t(rows.size()), int32_t(width), spec::kNone);
  for (size_t t = 0; t < rows.size(); ++t) {
    for (size_t k = 0; k < rows[t].size(); ++k) c.token_indices.at(int32_t(t), int32_t(k)) = rows[t][k];
  }
  c.tile.reset();
  c.layout.slots_storage_columns = -1;
}

// Column b is block b, and nothing lies between blocks: a slot is a local position.
void make_slots_local(RemapCase& c, int32_t num_columns) {
  c.block_table = OwnedMatrix::filled(std::max(c.block_table.rows, 1), num_columns, 0);
  for (int32_t row = 0; row < c.block_table.rows; ++row) {
    for (int32_t column = 0; column < num_columns; ++column) c.block_table.at(row, column) = column;
  }
  c.block_stride_rows = c.block_size;
  c.num_blocks.reset();
}

std::string short_list(const std::vector<int32_t>& values) {
  return values.size() <= 8 ? fmt::format("[{}]", fmt::join(values, ", "))
                            : fmt::format("[{}, ...], {} of them", fmt::join(values.begin(), values.begin() + 8, ", "), values.size());
}

}  // namespace

// P1
void check_partition(LawCheck& law) {
  const RemapCase& c = law.problem();
  if (!has_few_ranks(c) || !has_valid_table(c)) return;
  if (last_position_of(c) >= num_table_positions(c)) return;
  // Who only compacts under DCP is asked for the number of entries alone.
  const bool is_in_place = law.can(SLOTPROOF_CAN_IN_PLACE_UNDER_DCP);
  RemapCase of_rank = is_in_place ? in_place(c) : c;
  if (!is_in_place) of_rank.placement = spec::Placement::kCompacted;
  RemapCase one_rank = in_place(c);
  one_rank.dcp = {};
  const auto alone = law.run(one_rank, "N = 1");
  if (!alone) return;
  spec::IndexMatrix keepers = spec::IndexMatrix::Zero(c.num_tokens(), c.topk());
  spec::IndexVector num_kept = spec::IndexVector::Zero(c.num_tokens()), counts = spec::IndexVector::Zero(c.num_tokens());
  for (int32_t rank = 0; rank < c.dcp.size; ++rank) {
    const auto outputs = law.run(at_rank(of_rank, rank), rank_text(c, rank));
    if (!outputs) return;
    keepers += (outputs->slots.array() >= 0).cast<int32_t>().matrix();
    for (int32_t t = 0; t < c.num_tokens(); ++t) num_kept[t] += outputs->num_kept(t);
    if (c.counts) counts += outputs->valid_counts;
  }
  for (int32_t t = 0; t < c.num_tokens(); ++t) {
    const int32_t due = alone->num_kept(t);
    if (due > 0) law.exercise();
    for (int32_t k = 0; k < c.topk() && is_in_place; ++k) {
      const int32_t due_keepers = alone->slots(t, k) >= 0;
      if (keepers(t, k) != due_keepers) {
        law.report(fmt::format("slots[{}, {}], position {}, over all {} ranks", t, k, c.token_indices.at(t, k), c.dcp.size),
                   fmt::format("kept by {}", due_keepers), fmt::format("kept by {}", keepers(t, k)));
      }
    }
    if (num_kept[t] != due)
      law.report(fmt::format("row {}, over all {} ranks", t, c.dcp.size), fmt::format("{} slots, as with N = 1", due), std::to_string(num_kept[t]));
    if (c.counts && counts[t] != alone->valid_counts[t]) {
      law.report(fmt::format("valid_counts[{}], summed over all {} ranks", t, c.dcp.size), fmt::format("{}, as with N = 1", alone->valid_counts[t]),
                 std::to_string(counts[t]));
    }
  }
}

// P2
void check_dense(LawCheck& law) {
  const RemapCase& c = law.problem();
  if (!has_few_ranks(c) || c.topk() == 0 || c.num_tokens() == 0) return;
  const int32_t last = last_position_of(c);
  if (last < 0 || last >= kMostDensePositions) return;
  const int32_t length = last + 1;
  RemapCase all = in_place(c);
  std::vector<int32_t> positions(static_cast<size_t>(length));
  std::iota(positions.begin(), positions.end(), 0);
  all.req_id = {0};
  set_rows(all, {positions}, law.can(SLOTPROOF_CAN_ANY_WIDTH));
  make_slots_local(all, length / c.block_size + 1);
  int64_t sum = 0;
  for (int32_t rank = 0; rank < c.dcp.size; ++rank) {
    const auto outputs = law.run(at_rank(all, rank), rank_text(c, rank));
    if (!outputs) return;
    law.exercise();
    const std::vector<int32_t> local = outputs->kept(0);
    std::vector<int32_t> due(size_t(*spec::local_length({c.dcp.size, rank, c.dcp.interleave}, length)));
    std::iota(due.begin(), due.end(), 0);
    if (local != due) law.report(fmt::format("local positions of 0 ... {} at {}", last, rank_text(c, rank)), short_list(due), short_list(local));
    sum += int64_t(local.size());
  }
  if (sum != length)
    law.report(fmt::format("local lengths of {} positions over all {} ranks", length, c.dcp.size), fmt::format("the sum {}", length), std::to_string(sum));
}

// P3
void check_alignment(LawCheck& law) {
  const RemapCase& c = law.problem();
  const int32_t width = c.dcp.interleave;
  if (!has_few_ranks(c) || !has_valid_table(c) || width < 2 || width > kMostGroupWidth) return;
  RemapCase groups = in_place(c);
  std::vector<std::vector<int32_t>> rows(size_t(c.num_tokens()));
  for (int32_t t = 0; t < c.num_tokens(); ++t) {
    for (int32_t k = 0; k < c.topk() && std::ssize(rows[size_t(t)]) < kMostGroups * width; ++k) {
      const int32_t tok = c.token_indices.at(t, k);
      if (tok < 0 || tok >= num_table_positions(c)) continue;
      for (int32_t i = 0; i < width; ++i) rows[size_t(t)].push_back(tok / width * width + i);
    }
  }
  set_rows(groups, rows, law.can(SLOTPROOF_CAN_ANY_WIDTH));
  std::map<std::pair<int32_t, int32_t>, int> num_keepers;  // of the group that begins at (row, column)
  for (int32_t rank = 0; rank < c.dcp.size; ++rank) {
    const auto outputs = law.run(at_rank(groups, rank), rank_text(c, rank));
    if (!outputs) return;
    for (int32_t t = 0; t < c.num_tokens(); ++t) {
      const bool has_request = c.req_id[size_t(t)] >= 0 && c.req_id[size_t(t)] < c.block_table.rows;
      for (int32_t begin = 0; has_request && begin < std::ssize(rows[size_t(t)]); begin += width) {
        law.exercise();
        const int32_t first = outputs->slots(t, begin);
        num_keepers[{t, begin}] += first >= 0;
        for (int32_t i = 1; i < width; ++i) {
          const int32_t due = first < 0 ? spec::kNone : first + i, got = outputs->slots(t, begin + i);
          if (got == due) continue;
          law.report(fmt::format("position {} of row {} at {}", rows[size_t(t)][size_t(begin + i)], t, rank_text(c, rank)),
                     first < 0 ? "none, as the first of its group" : fmt::format("{}, {} behind the first of its group", due, i), std::to_string(got));
        }
        if (first >= 0 && first % c.block_stride_rows > c.block_size - width) {
          law.report(fmt::format("position {} of row {} at {}", rows[size_t(t)][size_t(begin)], t, rank_text(c, rank)), "a group within one block",
                     fmt::format("slot {}", first));
        }
      }
    }
  }
  for (const auto& [place, num] : num_keepers) {
    if (num != 1)
      law.report(fmt::format("position {} of row {}", rows[size_t(place.first)][size_t(place.second)], place.first), "a group at 1 rank",
                 fmt::format("at {}", num));
  }
}

// P4: the writer fills each rank's cache one position after another.
void check_writer_and_reader(LawCheck& law) {
  const RemapCase& c = law.problem();
  if (!has_few_ranks(c) || !has_valid_table(c) || num_table_positions(c) * c.dcp.size > kMostStored) return;
  for (int32_t row = 0; row < c.block_table.rows; ++row) {
    std::vector<int32_t> blocks;
    for (int32_t column = 0; column < c.block_table.columns; ++column) blocks.push_back(c.block_table.at(row, column));
    std::sort(blocks.begin(), blocks.end());
    if (std::adjacent_find(blocks.begin(), blocks.end()) != blocks.end()) return;
  }
  const int64_t num_stored = num_table_positions(c) * c.dcp.size;
  for (int32_t rank = 0; rank < c.dcp.size; ++rank) {
    const auto outputs = law.run(at_rank(in_place(c), rank), rank_text(c, rank));
    if (!outputs) return;
    for (int32_t t = 0; t < c.num_tokens(); ++t) {
      const int32_t request = c.req_id[size_t(t)];
      std::map<int64_t, int32_t> cache;   // row of the cache -> position
      std::map<int32_t, int64_t> stored;  // the other way round
      if (request >= 0 && request < c.block_table.rows) {
        spec::Writer writer({c.dcp.size, 0, c.dcp.interleave});
        int32_t column = 0, offset = 0;  // where the rank's next position goes
        for (int32_t tok = 0; tok < num_stored; ++tok) {
          if (writer.deal().rank != rank) continue;
          const int64_t row = c.block_table.at(request, column) * c.block_stride_rows + offset;
          cache[row] = tok;
          stored[tok] = row;
          if (++offset == c.block_size) ++column, offset = 0;
        }
      }
      for (int32_t k = 0; k < c.topk(); ++k) {
        const int32_t tok = c.token_indices.at(t, k), got = outputs->slots(t, k);
        const auto place = fmt::format("slots[{}, {}], position {}, at {}", t, k, tok, rank_text(c, rank));
        const auto row = stored.find(tok);
        if (row != stored.end()) law.exercise();
        if (got == spec::kNone) {
          if (row != stored.end()) law.report(place, fmt::format("{}, where the writer put it", row->second), "-1");
          continue;
        }
        const auto held = cache.find(got);
        if (held == cache.end()) law.report(place, "a row that the writer filled, or none", std::to_string(got));
        else if (held->second != tok) law.report(place, fmt::format("a row that holds position {}", tok), fmt::format("{}, which holds {}", got, held->second));
      }
    }
  }
}

// M9
void check_there_and_back(LawCheck& law) {
  const RemapCase& c = law.problem();
  const int64_t num_local = num_table_positions(c);
  if (!has_few_ranks(c) || num_local == 0 || num_local > std::numeric_limits<int32_t>::max()) return;
  RemapCase dealt = in_place(c);
  make_slots_local(dealt, c.block_table.columns);
  // What each entry is to be: the local position that the problem's own position picks, at a rank that goes round.
  const auto share_at = [&](int32_t t, int32_t k) { return spec::Share{(t + k) % c.dcp.size, c.token_indices.at(t, k) % num_local}; };
  std::vector<std::vector<int32_t>> rows(size_t(c.num_tokens()));
  for (int32_t t = 0; t < c.num_tokens(); ++t) {
    for (int32_t k = 0; k < c.topk(); ++k) {
      const int64_t position = c.token_indices.at(t, k) < 0 ? spec::kNone : spec::position_of(c.dcp, share_at(t, k));
      rows[size_t(t)].push_back(position > std::numeric_limits<int32_t>::max() ? spec::kNone : int32_t(position));
    }
  }
  set_rows(dealt, rows, law.can(SLOTPROOF_CAN_ANY_WIDTH));
  for (int32_t rank = 0; rank < c.dcp.size; ++rank) {
    const auto outputs = law.run(at_rank(dealt, rank), rank_text(c, rank));
    if (!outputs) return;
    for (int32_t t = 0; t < c.num_tokens(); ++t) {
      if (c.req_id[size_t(t)] < 0 || c.req_id[size_t(t)] >= dealt.block_table.rows) continue;
      for (int32_t k = 0; k < c.topk(); ++k) {
        const int32_t position = rows[size_t(t)][size_t(k)];
        if (position < 0) continue;
        law.exercise();
        const int32_t due = share_at(t, k).rank == rank ? int32_t(share_at(t, k).local) : spec::kNone;
        if (outputs->slots(t, k) != due)
          law.report(fmt::format("position {} of row {} at {}", position, t, rank_text(c, rank)), std::to_string(due), std::to_string(outputs->slots(t, k)));
      }
    }
  }
}

}  // namespace slotproof::harness
