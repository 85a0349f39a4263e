// The flat row view (V1-V5, VA1-VA6) and local lengths (P2).

#include "property_tests/harness/vectors_parts.h"

#include <algorithm>

namespace slotproof::harness {
namespace {

spec::FlatRowViewProblem cache_of(int64_t num_blocks, int64_t block_size, int64_t head_dim, int64_t block_stride) {
  return {num_blocks, block_size, head_dim, {num_blocks, block_size, head_dim}, {block_stride, head_dim, 1}};
}

class ViewVectors {
 public:
  template <class Change>
  void add(std::string id, std::string note, spec::FlatRowViewProblem problem, Change change) {
    change(problem);
    cases_.push_back(answered(std::move(id), std::move(note), problem));
  }
  void add(std::string id, std::string note, const spec::FlatRowViewProblem& problem) {
    add(std::move(id), std::move(note), problem, [](auto&) {});
  }
  std::vector<Case> take() { return std::move(cases_); }

 private:
  std::vector<Case> cases_;
};

constexpr int64_t kTwo31 = int64_t{1} << 31;

void add_views(ViewVectors& vectors) {
  vectors.add("V1-contiguous", "L = S: no gaps", cache_of(3, 2, 4, 8));
  vectors.add("V1-whole-rows", "L = 5", cache_of(3, 2, 4, 20));
  vectors.add("V2-empty-cache", "no blocks, no rows; not (0 - 1) * L + S", cache_of(0, 2, 4, 20));
  vectors.add("V2-one-block", "the last block ends the view", cache_of(1, 2, 4, 20));
  vectors.add("V2-block-of-one", "S = 1", cache_of(4, 1, 4, 4));
  vectors.add("V2-rows-2^31-1", "(2^31 - 2) * 1 + 1", cache_of(kMax, 1, 8, 8));
  vectors.add("V2-rows-2^31-1-with-gaps", "(2^30 - 1) * 2 + 1: the gap behind the last block does not count",
              cache_of(1 << 30, 1, 8, 16));
  vectors.add("V2-one-block-of-2^31-1", "one block of all rows", cache_of(1, kMax, 1, kMax));
  vectors.add("V3-block-of-one-any-stride", "S = 1: the stride inside a block leads nowhere", cache_of(3, 1, 4, 8),
              [](auto& p) { p.strides[1] = 77; });
  vectors.add("V3-element-of-one-any-stride", "head_dim = 1: the element stride leads nowhere", cache_of(3, 2, 1, 3),
              [](auto& p) { p.strides[2] = 77; });
  vectors.add("V4-one-block-any-stride", "one block overlaps with nothing", cache_of(1, 2, 4, 4));
  vectors.add("V4-touching", "L = S", cache_of(2, 3, 5, 15));
  vectors.add("V5-wide-gaps", "L = 7, S = 2: rows 2-6 and 9-13 belong to others", cache_of(3, 2, 3, 21));
  vectors.add("V5-one-row-gaps", "L = S + 1", cache_of(4, 2, 3, 9));
}

void add_refusals(ViewVectors& vectors) {
  vectors.add("VA1-num-blocks", "negative", cache_of(-1, 2, 4, 20));
  vectors.add("VA1-second-extent", "negative", cache_of(3, 2, 4, 20), [](auto& p) { p.extents[1] = -1; });
  vectors.add("VA1-before-VA2", "a negative extent, and head_dim = 0", cache_of(kMin64, 2, 0, 20));
  vectors.add("VA2-head-dim-0", "rows without elements", cache_of(3, 2, 0, 20));
  vectors.add("VA2-head-dim-negative", "the extents are sound", cache_of(3, 2, 4, 20), [](auto& p) { p.head_dim = -4; });
  vectors.add("VA2-block-size-0", "blocks without tokens", cache_of(3, 0, 4, 20));
  vectors.add("VA2-block-size-negative", "the extents are sound", cache_of(3, 2, 4, 20), [](auto& p) { p.block_size = kMin64; });
  vectors.add("VA2-before-VA3", "S = 0, and the second extent is 2", cache_of(3, 2, 4, 20), [](auto& p) { p.block_size = 0; });
  vectors.add("VA3-second-extent", "3 tokens where S = 2", cache_of(3, 2, 4, 20), [](auto& p) { p.extents[1] = 3; });
  vectors.add("VA3-row-stride", "rows with gaps inside a block", cache_of(3, 2, 4, 20), [](auto& p) { p.strides[1] = 5; });
  vectors.add("VA3-element-stride", "elements 2 apart", cache_of(3, 2, 4, 20), [](auto& p) { p.strides[2] = 2; });
  vectors.add("VA3-before-VA4", "a gap in the block, and split rows", cache_of(3, 2, 4, 21), [](auto& p) { p.strides[1] = 5; });
  vectors.add("VA4-below", "one element short of whole rows", cache_of(3, 2, 6, 17));
  vectors.add("VA4-above", "one element more", cache_of(3, 2, 6, 19));
  vectors.add("VA4-before-VA5", "split rows, and less than a block", cache_of(3, 2, 6, 7));
  vectors.add("VA5-one-row-short", "L = S - 1", cache_of(3, 3, 4, 8));
  vectors.add("VA5-all-blocks-alike", "L = 0: an expanded cache", cache_of(3, 2, 4, 0));
  vectors.add("VA5-before-VA6", "overlap, and too many rows", cache_of(kTwo31, 2, 4, 4));
  vectors.add("VA6-rows-2^31", "2^31 blocks of one row", cache_of(kTwo31, 1, 8, 8));
  vectors.add("VA6-rows-2^31-with-gaps", "(2^30 - 1) * 2 + 2", cache_of(1 << 30, 2, 8, 16));
  vectors.add("VA6-one-block", "one block of 2^31 rows", cache_of(1, kTwo31, 1, kTwo31));
  vectors.add("VA6-product-beyond-int64", "2^40 * 2^40 wraps to 0 in 64 bits",
              cache_of((int64_t{1} << 40) + 1, 1, 1, int64_t{1} << 40));
}

}  // namespace

std::vector<Case> make_view_vectors() {
  ViewVectors vectors;
  add_views(vectors);
  add_refusals(vectors);
  return vectors.take();
}

std::vector<Case> make_local_length_vectors() {
  std::vector<Case> cases;
  struct Deal {
    int32_t size, interleave;
  };
  for (const auto [size, interleave] : {Deal{1, 1}, Deal{2, 1}, Deal{2, 3}, Deal{3, 2}, Deal{5, 4}, Deal{8, 16},
                                        Deal{65536, 32768}, Deal{kMax, 1}, Deal{2, kMax}}) {
    const auto round = int32_t(std::min<int64_t>(int64_t{size} * interleave, kMax));
    int32_t previous = -1;
    for (const int32_t rank : {0, size / 2, size - 1}) {
      if (std::exchange(previous, rank) == rank) continue;
      const std::string id = "P2-ranks-" + std::to_string(size) + "-" + std::to_string(interleave) + "-" + std::to_string(rank);
      LocalLengthProblem problem;
      problem.dcp = {size, rank, interleave};
      const int64_t first = std::min<int64_t>(int64_t{rank} * interleave, kMax - 2);
      for (const int64_t length :
           {int64_t{0}, int64_t{1}, first, first + 1, first + 2, first + interleave, int64_t{round} - 1, int64_t{round},
            int64_t{round} + 1, 10 * int64_t{round} + first, int64_t{kMax} - 1, int64_t{kMax}}) {
        if (length <= kMax) problem.lengths.push_back(int32_t(length));
      }
      cases.push_back(answered(id, "N, I, rank: the ends of the rank's group, of the round, and of int32", std::move(problem)));
    }
  }
  for (const int32_t length : {-1, kMin}) {
    cases.push_back(answered("P2-negative" + std::to_string(length), "a negative length among others is refused",
                             LocalLengthProblem{{4, length, 2}, {2, 1, 1}}));
  }
  cases.push_back(answered("P2-no-lengths", "nothing asked, nothing answered", LocalLengthProblem{{}, {2, 1, 1}}));
  return cases;
}

}  // namespace slotproof::harness
