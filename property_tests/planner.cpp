// What the planner picks, at which numbers of rows. Results never depend on it (R14: tiling_invariance, kernel_paths.cpp, independence.cpp);
// speed does. The thresholds come from bench/results/nvidia-h200-kernels.json, and whoever moves one sees here what else moves.

#include "kernels/tiling.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>

namespace slotproof {
namespace {

alignas(16) int32_t memory[4];  // The planner looks at addresses, never at what lies there.

// Rows of 2048 positions, requests with 512 blocks of 64: as they are served.
RemapArgs call(int32_t topk, int32_t rows) {
  RemapArgs args;
  args.req_id = {memory, rows};
  args.block_table = {memory, 16, 512, 512};
  args.token_indices = {memory, rows, topk, topk};
  args.block_size = 64;
  args.block_stride_rows = 64;
  args.slots = {memory, rows, topk, topk};
  return args;
}

using Change = std::function<void(RemapArgs&)>;
void nothing(RemapArgs&) {}
void counts(RemapArgs& args) { args.valid_counts = {memory, args.slots.rows}; }
void compacted(RemapArgs& args) { args.placement = Placement::kCompacted; }
void two_ranks(RemapArgs& args) { args.dcp = {2, 1, 1}; }

std::string text_of(const TilePlan& plan) {
  const RowKernel& kernel = kernel_of(plan);
  return fmt::format("{}{}x{}{}{}", is_general(kernel) ? "general " : "", kernel.team.width, kernel.team.vectors_per_thread,
                     kernel.form.lookup == Lookup::kStaged ? " staged" : "", plan.num_parts > 1 ? fmt::format(" {} parts", plan.num_parts) : "");
}
std::string plan_of(int32_t topk, int32_t rows, const Change& change = nothing) {
  RemapArgs args = call(topk, rows);
  change(args);
  return text_of(plan_tiles(args, {}));
}

// "1: 128x1 4 parts; 9: 256x1": the plan from one row on, from 9 on.
std::string plans(int32_t topk, const Change& change = nothing) {
  std::string text, last;
  for (int32_t rows = 1; rows <= 10000; ++rows) {
    const std::string plan = plan_of(topk, rows, change);
    if (plan != last) text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", rows, plan);
    last = plan;
  }
  return text;
}

TEST(Planner, DealsFewRowsInPlaceOutOverSeveralTeams) {
  EXPECT_EQ(plans(512), "1: 128x1");
  EXPECT_EQ(plans(1024), "1: 128x1 2 parts; 65: 256x1; 512: 256x1 staged");
  EXPECT_EQ(plans(2048), "1: 128x1 4 parts; 9: 256x1 2 parts; 65: 256x2; 256: 256x2 staged");
  EXPECT_EQ(plans(4096), "1: 128x1 8 parts; 9: 256x1 4 parts; 65: 256x2 2 parts; 257: 256x4 staged");
  EXPECT_EQ(plans(8192), "1: 128x1 16 parts; 9: 256x1 8 parts; 65: 256x2 4 parts; 257: 256x4 2 parts");
  EXPECT_EQ(plans(1536), "1: 128x1 3 parts; 9: general 128x4 staged");
}

TEST(Planner, GivesARowThatIsCountedOneTeam) {
  EXPECT_EQ(plans(512, counts), "1: 128x1");
  EXPECT_EQ(plans(1024, counts), "1: 256x1 staged; 65: 256x1; 512: 256x1 staged");
  EXPECT_EQ(plans(2048, counts), "1: 256x2 staged; 65: 256x2; 256: 256x2 staged");
  EXPECT_EQ(plans(4096, counts), "1: 256x4 staged");
  EXPECT_EQ(plans(8192, counts), "1: general 256x4 staged");
}

TEST(Planner, CompactsManyRowsWithFewerThreads) {
  EXPECT_EQ(plans(512, compacted), "1: 64x2");
  EXPECT_EQ(plans(1024, compacted), "1: 128x2");
  EXPECT_EQ(plans(2048, compacted), "1: 256x2; 512: 256x2 staged; 4096: 128x4 staged");
  EXPECT_EQ(plans(4096, compacted), "1: 256x4 staged");
}

TEST(Planner, StagesForARankFromMoreRowsOn) {
  EXPECT_EQ(plans(512, two_ranks), "1: 128x1");
  EXPECT_EQ(plans(1024, two_ranks), "1: 256x1; 1024: 256x1 staged");
  EXPECT_EQ(plans(2048, two_ranks), "1: 256x2; 1024: 256x2 staged");
  EXPECT_EQ(plans(2048, [](RemapArgs& args) { two_ranks(args), compacted(args); }), "1: 256x2; 1024: 256x2 staged; 4096: 128x4 staged");
}

TEST(Planner, TakesTheNarrowestGeneralTeamThatHoldsARow) {
  EXPECT_EQ(plans(0), "1: general 32x4");
  EXPECT_EQ(plans(511), "1: general 32x4; 2: general 64x4");
  EXPECT_EQ(plans(513), "1: general 64x4");
  EXPECT_EQ(plans(768), "1: general 64x4");
  EXPECT_EQ(plans(1025), "1: general 128x4 staged; 2048: general 64x4");
  EXPECT_EQ(plans(2051), "1: general 256x4 staged; 2048: general 64x4");
  EXPECT_EQ(plans(4097), "1: general 256x4 staged");
}

TEST(Planner, TakesTunedKernelsForDecodeRowsOnBoundariesAlone) {
  const auto plan = [](const Change& change) { return plan_of(2048, 128, change); };
  const std::string tuned = "256x2", general = "general 128x4 staged";
  EXPECT_EQ(plan(nothing), tuned);
  EXPECT_EQ(plan([](RemapArgs& a) { a.tile = 2048; }), general);
  EXPECT_EQ(plan([](RemapArgs& a) { a.prefill_request_id = a.req_id, a.workspace_starts = {memory, 1}; }), general);
  const std::string off_boundary = "general 256x4 staged";  // up to three more columns
  EXPECT_EQ(plan([](RemapArgs& a) { a.token_indices.data = memory + 1; }), off_boundary);
  EXPECT_EQ(plan([](RemapArgs& a) { a.token_indices.row_stride = 2049; }), off_boundary);
  EXPECT_EQ(plan([](RemapArgs& a) { a.slots.data = memory + 2; }), general);
  EXPECT_EQ(plan([](RemapArgs& a) { a.slots.row_stride = 2051; }), general);
  EXPECT_EQ(plan([](RemapArgs& a) { a.token_indices.row_stride = 4096, a.slots.row_stride = 2052; }), tuned);
  EXPECT_EQ(plan([](RemapArgs& a) { a.block_size = 48; }), general);
  EXPECT_EQ(plan([](RemapArgs& a) { a.dcp.interleave = 3, a.block_size = 64; }), tuned) << "with one rank the interleave does not matter";
}

TEST(Planner, TakesOneRowForAlignedWhateverItsStride) {
  const auto plan = [](const Change& change) { return plan_of(2048, 1, change); };
  EXPECT_EQ(plan([](RemapArgs& a) { a.token_indices.row_stride = 2049, a.slots.row_stride = 1; }), "128x1 4 parts");
  EXPECT_EQ(plan([](RemapArgs& a) { a.token_indices.row_stride = int64_t{1} << 40; }), "128x1 4 parts");
}

// A tuned kernel multiplies 32-bit numbers.
TEST(Planner, LeavesRowsThatLieTooFarApartToGeneralKernels) {
  const int64_t most = int64_t{UINT32_MAX} - 3;  // the largest multiple of four
  const auto plan = [](int32_t rows, const Change& change) { return plan_of(2048, rows, change); };
  EXPECT_EQ(plan(2, [=](RemapArgs& a) { a.token_indices.row_stride = a.slots.row_stride = a.block_table.row_stride = most; }), "128x1 4 parts");
  EXPECT_EQ(plan(2, [=](RemapArgs& a) { a.token_indices.row_stride = most + 4; }), "general 128x4 staged");
  EXPECT_EQ(plan(2, [=](RemapArgs& a) { a.slots.row_stride = most + 4; }), "general 128x4 staged");
  EXPECT_EQ(plan(2, [=](RemapArgs& a) { a.block_table.row_stride = most + 4; }), "general 128x4 staged");
  EXPECT_EQ(plan(2, [=](RemapArgs& a) { a.block_table.row_stride = most + 3; }), "128x1 4 parts") << "it is not staged, so its rows may begin anywhere";
}

TEST(Planner, ShiftsWhereEverySizeIsAPowerOfTwo) {
  const auto sizes = [](int32_t block_size, RankOwnership dcp) {
    RemapArgs args = call(2048, 128);
    args.block_size = block_size;
    args.dcp = dcp;
    return kernel_of(plan_tiles(args, {})).form.sizes;
  };
  EXPECT_EQ(sizes(64, {1, 0, 1}), Sizes::kPowersOfTwo);
  EXPECT_EQ(sizes(64, {2, 0, 16}), Sizes::kPowersOfTwo);
  EXPECT_EQ(sizes(64, {3, 0, 16}), Sizes::kAny);
  EXPECT_EQ(sizes(48, {2, 0, 16}), Sizes::kAny);
  EXPECT_EQ(sizes(48, {2, 0, 3}), Sizes::kAny);
  EXPECT_EQ(sizes(64, {8, 0, 64}), Sizes::kPowersOfTwo);
}

TEST(Planner, SplitsATileThatIsWiderThanTheTeam) {
  RemapArgs args = call(4096, 4);
  const auto tile = [&](int32_t team_width, std::optional<int32_t> asked, int32_t off = 0) {
    args.tile = asked;
    args.token_indices.data = memory + off;
    return plan_tiles(args, {team_width, 0}).tile;
  };
  EXPECT_EQ(tile(32, std::nullopt), 512);
  EXPECT_EQ(tile(64, 2048), 1024);
  EXPECT_EQ(tile(64, 1024), 1024);
  EXPECT_EQ(tile(64, 1), 1);
  EXPECT_EQ(tile(64, 1024, 1), 1020) << "off a boundary a pass begins up to three places later";
  EXPECT_EQ(tile(256, std::nullopt, 1), 4092);
  EXPECT_EQ(tile(256, 2048, 1), 2048);
  args = call(1026, 4);
  EXPECT_EQ(tile(256, 513), 513);
  EXPECT_EQ(tile(32, 513), 508) << "passes of 513 columns begin off boundaries, whatever the row does";
}

TEST(Planner, SaysWhichOptionsItDoesNotKnow) {
  for (const int32_t width : {0, 32, 64, 128, 256}) EXPECT_TRUE(check(PlanOptions{width, 7}).ok()) << width;
  for (const int32_t width : {-32, 1, 31, 33, 512}) {
    const Status status = check(PlanOptions{width, 0});
    EXPECT_EQ(status.code(), StatusCode::kNotSupported) << width;
    EXPECT_NE(std::string(status.message()).find(fmt::format("team_width is {};", width)), std::string::npos) << status.message();
  }
  const Status status = check(PlanOptions{0, -1});
  EXPECT_EQ(status.code(), StatusCode::kNotSupported);
  EXPECT_NE(std::string(status.message()).find("planned_rows is -1;"), std::string::npos) << status.message();
}

// More rows and columns than any product of 32 bits holds.
TEST(Planner, HasAPlanForTheWidestRow) {
  RemapArgs args = call(INT32_MAX, 4096);
  const TilePlan plan = plan_tiles(args, {});
  EXPECT_EQ(kernel_of(plan).team.width, 256);
  EXPECT_EQ(plan.tile, 4092) << "rows of an odd width begin off boundaries";
  args = call(0, 1);
  EXPECT_EQ(plan_tiles(args, {}).tile, 1) << "a loop over no columns still needs a step";
  args = call(2048, 2048);
  args.block_table.columns = 16384;
  EXPECT_EQ(text_of(plan_tiles(args, {})), "256x2") << "a table of eight columns a lookup pays, but does not fit";
  args.block_table.columns = 8192, args.block_table.row_stride = 8192;
  EXPECT_EQ(text_of(plan_tiles(args, {})), "256x2 staged");
  args = call(1024, 2048);
  args.block_table.columns = 8192, args.block_table.row_stride = 8192;
  EXPECT_EQ(text_of(plan_tiles(args, {})), "256x1 staged") << "eight columns a lookup";
  args.dcp = {2, 0, 1};
  EXPECT_EQ(text_of(plan_tiles(args, {})), "256x1") << "two ranks look up half as much each";
  args.block_table.columns = 4096;
  EXPECT_EQ(text_of(plan_tiles(args, {})), "256x1 staged");
  args.block_table.columns = 4097;
  EXPECT_EQ(text_of(plan_tiles(args, {})), "256x1");
  args.dcp = {INT32_MAX, 0, 1};
  EXPECT_EQ(text_of(plan_tiles(args, {})), "256x1");
}

// Every column of a row is in some pass of some team, whatever is picked.
TEST(Planner, LosesNoColumn) {
  const auto expect_whole = [](const RemapArgs& args) {
    const int32_t topk = args.token_indices.columns;
    const TilePlan plan = plan_tiles(args, {});
    const int32_t capacity = tile_capacity(kernel_of(plan).team);
    ASSERT_LE(plan.tile, capacity) << topk;
    if (is_general(kernel_of(plan))) {
      ASSERT_EQ(plan.num_parts, 1) << topk;
    } else {
      ASSERT_EQ(int64_t{plan.num_parts} * capacity, topk) << topk << " columns, " << args.slots.rows << " rows: " << text_of(plan);
    }
  };
  for (int32_t topk = 0; topk <= 20000; topk += topk < 64 ? 1 : 64) {
    for (const int32_t rows : {1, 8, 9, 64, 65, 256, 257, 512, 1024, 4096}) {
      for (const Change& change : {Change(nothing), Change(counts), Change(compacted), Change(two_ranks)}) {
        RemapArgs args = call(topk, rows);
        change(args);
        expect_whole(args);
      }
    }
  }
}

TEST(Planner, TakesATeamThatHoldsTheShiftToo) {
  const auto plan = [](int32_t topk, int32_t rows = 4) { return plan_of(topk, rows, [](RemapArgs& a) { a.token_indices.data = memory + 1; }); };
  EXPECT_EQ(plan(509), "general 32x4");
  EXPECT_EQ(plan(510), "general 64x4");
  EXPECT_EQ(plan_of(512, 4, [](RemapArgs& a) { a.tile = 512; }), "general 32x4");
}

// Half of a wide team without work, in every kind of row count.
TEST(Planner, TakesANarrowTeamForManyRowsThatDoNotFillAWideOne) {
  EXPECT_EQ(plan_of(1535, 2048), "general 64x4");
  EXPECT_EQ(plan_of(1536 + 512, 2048, [](RemapArgs& a) { a.tile = 2048; }), "general 128x4 staged");
  EXPECT_EQ(plan_of(3071, 2048), "general 64x4");
  EXPECT_EQ(plan_of(3073, 2048), "general 256x4 staged");
}

TEST(Planner, PlansForTheRowsThatItIsTold) {
  const RemapArgs args = call(2048, 3);
  EXPECT_EQ(text_of(plan_tiles(args, {0, 8192})), "256x2 staged");
  EXPECT_EQ(text_of(plan_tiles(args, {0, 0})), "128x1 4 parts");
  EXPECT_EQ(text_of(plan_tiles(args, {0, 1})), "128x1 4 parts");
  EXPECT_EQ(text_of(plan_tiles(call(2048, 8192), {0, 1})), "128x1 4 parts");
  EXPECT_EQ(text_of(plan_tiles(args, {32, 8192})), "general 32x4");
}

}  // namespace
}  // namespace slotproof
