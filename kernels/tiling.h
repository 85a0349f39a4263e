#pragma once
// The planner: how many threads own a row, and how many of its columns one pass handles. The result of a remap does not
// depend on either (R14); any K and any explicit tile get a plan.

#include "kernels/register_tile.h"

#include <slotproof/remap.h>

namespace slotproof {

inline constexpr int32_t kTeamWidths[] = {32, 64, 128, 256};

constexpr bool is_team_width(int32_t width) {
  for (const int32_t known : kTeamWidths) {
    if (width == known) return true;
  }
  return false;
}

struct TilePlan {
  int32_t team_width;
  int32_t tile;  // columns of a pass, at least 1; fits the register tile however a pass begins in memory
};

// team_width 0 leaves the choice to the planner; else it must be one of kTeamWidths. The arguments are valid.
TilePlan plan_tiles(const RemapArgs& args, int32_t team_width) noexcept;

}  // namespace slotproof
