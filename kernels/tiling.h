#pragma once
// The planner: which kernel a launch runs, how many of a row's columns one pass handles, and how many teams share a row. The
// result of a remap does not depend on any of it (R14); any K and any explicit tile get a plan.

#include "kernels/row_kernels.h"

namespace slotproof {

// What a caller may ask of the planner.
struct PlanOptions {
  int32_t team_width = 0;    // one of kTeamWidths: the general kernels of that width; 0: what is fastest
  int32_t planned_rows = 0;  // plans as if the launch had so many rows; 0: as many as it has
};
Status check(const PlanOptions& options) noexcept;  // kNotSupported, with the value that no plan fits

struct TilePlan {
  int32_t kernel;     // of kRowKernels
  int32_t tile;       // columns of a pass, at least 1; fits the register tile however a pass begins in memory
  int32_t num_parts;  // teams that share a row; more than 1 in place without counts alone, where each then has one pass
};

constexpr const RowKernel& kernel_of(const TilePlan& plan) {
  return kRowKernels[static_cast<std::size_t>(plan.kernel)];
}

// The arguments are valid.
TilePlan plan_tiles(const RemapArgs& args, const PlanOptions& options) noexcept;

// A plan of the general kernels, whatever would be faster. team_width 0 takes the narrowest team that holds a pass, or for many
// rows one that they fill better.
TilePlan plan_general(const RemapArgs& args, int32_t team_width, int32_t rows) noexcept;

}  // namespace slotproof
