#include "kernels/tiling.h"

#include <algorithm>
#include <bit>
#include <iterator>

namespace slotproof {
namespace {

// Fewer positions a row than this do not pay for a copy of the table's row (bench/results/nvidia-h200.json).
constexpr int32_t kLeastStagedTopk = 1024;

// Every row begins on a 16-byte boundary.
bool has_aligned_rows(const ConstMatrix& matrix) {
  return vector_phase_of(matrix.data) == 0 && (matrix.rows <= 1 || matrix.row_stride % kVectorSize == 0);
}

bool is_power_of_two(int32_t x) {
  return std::has_single_bit(static_cast<uint32_t>(x));
}

Lookup lookup_of(const RemapArgs& args, int32_t team_width) {
  const ConstMatrix& table = args.block_table;
  // The position behind the table's last one stands for all that have no column, so it must be one.
  const bool has_end = int64_t{table.columns} * args.block_size <= INT32_MAX;
  const bool is_staged = can_stage(team_width, dcp_of(args)) && args.token_indices.columns >= kLeastStagedTopk && table.columns <= kStagedColumns &&
                         has_aligned_rows(table) && has_end;
  return is_staged ? Lookup::kStaged : Lookup::kGlobal;
}

}  // namespace

Dcp dcp_of(const RemapInputs& args) noexcept {
  if (args.dcp.size <= 1) return Dcp::kOff;
  const bool has_powers = is_power_of_two(args.block_size) && is_power_of_two(args.dcp.size) && is_power_of_two(args.dcp.interleave);
  return has_powers ? Dcp::kOnPowersOfTwo : Dcp::kOn;
}

TilePlan plan_tiles(const RemapArgs& args, int32_t team_width) noexcept {
  const int32_t topk = args.token_indices.columns;
  const int32_t wanted = std::max(args.tile ? std::min(*args.tile, topk) : topk, 1);  // columns of a pass
  const bool one_pass = wanted >= topk;
  // A pass that begins off a boundary lies up to three places further back in the register tile.
  const bool is_aligned = has_aligned_rows(args.token_indices) && (one_pass || wanted % kVectorSize == 0);
  const int32_t slack = is_aligned ? 0 : kVectorSize - 1;
  if (team_width == 0) {
    team_width = *std::prev(std::end(kTeamWidths));
    for (const int32_t width : kTeamWidths) {
      if (wanted <= tile_capacity(width) - slack) {
        team_width = width;
        break;
      }
    }
  }
  const int32_t capacity = tile_capacity(team_width);
  // Passes of whole vectors keep the alignment that the row has, also where a wide row or a wide tile is split.
  const int32_t widest = is_aligned ? capacity : capacity - kVectorSize;
  return {team_width, wanted <= capacity - slack ? wanted : widest, lookup_of(args, team_width)};
}

}  // namespace slotproof
