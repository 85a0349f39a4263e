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
    case 2: return 512 * int32_t(choices.below(17));
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
  PlanOptions options;
  PlanOptions other_options;  // any numbers
};

// Rows further apart than 32 bits say, or a table wider than what is staged of one.
void stretch(RemapArgs& args, ByteChoices& choices) {
  constexpr int64_t kFar = int64_t{1} << 32;
  switch (choices.below(8)) {
    case 1: args.token_indices.row_stride += kFar; break;
    case 2: args.slots.row_stride += kFar; break;
    case 3: args.block_table.row_stride += kFar; break;
    case 4:
      args.block_table.columns = 2048 * (1 + int32_t(choices.below(8)));
      args.block_table.row_stride = int64_t{args.block_table.columns} + choices.below(5);
      break;
    default: break;
  }
}

TilingProblem decode_tiling(ByteChoices& choices) {
  TilingProblem problem;
  problem.topk = width_of(choices);
  problem.block_n = choices.below(8) == 7 ? -int32_t(choices.below(2)) : std::max(width_of(choices), 1);
  // The spec counts tiles one by one.
  if (problem.block_n > 0) problem.block_n = std::max(problem.block_n, problem.topk / 1024);
  problem.count_valid = choices.below(2) == 1;
  // Addresses are looked at, nothing behind them: no tensor needs memory.
  const auto address = [&] { return reinterpret_cast<int32_t*>(uintptr_t{0x10000} + (choices.below(2) == 0 ? 0 : 4 * choices.below(4))); };
  RemapArgs& args = problem.args;
  const int32_t rows = 1 + int32_t(choices.below(4));
  const auto gap = [&] { return choices.below(2) == 0 ? 0 : int64_t{choices.below(5)}; };
  args.token_indices = {address(), rows, problem.topk, problem.topk + gap()};
  args.slots = {address(), rows, problem.topk, problem.topk + gap()};
  args.req_id = {address(), rows};
  args.block_table = {address(), 1 + int32_t(choices.below(3)), int32_t(choices.below(4096)), 0};
  args.block_table.row_stride = int64_t{args.block_table.columns} + choices.below(5);
  args.block_size = choices.below(2) == 0 ? 64 : 1 + int32_t(choices.below(256));
  if (choices.below(8) == 7) args.block_size = kMax;
  if (choices.below(2) == 1) {
    args.dcp.size = 1 + int32_t(choices.below(9));
    args.dcp.rank = args.dcp.size - 1;
    args.dcp.interleave = choices.below(2) == 0 ? 1 : args.block_size;
  }
  args.block_stride_rows = args.block_size;
  static int32_t counts[4];
  if (choices.below(2) == 1) args.valid_counts = MutableVector{counts, rows};
  if (choices.below(4) == 3) args.prefill_request_id = ConstVector{counts, rows};
  args.placement = choices.below(2) == 0 ? Placement::kInPlace : Placement::kCompacted;
  if (choices.below(3) == 2 && problem.topk > 0) {
    args.tile = std::gcd(problem.topk, 1 + int32_t(choices.below(uint32_t(problem.topk))));
  }
  if (choices.below(2) == 1) problem.options.team_width = kTeamWidths[choices.below(uint32_t(std::size(kTeamWidths)))];
  if (choices.below(2) == 1) problem.options.planned_rows = int32_t(1u << choices.below(14));
  // Last, so that inputs that were kept before these were there mean what they meant.
  if (choices.below(4) == 3) stretch(args, choices);
  if (choices.below(4) == 3) problem.other_options = {int32_t(choices.below(300)) - 10, int32_t(choices.below(3)) - 1};
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

// Whether every pass of the row at `row` fits the register tile.
bool fits(const TilePlan& plan, const int32_t* row, int32_t topk) {
  const int32_t num_passes = topk > 0 ? (topk - 1) / plan.tile + 1 : 0;
  for (int32_t pass = 0; pass < std::min(num_passes, 8); ++pass) {  // alignment repeats after four
    const int32_t begin = pass * plan.tile;
    if (vector_phase_of(row + begin) + std::min(plan.tile, topk - begin) > tile_capacity(kernel_of(plan).team)) return false;
  }
  return true;
}

// Whether every row of a matrix begins on a 16-byte boundary.
template <class Matrix>
bool is_aligned(const Matrix& matrix) {
  bool are_all = true;
  for (int32_t row = 0; row < matrix.rows; ++row) are_all &= vector_phase_of(matrix.data + row * matrix.row_stride) == 0;
  return are_all;
}

template <class Matrix>
bool is_short(const Matrix& matrix) {
  return matrix.rows <= 1 || matrix.row_stride <= int64_t{std::numeric_limits<uint32_t>::max()};
}

bool is_power_of_two(int32_t x) {
  return (x & (x - 1)) == 0;
}

// What a kernel is compiled for must hold of the launch.
std::string wrong_form(const RemapArgs& args, const TilePlan& plan) {
  const RowKernel& kernel = kernel_of(plan);
  const RowForm& form = kernel.form;
  if (form.placement != args.placement || (form.dcp == Dcp::kOn) != (args.dcp.size > 1)) return "plan_form";
  if (form.rows == Rows::kDecode && args.prefill_request_id) return "plan_rows";
  const bool has_powers =
      is_power_of_two(args.block_size) && (form.dcp == Dcp::kOff || (is_power_of_two(args.dcp.size) && is_power_of_two(args.dcp.interleave)));
  if (form.sizes == Sizes::kPowersOfTwo && !has_powers) return "plan_sizes";
  const bool is_full = is_aligned(args.token_indices) && is_aligned(args.slots) && plan.tile == tile_capacity(kernel.team) &&
                       args.token_indices.columns == plan.tile * plan.num_parts;
  if (form.layout == RowLayout::kFull && !is_full) return "plan_layout";
  const bool are_short = is_short(args.token_indices) && is_short(args.slots) && is_short(args.block_table);
  if (form.layout == RowLayout::kFull && !are_short) return "plan_strides";
  const bool may_share = args.placement == Placement::kInPlace && !args.valid_counts && form.layout == RowLayout::kFull;
  if (plan.num_parts < 1 || (plan.num_parts > 1 && !may_share)) return "plan_parts";
  if (form.lookup == Lookup::kStaged) {
    const int32_t most = args.placement == Placement::kCompacted ? kStagedColumnsCompacted : kStagedColumns;
    const bool has_end = form.dcp == Dcp::kOn || int64_t{args.block_table.columns} * args.block_size <= kMax;
    if (args.block_table.columns > most || !is_aligned(args.block_table) || !has_end) return "plan_lookup";
  }
  return {};
}

Outcome check_plan(const TilingProblem& problem) {
  const RemapArgs& args = problem.args;
  const TilePlan plan = plan_tiles(args, problem.options);
  const std::string text = fmt::format("K {}, tile {}, asked width {}, for {} rows: kernel {}, tile {}, parts {}", problem.topk, args.tile.value_or(0),
                                       problem.options.team_width, problem.options.planned_rows, plan.kernel, plan.tile, plan.num_parts);
  if (plan.kernel < 0 || plan.kernel >= kNumRowKernels) return finding_of("plan_kernel", text);
  const RowKernel& kernel = kernel_of(plan);
  if (problem.options.team_width != 0 && (!is_general(kernel) || kernel.team.width != problem.options.team_width)) return finding_of("plan_width", text);
  if (plan.tile < 1) return finding_of("plan_tile", text);
  for (int32_t t = 0; t < args.token_indices.rows; ++t) {
    if (!fits(plan, args.token_indices.data + t * args.token_indices.row_stride, problem.topk)) return finding_of("plan_overflow", text);
  }
  if (const std::string wrong = wrong_form(args, plan); !wrong.empty()) return finding_of(wrong, text);
  return {true, {}, {}};
}

Outcome check_options(const PlanOptions& options) {
  const bool is_known = options.team_width == 0 || std::ranges::count(kTeamWidths, options.team_width) > 0;
  if (check(options).ok() == (is_known && options.planned_rows >= 0)) return {true, {}, {}};
  return finding_of("plan_options", fmt::format("team width {}, {} rows", options.team_width, options.planned_rows));
}

Outcome run(Input input, Depth) {
  ByteChoices choices(input.data(), input.size());
  const TilingProblem problem = decode_tiling(choices);
  if (const Outcome outcome = check_table(problem); !outcome.finding.empty()) return outcome;
  if (const Outcome outcome = check_options(problem.other_options); !outcome.finding.empty()) return outcome;
  return check_plan(problem);
}

}  // namespace

const Target kTiling{"tiling", "the planner and the seed's tile table", run, [](ByteChoices& choices) { decode_tiling(choices); }, nullptr, nullptr};

}  // namespace slotproof::fuzz
