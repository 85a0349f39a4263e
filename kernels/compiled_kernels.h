#pragma once
// Which kernels a build has: all of them, but for that of a planted fault, which may ask for the general ones of narrow teams alone.
// They compile in a fraction of the time. For the sources that hold the kernels; the planner knows nothing of it.

#include "kernels/tiling.h"

namespace slotproof {
namespace {

#ifdef SLOTPROOF_MOST_TEAM_WIDTH
constexpr bool is_compiled(const RowKernel& kernel) {
  return is_general(kernel) && kernel.team.width <= SLOTPROOF_MOST_TEAM_WIDTH;
}
PlanOptions compiled_options(const PlanOptions& options) {
  const bool has_width = options.team_width != 0 && options.team_width <= SLOTPROOF_MOST_TEAM_WIDTH;
  return {has_width ? options.team_width : SLOTPROOF_MOST_TEAM_WIDTH, options.planned_rows};
}
#else
constexpr bool is_compiled(const RowKernel&) {
  return true;
}
PlanOptions compiled_options(const PlanOptions& options) {
  return options;
}
#endif

}  // namespace
}  // namespace slotproof
