// The staged block table: when the planner picks it, and that rows of every width and all edges of the table come out right.

#include "property_tests/call_cases.h"
#include "property_tests/backends.h"
#include "property_tests/harness/kernel_arguments.h"

#include <functional>
#include <limits>

namespace slotproof::harness {
namespace {

constexpr int32_t kIntMax = std::numeric_limits<int32_t>::max();

RemapCase staged_case(int32_t columns, int32_t topk = 1024) {
  RemapCase c;
  c.req_id = {1, 0, -1};
  c.block_table = OwnedMatrix::filled(2, columns, 0, (columns + 3) / 4 * 4);
  for (int32_t row = 0; row < 2; ++row) {
    for (int32_t column = 0; column < columns; ++column) c.block_table.at(row, column) = column % 11 == 3 ? -column : 3 * column + row;
  }
  c.block_size = 4;
  c.block_stride_rows = 6;
  c.token_indices = OwnedMatrix::filled(3, topk, spec::kNone);
  const int32_t end = columns * c.block_size;
  const int32_t edges[] = {0, end - 1, end, end + 1, end + c.block_size, kIntMax, kIntMax - 1, std::numeric_limits<int32_t>::min(), -2};
  for (int32_t row = 0; row < 3; ++row) {
    for (int32_t k = 0; k < topk; ++k) c.token_indices.at(row, k) = k % 4 == 0 ? edges[(k / 4 + row) % 9] : int32_t(int64_t{k} * 7919 % (end + 9));
  }
  return c;
}

Lookup lookup_of(const RemapCase& c, int32_t team_width = 0, int32_t planned_rows = 0) {
  Frame frame(c, 1);
  const RemapArgs args = remap_args_of(frame.problem());
  EXPECT_TRUE(validate(args).ok()) << validate(args).message();
  return kernel_of(plan_tiles(args, {team_width, planned_rows})).form.lookup;
}

TEST(StagedLookup, IsPickedForWideRowsOfATableThatFitsAndLiesOnBoundaries) {
  EXPECT_EQ(lookup_of(staged_case(9, 1024), 128), Lookup::kStaged);
  EXPECT_EQ(lookup_of(staged_case(9, 1023), 128), Lookup::kGlobal);
  EXPECT_EQ(lookup_of(staged_case(9, 1025)), Lookup::kStaged);
  EXPECT_EQ(lookup_of(staged_case(9, 2049)), Lookup::kStaged);
  EXPECT_EQ(lookup_of(staged_case(9, 2049), 64), Lookup::kGlobal);
  EXPECT_EQ(lookup_of(staged_case(kStagedColumns, 2048)), Lookup::kStaged);
  EXPECT_EQ(lookup_of(staged_case(kStagedColumns + 1, 2048)), Lookup::kGlobal);
  EXPECT_EQ(lookup_of(staged_case(kStagedColumns, 1024)), Lookup::kStaged);
  EXPECT_EQ(lookup_of(staged_case(kStagedColumns - 1, 1023)), Lookup::kGlobal) << "a lookup in more than eight columns";
  const auto changed = [](const std::function<void(RemapCase&)>& change, int32_t planned_rows = 0) {
    RemapCase c = staged_case(9, 2048);
    change(c);
    return lookup_of(c, 0, planned_rows);
  };
  const auto compacted = [](RemapCase& c) { c.placement = spec::Placement::kCompacted; };
  EXPECT_EQ(changed(compacted), Lookup::kGlobal) << "few rows";
  EXPECT_EQ(changed(compacted, 512), Lookup::kStaged);
  EXPECT_EQ(changed([&](RemapCase& c) { c = staged_case(kStagedColumnsCompacted + 1, 2048), compacted(c); }, 512), Lookup::kGlobal);
  EXPECT_EQ(changed([](RemapCase& c) { c.layout.misalignment[size_t(Tensor::kBlockTable)] = 1; }), Lookup::kGlobal);
  EXPECT_EQ(changed([](RemapCase& c) { c.block_table = OwnedMatrix::filled(2, 9, 1); }), Lookup::kGlobal) << "rows 9 words apart";
  EXPECT_EQ(changed([](RemapCase& c) { c.block_table = OwnedMatrix::filled(1, 9, 1); }), Lookup::kStaged) << "one row has no stride";
  EXPECT_EQ(changed([](RemapCase& c) { c.dcp = {2, 0, 1}; }), Lookup::kGlobal) << "few rows";
  EXPECT_EQ(changed([](RemapCase& c) { c.dcp = {2, 0, 1}; }, 1024), Lookup::kStaged);
  const auto with_block_size = [&](int32_t size) { return changed([&](RemapCase& c) { c.block_size = size, c.block_stride_rows = size; }); };
  EXPECT_EQ(with_block_size(kIntMax / 9), Lookup::kStaged);
  EXPECT_EQ(with_block_size(kIntMax / 9 + 1), Lookup::kGlobal) << "no position stands behind the table's last one";
}

class Tables : public BackendTest {};

TEST_P(Tables, OfEveryWidthGiveTheReferencesSlots) {
  for (const int32_t columns : {0, 1, 3, 4, 5, 511, 512, 514, 1023, 1025, kStagedColumnsCompacted - 1, kStagedColumnsCompacted, kStagedColumns}) {
    for (const int32_t topk : {1025, 1024, 2048, 4096, 4100}) {
      RemapCase c = staged_case(columns, topk);
      for (const spec::Placement placement : {spec::Placement::kInPlace, spec::Placement::kCompacted}) {
        c.placement = placement;
        for (const Schedule& schedule : {Schedule{.planned_rows = 1}, Schedule{.planned_rows = 512}, Schedule{.planned_rows = 8192}, Schedule{.team_width = 128}}) {
          c.schedule = schedule;
          EXPECT_EQ(disagreement(backend(), c), "") << columns << " columns, K " << topk << ", planned for " << schedule.planned_rows << " rows";
        }
      }
    }
  }
}

// The largest block that leaves a position behind the table: products of 32 bits come close to their end.
TEST_P(Tables, OfTheLargestBlocksGiveTheReferencesSlots) {
  for (const int32_t columns : {1, 2, 9, kStagedColumnsCompacted, kStagedColumns}) {
    RemapCase c = staged_case(columns, 2048);
    c.block_size = kIntMax / columns;
    c.block_stride_rows = c.block_size;
    for (int32_t k = 0; k < c.topk(); ++k) c.token_indices.at(0, k) = k % 2 == 0 ? kIntMax - k : int32_t(int64_t{k} * c.block_size / 64 % kIntMax);
    ASSERT_EQ(lookup_of(c), Lookup::kStaged);
    EXPECT_EQ(disagreement(backend(), c), "") << columns << " columns";
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, Tables, testing::ValuesIn(kBackends), name_of_parameter);

}  // namespace
}  // namespace slotproof::harness
