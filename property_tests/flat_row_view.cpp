// The flat row view of a paged cache: spec, reference and kernels against each other, and against memory itself.

#include "property_tests/generators.h"
#include "property_tests/harness/flat_row_view_answers.h"
#include "spec/flat_row_view.h"
#include "spec/remap.h"

#include <rapidcheck/gtest.h>
#include <slotproof/flat_row_view.h>

#include <limits>
#include <numeric>
#include <set>

namespace slotproof::harness {
namespace {

using spec::FlatRowViewProblem;
using spec::Rule;

FlatRowViewProblem paged(int64_t num_blocks, int64_t block_size, int64_t head_dim, int64_t block_stride) {
  return {num_blocks, block_size, head_dim, {num_blocks, block_size, head_dim}, {block_stride, head_dim, 1}};
}

using Answer = FlatRowViewAnswer;

Answer kernels_answer(const FlatRowViewProblem& problem) {
  bool is_bad_refusal = false;
  const Answer answer = harness::kernels_answer(problem, is_bad_refusal);
  EXPECT_FALSE(is_bad_refusal) << "a refused call writes nothing, and says why";
  return answer;
}

void expect_all(const FlatRowViewProblem& problem, const Answer& due) {
  EXPECT_EQ(spec_answer(problem), due);
  EXPECT_EQ(reference_answer(problem), due);
  EXPECT_EQ(kernels_answer(problem), due);
}

constexpr int64_t kMaxRows = std::numeric_limits<int32_t>::max();

TEST(FlatRowView, CountsUpToTheLastBlocksContent) {
  expect_all(paged(3, 2, 4, 20), {{}, 12, 5});
  expect_all(paged(3, 2, 4, 8), {{}, 6, 2});
  expect_all(paged(1, 2, 4, 8), {{}, 2, 2});
}
TEST(FlatRowView, IsEmptyForAnEmptyCache) { expect_all(paged(0, 64, 576, 64 * 576), {{}, 0, 64}); }
TEST(FlatRowView, RefusesANegativeExtentFirst) {
  expect_all(paged(-1, 0, 0, 1), {Rule::VA1});
  FlatRowViewProblem problem = paged(1, 2, 4, 8);
  problem.extents[2] = -4;
  expect_all(problem, {Rule::VA1});
}
TEST(FlatRowView, RefusesSizesBelowOne) {
  FlatRowViewProblem problem = paged(1, 2, 4, 8);
  problem.head_dim = 0;
  expect_all(problem, {Rule::VA2});
  problem = paged(1, 2, 4, 8);
  problem.block_size = 0;
  expect_all(problem, {Rule::VA2});
}
TEST(FlatRowView, RefusesACacheThatIsNotDenseInsideABlock) {
  for (const int axis : {1, 2}) {
    FlatRowViewProblem problem = paged(3, 2, 4, 20);
    problem.strides[axis] += 1;
    expect_all(problem, {Rule::VA3});
  }
  FlatRowViewProblem problem = paged(3, 2, 4, 20);
  problem.extents[1] = 3;
  expect_all(problem, {Rule::VA3});
}
TEST(FlatRowView, LeavesStridesOfExtentsOfOneAlone) {
  FlatRowViewProblem problem = paged(3, 1, 1, 5);
  problem.strides[1] = 99;
  problem.strides[2] = 77;
  expect_all(problem, {{}, 11, 5});
}
TEST(FlatRowView, RefusesABlockStrideInsideARow) { expect_all(paged(3, 2, 6, 20), {Rule::VA4}); }
TEST(FlatRowView, RefusesOverlappingBlocksWhereThereIsMoreThanOne) {
  expect_all(paged(2, 2, 4, 4), {Rule::VA5});
  expect_all(paged(1, 2, 4, 4), {{}, 2, 1});
}
TEST(FlatRowView, StopsAtTheLastRepresentableRow) {
  expect_all(paged(2, 1, 1, kMaxRows - 1), {{}, kMaxRows, kMaxRows - 1});
  expect_all(paged(2, 1, 1, kMaxRows), {Rule::VA6});
  expect_all(paged(1, kMaxRows, 1, kMaxRows), {{}, kMaxRows, kMaxRows});
  expect_all(paged(1, kMaxRows + 1, 1, kMaxRows + 1), {Rule::VA6});
  expect_all(paged(std::numeric_limits<int64_t>::max(), 1, 1, std::numeric_limits<int64_t>::max()), {Rule::VA6});
}

rc::Gen<FlatRowViewProblem> caches() {
  return rc::gen::exec([] {
    const auto extent = rc::gen::weightedOneOf<int64_t>({{8, rc::gen::inRange<int64_t>(0, 6)},
                                                         {1, rc::gen::element<int64_t>(-1, kMaxRows, kMaxRows + 1, std::numeric_limits<int64_t>::max(),
                                                                                       std::numeric_limits<int64_t>::min())}});
    const int64_t num_blocks = *extent, block_size = *extent, head_dim = *extent;
    const int64_t rows = *rc::gen::element<int64_t>(0, 1, 2, 3, 5, 100, kMaxRows);
    int64_t stride = 0;
    if (__builtin_mul_overflow(rows, head_dim, &stride)) stride = rows;
    if (*rc::gen::inRange(0, 4) == 0 && stride < std::numeric_limits<int64_t>::max()) ++stride;
    FlatRowViewProblem problem = paged(num_blocks, block_size, head_dim, stride);
    if (*rc::gen::inRange(0, 4) == 0) problem.extents[*rc::gen::inRange(0, 3)] = *extent;
    if (*rc::gen::inRange(0, 4) == 0) problem.strides[*rc::gen::inRange(0, 3)] = *extent;
    return problem;
  });
}

RC_GTEST_PROP(FlatRowView, ReferenceAndKernelsSayWhatTheSpecSays, ()) {
  const FlatRowViewProblem problem = *caches();
  const Answer due = spec_answer(problem);
  RC_ASSERT(reference_answer(problem) == due);
  RC_ASSERT(kernels_answer(problem) == due);
}

// V4 and V5 where they bite: in memory. Each (block, offset) of the cache has a row of its own in the view, at the same address;
// the rows left over are the gaps; and the remap makes slots of the former only.
RC_GTEST_PROP(FlatRowView, EachPlaceHasARowOfItsOwnAtItsAddress, ()) {
  const int64_t num_blocks = *rc::gen::inRange<int64_t>(0, 6), block_size = *rc::gen::inRange<int64_t>(1, 5), head_dim = *rc::gen::inRange<int64_t>(1, 4);
  const int64_t stride_rows = block_size + *rc::gen::inRange<int64_t>(0, 4);
  const FlatRowViewProblem problem = paged(num_blocks, block_size, head_dim, stride_rows * head_dim);
  const auto view = std::get<reference::FlatRowView>(reference::flat_kv_row_view(problem));
  // The cache's storage ends with the last block's content.
  std::vector<float> storage(size_t(num_blocks == 0 ? 0 : (num_blocks - 1) * stride_rows * head_dim + block_size * head_dim));
  std::iota(storage.begin(), storage.end(), 0.0f);
  const auto rows = reference::rows_of(view, storage.data());
  RC_ASSERT(rows.size() == std::ssize(storage));  // not past the last block's content
  std::set<int64_t> taken;
  for (int64_t block = 0; block < num_blocks; ++block) {
    for (int64_t offset = 0; offset < block_size; ++offset) {
      const int64_t row = block * view.block_stride_rows + offset;
      RC_ASSERT(taken.insert(row).second);
      for (int64_t i = 0; i < head_dim; ++i) {
        RC_ASSERT(&rows(row, i) == &storage[size_t(block * problem.strides[0] + offset * problem.strides[1] + i * problem.strides[2])]);
      }
    }
  }
  const std::vector<int64_t> gaps = spec::gap_rows(problem);
  RC_ASSERT(taken.size() + gaps.size() == size_t(view.num_rows));
  for (const int64_t gap : gaps) RC_ASSERT(!taken.contains(gap));
}

}  // namespace
}  // namespace slotproof::harness
