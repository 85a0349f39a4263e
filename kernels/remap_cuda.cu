// The kernel body on the GPU: one CTA a row.

#include "kernels/remap.h"
#include "kernels/team/device_team.cuh"

#include <cuda_runtime_api.h>

namespace slotproof {
namespace {

// Asking for no more than 1024 threads a multiprocessor leaves each 64 registers, room for all of a tile's lookups in flight.
// Left alone (0), ptxas aims at more warps and waits for the first lookups before it issues the last. A CTA of one warp gets
// its registers unasked, and 32 such CTAs are more than some devices hold.
constexpr int min_ctas_of(int width) { return width == kWarpSize ? 0 : 1024 / width; }

template <int Width, Placement kPlacement, Dcp kDcp>
__global__ void __launch_bounds__(Width, min_ctas_of(Width)) remap_kernel(const __grid_constant__ RemapView view) {
  CtaTeam<Width> team;
  remap_row<kPlacement, kDcp>(team, view);
}

using Kernel = void (*)(RemapView);

template <int Width>
Kernel kernel_of(Placement placement, Dcp dcp) {
  if (placement == Placement::kInPlace) {
    return dcp == Dcp::kOn ? remap_kernel<Width, Placement::kInPlace, Dcp::kOn>
                           : remap_kernel<Width, Placement::kInPlace, Dcp::kOff>;
  }
  return dcp == Dcp::kOn ? remap_kernel<Width, Placement::kCompacted, Dcp::kOn>
                         : remap_kernel<Width, Placement::kCompacted, Dcp::kOff>;
}

Kernel kernel_of(int32_t width, Placement placement, Dcp dcp) {
  switch (width) {
    case 32: return kernel_of<32>(placement, dcp);
    case 64: return kernel_of<64>(placement, dcp);
    case 128: return kernel_of<128>(placement, dcp);
    default: return kernel_of<256>(placement, dcp);
  }
}

}  // namespace

Status launch_remap(const RemapArgs& args, CUstream_st* stream) noexcept {
  if (const Status status = validate(args); !status.ok()) return status;
  if (writes_nothing(args)) return {};
  const TilePlan plan = plan_tiles(args, 0);
  RemapView view = make_view(args, plan);
  void* parameters[] = {&view};
  // The launch's own result: cudaGetLastError() would take away an earlier error that belongs to somebody else.
  const cudaError_t error = cudaLaunchKernel(kernel_of(plan.team_width, args.placement, dcp_of(args)),
                                             dim3(static_cast<uint32_t>(view.num_tokens)),
                                             dim3(static_cast<uint32_t>(plan.team_width)), parameters, 0, stream);
  if (error != cudaSuccess) return Status::cuda(static_cast<int32_t>(error), "cudaLaunchKernel", cudaGetErrorString(error));
  return {};
}

}  // namespace slotproof
