// R10-R15: what becomes of a row's entries: places, counts, compaction, memory, schedules, empty extents.

#include "property_tests/harness/vectors_parts.h"

#include <numeric>

namespace slotproof::harness {
namespace {

using spec::Order;
using spec::Placement;

const std::vector<int32_t> kHoles = {5, -1, 0, 9, 3, -1, -1, 5};  // 9 is behind the table

void add_places_and_counts(RemapVectors& vectors) {
  vectors.add_row("R10-holes-stay", "without compaction each column keeps its entry", kHoles);
  vectors.add("R10-without-counts", "counts are optional", [](RemapCase& c) {
    c.token_indices = OwnedMatrix::of({kHoles});
    c.counts = false;
  });
  vectors.add_row("R11-duplicates", "the same position counts each time", {5, 5, -1, 5, 0, 0});
  vectors.add("R11-rows-apart", "counts 0, 1, all: each row counts its own", [](RemapCase& c) {
    c.req_id = {0, 0, 0, 1};
    c.token_indices = OwnedMatrix::of({{-1, -1, -1}, {-1, 2, -1}, {7, 0, 2}, {0, 1, 2}});
  });
}

void add_compaction(RemapVectors& vectors) {
  struct Row {
    const char* id;
    std::vector<int32_t> positions;
  };
  for (const Row& row : std::initializer_list<Row>{{"R12-holes", kHoles},
                                                   {"R12-descending", {7, 6, -1, 5, 4, 3, 9, 2, 1, 0}},
                                                   {"R12-nothing", {-1, 8, -1}},
                                                   {"R12-everything", {3, 1, 2, 0}},
                                                   {"R12-last-only", {-1, -1, -1, 6}},
                                                   {"R12-first-only", {6, -1, -1, -1}},
                                                   {"R12-duplicates", {5, -1, 5, 0, -1, 5}},
                                                   {"R12-alternating", {-1, 0, -1, 1, -1, 2, -1, 3}}}) {
    vectors.add(row.id, "one rank compacts as well; the order is the input's, the tail -1", [&](RemapCase& c) {
      c.token_indices = OwnedMatrix::of({row.positions});
      c.placement = Placement::kCompacted;
    });
  }
  vectors.add("R12-without-counts", "compaction does not need counts", [](RemapCase& c) {
    c.token_indices = OwnedMatrix::of({kHoles, {-1, -1, 3, -1, 2, -1, 1, 0}});
    c.req_id = {0, 0};
    c.placement = Placement::kCompacted;
    c.counts = false;
  });
  vectors.add("R12u-any-order", "the same prefix in any order, the tail exact", [](RemapCase& c) {
    c.token_indices = OwnedMatrix::of({kHoles, {-1, -1, 3, -1, 2, -1, 1, 0}});
    c.req_id = {0, 0};
    c.placement = Placement::kCompacted;
    c.order = Order::kUnspecified;
  });
  vectors.add("R12u-in-place", "without compaction there is no order to leave open", [](RemapCase& c) {
    c.token_indices = OwnedMatrix::of({kHoles});
    c.order = Order::kUnspecified;
  });
}

// The positions of every rank, out of order, with holes and positions behind the table: gcd(stride, K) = 1.
std::vector<int32_t> shuffled_positions(int32_t topk, int32_t stride) {
  std::vector<int32_t> row;
  for (int32_t k = 0; k < topk; ++k) row.push_back(k % 5 == 3 ? -1 : k * stride % topk);
  return row;
}

void add_compaction_of_ranks(RemapVectors& vectors) {
  struct Deal {
    int32_t size, interleave, block_size;
    int64_t stride;
    int32_t topk;
  };
  for (const Deal& deal : {Deal{2, 1, 4, 4, 17}, Deal{2, 2, 4, 7, 19}, Deal{3, 2, 4, 9, 29}, Deal{4, 4, 8, 8, 67},
                           Deal{5, 2, 4, 5, 47}, Deal{8, 1, 4, 6, 67}}) {
    int32_t previous = -1;
    for (const int32_t rank : {0, deal.size / 2, deal.size - 1}) {
      if (std::exchange(previous, rank) == rank) continue;
      const std::string id =
          "R12-ranks-" + std::to_string(deal.size) + "-" + std::to_string(deal.interleave) + "-" + std::to_string(rank);
      vectors.add(id, "N, I, rank: inner holes, at least three entries kept in input order", [&](RemapCase& c) {
        c.req_id = {1, 0};
        c.block_table = OwnedMatrix::of({{7, 9}, {4, 2}});
        c.token_indices = OwnedMatrix::of({shuffled_positions(deal.topk, 7), shuffled_positions(deal.topk, 3)});
        c.block_size = deal.block_size;
        c.block_stride_rows = deal.stride;
        c.dcp = {deal.size, rank, deal.interleave};
        c.placement = Placement::kCompacted;
      });
    }
  }
}

// Widths on both sides of a warp, a CTA, a vector and a power of two. Small positions keep the file small.
void add_widths(RemapVectors& vectors) {
  for (const int32_t topk : {1, 2, 3, 31, 32, 33, 63, 65, 127, 129, 257, 512, 1023, 2048, 2051, 2176}) {
    std::vector<int32_t> row;
    for (int32_t k = 0; k < topk; ++k) row.push_back(k % 7 == 3 ? -1 : k * 5 % 11);  // 8, 9, 10 are behind the table
    for (const bool is_compacted : {false, true}) {
      vectors.add("R10-R12-width-" + std::to_string(topk) + (is_compacted ? "-compacted" : "-in-place"), "any width",
                  [&](RemapCase& c) {
                    c.block_table = OwnedMatrix::of({{1, 0}});
                    c.token_indices = OwnedMatrix::of({row});
                    c.placement = is_compacted ? Placement::kCompacted : Placement::kInPlace;
                  });
    }
  }
}

void add_memory(RemapVectors& vectors) {
  const auto set_rows = [](RemapCase& c) {
    c.req_id = {0, 0, 0};
    c.token_indices = OwnedMatrix::of({{5, -1, 0}, {-1, -1, -1}, {3, 8, 7}});
    c.placement = Placement::kCompacted;
  };
  vectors.add("R13-output-gaps", "rows of the output are 5 words apart, 3 wide", [&](RemapCase& c) {
    set_rows(c);
    c.layout.slots_storage_columns = 5;
  });
  vectors.add("R13-input-gaps", "hidden columns of both inputs hold what would pass", [&](RemapCase& c) {
    set_rows(c);
    c.token_indices = OwnedMatrix::of({{5, -1, 0, 1, 2}, {-1, -1, -1, 1, 2}, {3, 8, 7, 1, 2}}, 3);
    c.block_table = OwnedMatrix::of({{7, 9, 1}, {4, 2, 3}}, 2);
  });
  for (const uint8_t words : {uint8_t{1}, uint8_t{2}, uint8_t{3}}) {
    vectors.add("R13-misaligned-" + std::to_string(words), "each tensor starts so many words behind a 16-byte boundary",
                [&](RemapCase& c) {
                  set_rows(c);
                  std::vector<int32_t> row(37);
                  std::iota(row.begin(), row.end(), -20);
                  c.token_indices = OwnedMatrix::of({row, row, row});
                  c.layout.slots_storage_columns = 38;
                  c.layout.misalignment.fill(words);
                });
  }
}

void add_schedules_and_tiles(RemapVectors& vectors) {
  const std::vector<int32_t> row = shuffled_positions(66, 5);
  for (const int32_t tile : {1, 2, 33, 66}) {
    for (const bool is_compacted : {false, true}) {
      vectors.add("R14-tile-" + std::to_string(tile) + (is_compacted ? "-compacted" : "-in-place"), "the tile does not matter",
                  [&](RemapCase& c) {
                    c.token_indices = OwnedMatrix::of({row});
                    c.tile = tile;
                    c.placement = is_compacted ? Placement::kCompacted : Placement::kInPlace;
                  });
    }
  }
  for (const int32_t team_width : {32, 64}) {
    vectors.add("R14-schedule-" + std::to_string(team_width), "nor does the order of threads and CTAs", [&](RemapCase& c) {
      c.req_id = {0, 0, 0};
      c.token_indices = OwnedMatrix::of({row, std::vector<int32_t>(row.rbegin(), row.rend()), row});
      c.placement = Placement::kCompacted;
      c.schedule = {team_width, 0x0123456789abcdefu, 7};
    });
  }
}

void add_empty(RemapVectors& vectors) {
  struct Extents {
    int32_t num_tokens, topk, num_requests, num_columns;
  };
  for (const auto& [num_tokens, topk, num_requests, num_columns] :
       {Extents{0, 4, 1, 2}, Extents{0, 0, 0, 0}, Extents{2, 0, 1, 2}, Extents{2, 3, 1, 0}, Extents{2, 3, 0, 2},
        Extents{2, 3, 0, 0}}) {
    for (const bool is_compacted : {false, true}) {
      const std::string id = "R15-T" + std::to_string(num_tokens) + "-K" + std::to_string(topk) + "-R" +
                             std::to_string(num_requests) + "-B" + std::to_string(num_columns) +
                             (is_compacted ? "-compacted" : "-in-place");
      vectors.add(id, "zero extents", [&](RemapCase& c) {
        c.req_id.assign(size_t(num_tokens), 0);
        c.token_indices = OwnedMatrix::filled(num_tokens, topk, 1);
        c.block_table = OwnedMatrix::filled(num_requests, num_columns, 7);
        c.placement = is_compacted ? Placement::kCompacted : Placement::kInPlace;
      });
    }
  }
  vectors.add("R15-hidden-table", "B = 0, though the storage is wider", [](RemapCase& c) {
    c.block_table = OwnedMatrix::of({{7, 9}}, 0);
  });
  vectors.add("R15-hidden-positions", "K = 0, though the storage is wider", [](RemapCase& c) {
    c.token_indices = OwnedMatrix::of({{0}, {5}}, 0), c.req_id = {0, 0};
  });
  vectors.add("R15-no-prefill-rows", "T = 0 with prefill", [](RemapCase& c) {
    c.req_id.clear();
    c.token_indices = OwnedMatrix::filled(0, 2, 0);
    c.prefill = OwnedPrefill{{}, {100}, 10};
  });
}

}  // namespace

std::vector<Case> make_row_vectors() {
  RemapVectors vectors;
  add_places_and_counts(vectors);
  add_compaction(vectors);
  add_compaction_of_ranks(vectors);
  add_widths(vectors);
  add_memory(vectors);
  add_schedules_and_tiles(vectors);
  add_empty(vectors);
  return vectors.take();
}

}  // namespace slotproof::harness
