// The planner, whose every plan must fit the register tile wherever a pass begins in memory, and the seed's tile table.

#include "fuzz/target.h"
#include "kernels/remap_view.h"
#include "kernels/tiling.h"
#include "reference/tiling.h"
#include "spec/tiling.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

namespace slotproof::fuzz {
namespace {

using harness::ByteChoices;

constexpr int32_t kMax = std::numeric_limits<int32_t>::max();

int32_t width_of(ByteChoices& choices) {
  switch (choices.below(8)) {
    case 0: return int32_t(choices.below(64));
    case 1: return int32_t(uint32_t{1} << choices.below(31)) + int32_t(choices.below(3)) - 1;
    case 2: return 128 * int32_t(choices.below(64));
    case 3: return kMax - int32_t(choices.below(3));
    case 4: return int32_t(choices.below(uint32_t{kMax}));
    case 5: return 2048 + int32_t(choices.below(256)) - 128;
    default: return int32_t(choices.below(5000));
  }
}

struct TilingProblem {
  int32_t topk = 0, block_n = 1;
  bool count_valid = false;
  RemapArgs args;
  int32_t team_width = 0;
};

TilingProblem decode_tiling(ByteChoices& choices) {
  TilingProblem problem;
  problem.topk = width_of(choices);
  problem.block_n = choices.below(8) == 7 ? -int32_t(choices.below(2)) : std::max(width_of(choices), 1);
  // The spec counts tiles one by one.
  if (problem.block_n > 0) problem.block_n = std::max(problem.block_n, problem.topk / 1024);
  problem.count_valid = choices.below(2) == 1;
  // Addresses are looked at, nothing behind them: no tensor needs memory.
  const auto address = [&] { return reinterpret_cast<int32_t*>(uintptr_t{0x10000} + 4 * choices.below(4)); };
  RemapArgs& args = problem.args;
  const int32_t rows = 1 + int32_t(choices.below(4));
  args.token_indices = {address(), rows, problem.topk, int64_t{problem.topk} + choices.below(5)};
  args.slots = {address(), rows, problem.topk, int64_t{problem.topk} + choices.below(5)};
  args.req_id = {address(), rows};
  args.block_table = {address(), 1 + int32_t(choices.below(3)), int32_t(choices.below(4096)), 0};
  args.block_table.row_stride = int64_t{args.block_table.columns} + choices.below(5);
  args.block_size = 1 + int32_t(choices.below(256));
  if (choices.below(8) == 7) args.block_size = kMax;
  if (choices.below(2) == 1) {
    args.dcp.size = 1 + int32_t(choices.below(9));
    args.dcp.interleave = choices.below(2) == 0 ? 1 : args.block_size;
  }
  args.block_stride_rows = args.block_size;
  args.placement = choices.below(2) == 0 ? Placement::kInPlace : Placement::kCompacted;
  if (choices.below(3) == 2 && problem.topk > 0) {
    args.tile = std::gcd(problem.topk, 1 + int32_t(choices.below(uint32_t(problem.topk))));
  }
  problem.team_width = choices.below(2) == 0 ? 0 : kTeamWidths[choices.below(uint32_t(std::size(kTeamWidths)))];
  return problem;
}

Outcome check_table(const TilingProblem& problem) {
  const auto due = spec::remap_tiling(problem.topk, problem.block_n, problem.count_valid);
  const auto got = reference::remap_tiling(problem.topk, problem.block_n, problem.count_valid);
  const bool is_same = due.has_value() == got.has_value() && (!due || (due->single_tile == got->single_tile && due->block_n == got->block_n &&
                                                                       due->tiles_per_row == got->tiles_per_row && due->num_warps == got->num_warps));
  if (is_same) return {true, {}, {}};
  return finding_of("seed_tiling", fmt::format("topk {}, block_n {}, count_valid {}", problem.topk, problem.block_n, problem.count_valid));
}

// Whether pass `begin` of the row at `row` fits the register tile.
bool fits(const TilePlan& plan, const int32_t* row, int32_t begin, int32_t topk) {
  const int32_t shift = vector_phase_of(row + begin), size = std::min(plan.tile, topk - begin);
  return shift + size <= tile_capacity(plan.team_width);
}

Outcome check_plan(const TilingProblem& problem) {
  const RemapArgs& args = problem.args;
  const TilePlan plan = plan_tiles(args, problem.team_width);
  const std::string text =
      fmt::format("K {}, tile {}, asked width {}: width {}, tile {}", problem.topk, args.tile.value_or(0), problem.team_width, plan.team_width, plan.tile);
  if (!is_team_width(plan.team_width) || (problem.team_width != 0 && plan.team_width != problem.team_width)) return finding_of("plan_width", text);
  if (plan.tile < 1) return finding_of("plan_tile", text);
  for (int32_t t = 0; t < args.token_indices.rows; ++t) {
    const int32_t* row = args.token_indices.data + t * args.token_indices.row_stride;
    const int32_t num_passes = (problem.topk - 1) / plan.tile + 1;
    for (int32_t pass = 0; problem.topk > 0 && pass < std::min(num_passes, 8); ++pass) {  // alignment repeats after four
      if (!fits(plan, row, pass * plan.tile, problem.topk)) return finding_of("plan_overflow", text + fmt::format(", pass {} of row {}", pass, t));
    }
  }
  if (plan.lookup == Lookup::kStaged) {
    const bool is_sound = can_stage(plan.team_width, dcp_of(args)) && args.block_table.columns <= kStagedColumns &&
                          vector_phase_of(args.block_table.data) == 0 && int64_t{args.block_table.columns} * args.block_size <= kMax;
    if (!is_sound) return finding_of("plan_lookup", text);
  }
  return {true, {}, {}};
}

Outcome run(Input input, Depth) {
  ByteChoices choices(input.data(), input.size());
  const TilingProblem problem = decode_tiling(choices);
  if (const Outcome outcome = check_table(problem); !outcome.finding.empty()) return outcome;
  return check_plan(problem);
}

}  // namespace

const Target kTiling{"tiling", "the planner and the seed's tile table", run, [](ByteChoices& choices) { decode_tiling(choices); }, nullptr, nullptr};

}  // namespace slotproof::fuzz
