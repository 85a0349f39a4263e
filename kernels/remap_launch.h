#pragma once
// What tests and bench need of a launch and the public interface does not offer.

#include "kernels/tiling.h"

namespace slotproof {

// launch_remap() with a say in the plan. The result does not depend on it (R14). Errors: those of launch_remap(), and kNotSupported
// for a team_width that is neither 0 nor of kTeamWidths or for negative planned_rows.
Status launch_remap_planned(const RemapArgs& args, const PlanOptions& options, CUstream_st* stream) noexcept;

// The same with the plan itself, which must be one that fits the arguments. They are not validated.
Status launch_plan(const RemapArgs& args, const TilePlan& plan, CUstream_st* stream) noexcept;

}  // namespace slotproof
