// Rows that lie billions of elements apart: their offsets fit no 32-bit number. Only the pages that are touched take memory.

#include "property_tests/harness/kernel_arguments.h"
#include "spec/remap.h"

#include <gtest/gtest.h>

#include <slotproof/remap.h>

#include <sys/mman.h>

namespace slotproof::harness {
namespace {

constexpr int32_t kRows = 5, kTopk = 512, kColumns = 9;

// Room for rows so far apart, of which nothing is there until it is written.
class FarRows {
 public:
  FarRows(int32_t columns, int64_t stride) : stride_(stride), num_bytes_(size_t((kRows - 1) * stride + columns) * sizeof(int32_t)) {
    memory_ = mmap(nullptr, num_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  }
  ~FarRows() {
    if (is_there()) munmap(memory_, num_bytes_);
  }
  FarRows(const FarRows&) = delete;
  bool is_there() const { return memory_ != MAP_FAILED; }
  int32_t* data() const { return static_cast<int32_t*>(memory_); }
  int32_t& at(int32_t row, int32_t column) const { return data()[row * stride_ + column]; }
  int64_t stride() const { return stride_; }

 private:
  int64_t stride_;
  size_t num_bytes_;
  void* memory_;
};

using Run = Status (*)(const RemapArgs&);

// Every entry against what the spec says of the same problem.
void expect_right(int64_t stride, spec::Placement placement, Run run) {
  const FarRows table(kColumns, stride), indices(kTopk, stride), slots(kTopk, stride);
  if (!table.is_there() || !indices.is_there() || !slots.is_there()) GTEST_SKIP() << "no address space for rows " << stride << " elements apart";
  const int32_t req_id[kRows] = {4, 0, 3, 1, 2};
  for (int32_t row = 0; row < kRows; ++row) {
    for (int32_t column = 0; column < kColumns; ++column) table.at(row, column) = 100 * row + column;
    for (int32_t k = 0; k < kTopk; ++k) indices.at(row, k) = k % 7 == 0 ? -1 : (k * 31 + row) % (kColumns * 16 + 5);
  }
  spec::RemapProblem problem;
  problem.req_id = {req_id, kRows};
  problem.block_table = {table.data(), kRows, kColumns, table.stride()};
  problem.token_indices = {indices.data(), kRows, kTopk, indices.stride()};
  problem.block_size = 16;
  problem.block_stride_rows = 16;
  problem.placement = placement;
  problem.slots = {slots.data(), kRows, kTopk, slots.stride()};
  const spec::ExpectedOutputs expected = spec::expected_outputs(problem);
  const Status status = run(remap_args_of(problem));
  ASSERT_TRUE(status.ok()) << status.message();
  for (int32_t row = 0; row < kRows; ++row) {
    for (int32_t k = 0; k < kTopk; ++k) ASSERT_EQ(slots.at(row, k), expected.slots(row, k)) << "stride " << stride << ", row " << row << ", column " << k;
  }
}

void expect_right_everywhere(Run run) {
  for (const spec::Placement placement : {spec::Placement::kInPlace, spec::Placement::kCompacted}) {
    // The fifth row's offset is beyond 2^31, beyond 2^32; the stride alone is beyond 2^32, on a boundary and off it.
    for (const int64_t stride : {(int64_t{1} << 29) + 4, (int64_t{1} << 30) + 4, (int64_t{1} << 31) + 4, (int64_t{1} << 32) + 4, (int64_t{1} << 32) + 1}) expect_right(stride, placement, run);
  }
}

TEST(FarRows, AreReadAndWrittenWhereTheyLie) {
  expect_right_everywhere([](const RemapArgs& args) { return remap_on_host(args, {}); });
}
TEST(FarRows, AreReadAndWrittenWhereTheyLieByGeneralKernels) {
  expect_right_everywhere([](const RemapArgs& args) { return remap_on_host(args, {.team_width = 64}); });
}
TEST(FarRows, AreReadAndWrittenWhereTheyLieByTheFastHost) {
  expect_right_everywhere([](const RemapArgs& args) { return remap_on_host_fast(args, {}); });
}

}  // namespace
}  // namespace slotproof::harness
