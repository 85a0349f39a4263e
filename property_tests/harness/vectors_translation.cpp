// R1 and R3-R9: from a position to its slot, at the edges.

#include "property_tests/harness/vectors_parts.h"

namespace slotproof::harness {
namespace {

std::string numbered(const char* stem, std::initializer_list<int32_t> numbers) {
  std::string id = stem;
  for (const int32_t number : numbers) id += "-" + std::to_string(number);
  return id;
}

void add_padding(RemapVectors& vectors) {
  vectors.add_row("R1-every-negative", "not only -1 is padding", {-1, 0, -2, -4, kMin, 3, kMin + 1});
  vectors.add_row("R1-row-of-padding", "a row that selects nothing", {-1, -1, kMin});
  vectors.add("R1-block-of-one", "with S = 1 a negative position is a negative column", [](RemapCase& c) {
    c.block_stride_rows = c.block_size = 1;
    c.token_indices = OwnedMatrix::of({{-1, 0, 1, -2, kMin}});
  });
  for (const int32_t rank : {0, 1}) {
    vectors.add(numbered("R1-under-ranks", {rank}), "truncating division and remainder give negatives an owner",
                [=](RemapCase& c) {
                  c.dcp = {2, rank, 2};
                  c.token_indices = OwnedMatrix::of({{-1, -2, -3, -4, -5, -6, kMin, 0, 2}});
                });
  }
}

void add_ownership(RemapVectors& vectors) {
  struct Deal {
    int32_t size, interleave;
  };
  for (const auto [size, interleave] : {Deal{2, 1}, Deal{2, 4}, Deal{3, 2}, Deal{5, 1}, Deal{8, 4}}) {
    const int32_t round = size * interleave;
    for (const int32_t rank : {0, size - 1}) {
      vectors.add(numbered("R3-ranks", {size, interleave, rank}), "N, I, rank: the ends of the rank's groups and of the round",
                  [&](RemapCase& c) {
                    c.dcp = {size, rank, interleave};
                    const int32_t first = rank * interleave;
                    c.token_indices = OwnedMatrix::of(
                        {{first - 1, first, first + interleave - 1, first + interleave, round - 1, round, first + round,
                          first + round + interleave - 1, 3 * round + first, 8 * round - 1, 8 * round + first}});
                  });
    }
    if (size > 2) {
      vectors.add(numbered("R3-middle-rank", {size, interleave}), "N, I: each position of the first two rounds",
                  [&](RemapCase& c) {
                    c.dcp = {size, size / 2, interleave};
                    std::vector<int32_t> row;
                    for (int32_t position = 0; position < 2 * round; ++position) row.push_back(position);
                    c.token_indices = OwnedMatrix::of({row});
                  });
    }
  }
  for (const int32_t rank : {0, 1}) {
    vectors.add(numbered("R3-last-positions", {rank}), "the largest positions have owners, too", [=](RemapCase& c) {
      c.block_stride_rows = c.block_size = 1 << 29;
      c.dcp = {2, rank, 1};
      c.block_table = OwnedMatrix::of({{2, 1}});
      c.token_indices = OwnedMatrix::of({{kMax, kMax - 1, kMax - 2, 0}});
    });
  }
  for (const int32_t rank : {0, 1, kMax - 1}) {
    vectors.add(numbered("R3-largest-size", {rank}), "2^31 - 1 ranks: position 2^31 - 1 is rank 0's second", [=](RemapCase& c) {
      c.dcp = {kMax, rank, 1};
      c.token_indices = OwnedMatrix::of({{0, 1, kMax - 2, kMax - 1, kMax}});
    });
  }
  for (const int32_t rank : {0, 1}) {
    vectors.add(numbered("R3-largest-interleave", {rank}), "I = S = 2^31 - 1", [=](RemapCase& c) {
      c.dcp = {2, rank, kMax};
      c.block_stride_rows = c.block_size = kMax;
      c.block_table = OwnedMatrix::of({{0}});
      c.token_indices = OwnedMatrix::of({{0, kMax - 1, kMax}});
    });
  }
}

void add_local_position(RemapVectors& vectors) {
  vectors.add("R4-one-rank", "with N = 1 the local position is the position, whatever I", [](RemapCase& c) {
    c.dcp.interleave = 2;
    c.token_indices = OwnedMatrix::of({{0, 1, 2, 3, 4, 7, 8}});
  });
  struct Product {
    int32_t size, interleave;
    const char* note;
  };
  for (const auto& [size, interleave, note] :
       {Product{65536, 32768, "N * I = 2^31: no whole round fits into int32, and the product wraps to a negative"},
        Product{65536, 65536, "N * I = 2^32: the product wraps to 0"}, Product{kMax, kMax, "N * I near 2^62"},
        Product{2, (1 << 30) - 1, "N * I = 2^31 - 2: the last two positions begin a second round"}}) {
    for (const int32_t rank : {0, 1}) {
      vectors.add(numbered("R4-product", {size, interleave, rank}), note, [&](RemapCase& c) {
        c.dcp = {size, rank, interleave};
        c.block_stride_rows = c.block_size = interleave;
        c.block_table = OwnedMatrix::of({{1, 0}});
        c.token_indices = OwnedMatrix::of({{0, interleave - 1, interleave, kMax - 1, kMax}});
      });
    }
  }
}

void add_request_row(RemapVectors& vectors) {
  vectors.add("R5-request-bounds", "below, at and above [0, R): the whole row is none", [](RemapCase& c) {
    c.req_id = {-1, 0, 1, 2, 3, kMin, kMax};
    c.block_table = OwnedMatrix::of({{7, 9}, {4, 2}});
    c.token_indices = OwnedMatrix::of({{0, 5}, {0, 5}, {0, 5}, {0, 5}, {0, 5}, {0, 5}, {0, 5}});
  });
  vectors.add("R5-request-repeats", "several rows of one request, in no order", [](RemapCase& c) {
    c.req_id = {2, 0, 2, 1};
    c.block_table = OwnedMatrix::of({{7, 9}, {4, 2}, {0, 5}});
    c.token_indices = OwnedMatrix::of({{1, 6}, {1, 6}, {6, 1}, {-1, 6}});
  });
}

void add_column(RemapVectors& vectors) {
  vectors.add_row("R6-column-equals-width", "B*S - 1 is the last position of the table, B*S the first behind it",
                  {7, 8, 9, 11, 12, kMax - 1, kMax});
  vectors.add("R6-hidden-columns", "the row stride is 4, the width 2: what lies between is not the table", [](RemapCase& c) {
    c.block_table = OwnedMatrix::of({{7, 9, 1, 1}, {4, 2, 3, 3}}, 2);
    c.req_id = {0, 1};
    c.token_indices = OwnedMatrix::of({{7, 8, 12, 16}, {3, 4, 11, 15}});
  });
  vectors.add("R6-next-row", "the column behind the width is the first one of the next row", [](RemapCase& c) {
    c.req_id = {0, 1};
    c.block_table = OwnedMatrix::of({{7, 9}, {4, 2}});
    c.token_indices = OwnedMatrix::of({{7, 8, 12}, {7, 8, 12}});
  });
  vectors.add("R6-width-under-ranks", "the width bounds local positions: 8 of them are positions 0 to 15", [](RemapCase& c) {
    c.dcp = {2, 1, 1};
    c.token_indices = OwnedMatrix::of({{15, 16, 17, 14, 1, kMax}});
  });
  vectors.add("R6-block-of-one", "S = 1: the column is the position", [](RemapCase& c) {
    c.block_stride_rows = c.block_size = 1;
    c.token_indices = OwnedMatrix::of({{0, 1, 2, kMax}});
  });
  vectors.add("R6-largest-block", "S = 2^31 - 1: the last position is in column 1", [](RemapCase& c) {
    c.block_stride_rows = c.block_size = kMax;
    c.block_table = OwnedMatrix::of({{0, 0}});
    c.token_indices = OwnedMatrix::of({{0, kMax - 1, kMax}});
  });
}

void add_physical_block(RemapVectors& vectors) {
  vectors.add("R7-negative-base", "a table entry that is no block", [](RemapCase& c) {
    c.block_table = OwnedMatrix::of({{-1, 0, kMin, -2}});
    c.token_indices = OwnedMatrix::of({{1, 4, 9, 13}});
  });
  vectors.add("R7-foreign-base", "num_blocks = 4: entries 3, 4, 5 and 2^31 - 1", [](RemapCase& c) {
    c.block_table = OwnedMatrix::of({{3, 4, 5, kMax}});
    c.num_blocks = 4;
    c.token_indices = OwnedMatrix::of({{3, 4, 8, 12}});
  });
  for (const int64_t num_blocks : {int64_t{0}, int64_t{1}, int64_t{1} << 31, int64_t{1} << 32, kMax64}) {
    vectors.add("R7-num-blocks-" + std::to_string(num_blocks), "num_blocks is an int64; 0 blocks give no slot",
                [=](RemapCase& c) {
                  c.block_stride_rows = c.block_size = 1;
                  c.block_table = OwnedMatrix::of({{0, 1, kMax}});
                  c.num_blocks = num_blocks;
                  c.token_indices = OwnedMatrix::of({{0, 1, 2}});
                });
  }
}

void add_slot(RemapVectors& vectors) {
  for (const int64_t stride : {5, 64}) {
    vectors.add("R8-stride-" + std::to_string(stride), "L > S: other layers' pages lie between", [=](RemapCase& c) {
      c.block_stride_rows = stride;
      c.token_indices = OwnedMatrix::of({{0, 3, 4, 7, 2}});
    });
  }
  vectors.add("R8-stride-under-ranks", "L counts under context parallelism, too", [](RemapCase& c) {
    c.block_stride_rows = 11;
    c.dcp = {2, 0, 2};
    c.token_indices = OwnedMatrix::of({{0, 1, 4, 5, 8, 9, 12, 13}});
  });
}

void add_slot_bounds(RemapVectors& vectors) {
  struct Bound {
    const char* id;
    int32_t block_size;
    int64_t stride;
    std::vector<int32_t> bases;  // of blocks 0, 1, ...
    const char* note;
  };
  for (const Bound& bound : std::initializer_list<Bound>{
           {"R9-slot-2^31", 64, 64, {33554431, 33554432}, "the last slot is 2^31 - 1, the next one 2^31"},
           {"R9-slot-2^31-in-block",
            4,
            5,
            {429496729},
            "with L = 5 slot 2^31 - 1 is offset 2; offset 3 of the same block is 2^31"},
           {"R9-base-2^31-1", 1, 1, {kMax}, "slot 2^31 - 1 from the largest base"},
           {"R9-base-2^31-1-stride-2", 1, 2, {kMax, 1 << 30, (1 << 30) - 1}, "2^32 - 2 wraps to -2, 2^31 to the smallest int32"},
           {"R9-stride-2^31-1", 2, kMax, {0, 1, 2}, "block 1 has one representable row"},
           {"R9-stride-2^31", 2, int64_t{1} << 31, {0, 1}, "block 0 alone is representable"},
           {"R9-stride-2^32", 2, int64_t{1} << 32, {1, 0, kMax}, "products that wrap to 0 in 32 bits"},
           {"R9-stride-2^34", 2, int64_t{1} << 34, {1 << 30, 0}, "2^30 * 2^34 wraps to 0 in 64 bits"},
           {"R9-stride-2^63-1", 2, kMax64, {1, 2, 3, 0, kMax}, "products that wrap to anything in 64 bits"}}) {
    vectors.add(bound.id, bound.note, [&](RemapCase& c) {
      c.block_size = bound.block_size;
      c.block_stride_rows = bound.stride;
      c.block_table = OwnedMatrix::of({bound.bases});
      std::vector<int32_t> row;
      for (int32_t block = 0; block < int32_t(bound.bases.size()); ++block) {
        row.push_back(block * bound.block_size);
        if (bound.block_size > 3) row.push_back(block * bound.block_size + bound.block_size - 2);
        if (bound.block_size > 1) row.push_back(block * bound.block_size + bound.block_size - 1);
      }
      c.token_indices = OwnedMatrix::of({row});
    });
  }
  vectors.add("R9-none-is-not-kept", "a slot that is not representable is compacted away and not counted", [](RemapCase& c) {
    c.block_stride_rows = c.block_size = 64;
    c.block_table = OwnedMatrix::of({{33554431, 33554432}});
    c.token_indices = OwnedMatrix::of({{64, 63, 127, 0, 65}});
    c.placement = spec::Placement::kCompacted;
  });
}

}  // namespace

std::vector<Case> make_translation_vectors() {
  RemapVectors vectors;
  add_padding(vectors);
  add_ownership(vectors);
  add_local_position(vectors);
  add_request_row(vectors);
  add_column(vectors);
  add_physical_block(vectors);
  add_slot(vectors);
  add_slot_bounds(vectors);
  return vectors.take();
}

}  // namespace slotproof::harness
