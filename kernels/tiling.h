#pragma once
// The planner: which kernel a launch runs, how many threads own a row, and how many of its columns one pass handles. The result
// of a remap does not depend on any of it (R14); any K and any explicit tile get a plan.

#include "kernels/fast_divisor.h"
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

// Several ranks; kOnPowersOfTwo where S, N and I are such: shifts and masks then take the place of three divisions.
enum class Dcp : uint8_t { kOff, kOn, kOnPowersOfTwo };

Dcp dcp_of(const RemapInputs& args) noexcept;

constexpr Sizes sizes_of(Dcp dcp) {
  return dcp == Dcp::kOnPowersOfTwo ? Sizes::kPowersOfTwo : Sizes::kAny;
}

// Where the entries of a request's row of the block table are looked up: where they are, or in a copy in shared memory.
enum class Lookup : uint8_t { kGlobal, kStaged };

inline constexpr int32_t kStagedColumns = 2048;  // of the widest row that is staged

// Whether a team of so many threads has a kernel that stages. A rank looks up only its own share of the positions, and a narrow
// team's rows have few: that would not pay for the copy (bench/results/nvidia-h200.json).
constexpr bool can_stage(int32_t team_width, Dcp dcp) {
  return team_width >= 128 && dcp == Dcp::kOff;
}

struct TilePlan {
  int32_t team_width;
  int32_t tile;  // columns of a pass, at least 1; fits the register tile however a pass begins in memory
  Lookup lookup;
};

// team_width 0 leaves the choice to the planner; else it must be one of kTeamWidths. The arguments are valid.
TilePlan plan_tiles(const RemapArgs& args, int32_t team_width) noexcept;

}  // namespace slotproof
