// The diagnosis on the GPU: one CTA a row.

#include "kernels/diagnosis.h"
#include "kernels/team/device_team.cuh"

#include <cuda_runtime_api.h>

namespace slotproof {
namespace {

// As for the remap, at most 1024 threads a multiprocessor, so that all of a tile's lookups are in flight.
constexpr int min_ctas_of(int width) {
  return width == kWarpSize ? 0 : 1024 / width;
}

template <int Width, Dcp kDcp>
__global__ void __launch_bounds__(Width, min_ctas_of(Width)) diagnose_kernel(const __grid_constant__ DiagnosisView view) {
  CtaTeam<Width, kMostVectorsPerThread> team;
  diagnose_row<kDcp>(team, view);
}

using Kernel = void (*)(DiagnosisView);

template <int Width>
Kernel kernel_of(Dcp dcp) {
  return dcp == Dcp::kOff ? diagnose_kernel<Width, Dcp::kOff> : diagnose_kernel<Width, Dcp::kOn>;
}

Kernel kernel_of(int32_t width, Dcp dcp) {
  switch (width) {
    case 32: return kernel_of<32>(dcp);
    case 64: return kernel_of<64>(dcp);
    case 128: return kernel_of<128>(dcp);
    default: return kernel_of<256>(dcp);
  }
}

}  // namespace

Status launch_remap_diagnose(const DiagnoseArgs& args, CUstream_st* stream) noexcept {
  if (const Status status = validate(args); !status.ok()) return status;
  if (writes_nothing(args)) return {};
  const DiagnosisPlan plan = plan_tiles(args, 0);
  DiagnosisView view = make_view(args, plan.tile);
  void* parameters[] = {&view};
  // The launch's own result: cudaGetLastError() would take away an earlier error that belongs to somebody else.
  const cudaError_t error = cudaLaunchKernel(kernel_of(plan.team_width, plan.dcp), dim3(static_cast<uint32_t>(view.remap.num_tokens)),
                                             dim3(static_cast<uint32_t>(plan.team_width)), parameters, 0, stream);
  if (error != cudaSuccess) return Status::cuda(static_cast<int32_t>(error), "cudaLaunchKernel", cudaGetErrorString(error));
  return {};
}

}  // namespace slotproof
