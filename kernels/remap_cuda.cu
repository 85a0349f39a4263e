// The kernel body on the GPU: one CTA a row.

#include "kernels/remap.h"
#include "kernels/remap_launch.h"
#include "kernels/team/device_team.cuh"

#include <cuda_runtime_api.h>

namespace slotproof {
namespace {

// Asking for no more than 1024 threads a multiprocessor leaves each 64 registers, room for all of a tile's lookups in flight.
// Left alone (0), ptxas aims at more warps and waits for the first lookups before it issues the last. A CTA of one warp gets
// its registers unasked, and 32 such CTAs are more than some devices hold.
// Staged lookups wait for shared memory alone, and 40 registers hold them: 1536 threads hide the loads and the copies better
// (bench/results/nvidia-h200.json).
constexpr int min_ctas_of(int width, Lookup lookup) {
  if (lookup == Lookup::kStaged) return 1536 / width;
  return width == kWarpSize ? 0 : 1024 / width;
}

template <int Width, Placement kPlacement, Dcp kDcp, Lookup kLookup>
__global__ void __launch_bounds__(Width, min_ctas_of(Width, kLookup)) remap_kernel(const __grid_constant__ RemapView view) {
  CtaTeam<Width> team;
  remap_row<kPlacement, kDcp, kLookup>(team, view);
}

using Kernel = void (*)(RemapView);

template <int Width, Placement kPlacement>
Kernel kernel_of(Dcp dcp, [[maybe_unused]] Lookup lookup) {
  if constexpr (can_stage(Width, Dcp::kOff)) {
    if (lookup == Lookup::kStaged) return remap_kernel<Width, kPlacement, Dcp::kOff, Lookup::kStaged>;
  }
  switch (dcp) {
    case Dcp::kOn: return remap_kernel<Width, kPlacement, Dcp::kOn, Lookup::kGlobal>;
    case Dcp::kOnPowersOfTwo: return remap_kernel<Width, kPlacement, Dcp::kOnPowersOfTwo, Lookup::kGlobal>;
    default: return remap_kernel<Width, kPlacement, Dcp::kOff, Lookup::kGlobal>;
  }
}

template <int Width>
Kernel kernel_of(Placement placement, Dcp dcp, Lookup lookup) {
  if (placement == Placement::kInPlace) return kernel_of<Width, Placement::kInPlace>(dcp, lookup);
  return kernel_of<Width, Placement::kCompacted>(dcp, lookup);
}

#ifdef SLOTPROOF_ONLY_TEAM_WIDTH  // A planted fault's build: a sanitizer sees the fault at one width, in a quarter of the time.
int32_t compiled_width_of(int32_t) { return SLOTPROOF_ONLY_TEAM_WIDTH; }
Kernel kernel_of(const TilePlan& plan, Placement placement, Dcp dcp) {
  return kernel_of<SLOTPROOF_ONLY_TEAM_WIDTH>(placement, dcp, plan.lookup);
}
#else
int32_t compiled_width_of(int32_t width) { return width; }
Kernel kernel_of(const TilePlan& plan, Placement placement, Dcp dcp) {
  switch (plan.team_width) {
    case 32: return kernel_of<32>(placement, dcp, plan.lookup);
    case 64: return kernel_of<64>(placement, dcp, plan.lookup);
    case 128: return kernel_of<128>(placement, dcp, plan.lookup);
    default: return kernel_of<256>(placement, dcp, plan.lookup);
  }
}
#endif

}  // namespace

Status launch_remap(const RemapArgs& args, CUstream_st* stream) noexcept { return launch_remap_with_width(args, 0, stream); }

Status launch_remap_with_width(const RemapArgs& args, int32_t team_width, CUstream_st* stream) noexcept {
  if (const Status status = validate(args); !status.ok()) return status;
  if (team_width != 0 && !is_team_width(team_width)) {
    return Status::make(StatusCode::kNotSupported, "a launch of team_width %d; 0, 32, 64, 128 and 256 are known", team_width);
  }
  if (writes_nothing(args)) return {};
  const TilePlan plan = plan_tiles(args, compiled_width_of(team_width));
  RemapView view = make_view(args, plan);
  void* parameters[] = {&view};
  // The launch's own result: cudaGetLastError() would take away an earlier error that belongs to somebody else.
  const cudaError_t error = cudaLaunchKernel(kernel_of(plan, args.placement, dcp_of(args)),
                                             dim3(static_cast<uint32_t>(view.num_tokens)),
                                             dim3(static_cast<uint32_t>(plan.team_width)), parameters, 0, stream);
  if (error != cudaSuccess) return Status::cuda(static_cast<int32_t>(error), "cudaLaunchKernel", cudaGetErrorString(error));
  return {};
}

}  // namespace slotproof
