#include "kernels/tiling.h"

#include <algorithm>
#include <iterator>

namespace slotproof {
namespace {

// Every row of the indices begins on a 16-byte boundary.
bool has_aligned_rows(const ConstMatrix& indices) {
  return vector_phase_of(indices.data) == 0 && (indices.rows <= 1 || indices.row_stride % kVectorSize == 0);
}

}  // namespace

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
  return {team_width, wanted <= capacity - slack ? wanted : widest};
}

}  // namespace slotproof
