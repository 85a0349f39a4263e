#pragma once
// Which kernels a build has: all of them, but for that of a planted fault (SLOTPROOF_FEW_KERNELS), which has one of each kind, on the
// narrowest team that has it: no line of the bodies is missing, and they compile in a fraction of the time. For the sources that
// hold the kernels; the planner knows nothing of it.

#include "kernels/tiling.h"

namespace slotproof {
namespace {

#ifdef SLOTPROOF_FEW_KERNELS
constexpr int32_t kGeneralWidth = 64;  // two warps are the least that shows what goes wrong between warps
constexpr bool is_compiled(const RowKernel& kernel) {
  const bool is_in_place = kernel.form.placement == Placement::kInPlace;
  if (is_general(kernel)) return kernel.team.width == (kernel.form.lookup == Lookup::kStaged ? 128 : kGeneralWidth);
  if (kernel.form.lookup == Lookup::kGlobal) return kernel.team == (is_in_place ? TeamShape{128, 1} : TeamShape{64, 2});
  return kernel.form.dcp == Dcp::kOff && kernel.team == (is_in_place ? TeamShape{256, 1} : TeamShape{256, 2});
}
TilePlan compiled_plan(const RemapArgs& args, const PlanOptions& options) {
  const TilePlan plan = plan_tiles(args, options);
  return is_compiled(kernel_of(plan)) ? plan : plan_general(args, kGeneralWidth, args.token_indices.rows);
}
#else
constexpr bool is_compiled(const RowKernel&) {
  return true;
}
TilePlan compiled_plan(const RemapArgs& args, const PlanOptions& options) {
  return plan_tiles(args, options);
}
#endif

}  // namespace
}  // namespace slotproof
