// The kernel bodies on the GPU: one CTA a row, or a part of one.

#include "kernels/compiled_kernels.h"
#include "kernels/remap.h"
#include "kernels/remap_launch.h"
#include "kernels/team/device_team.cuh"

#include <cuda_runtime_api.h>

#include <utility>

namespace slotproof {
namespace {

// How many threads of a multiprocessor the compiler leaves registers for. Fewer threads have room for more loads in flight; more
// threads hide them better. Left alone, it would take more registers than pay, or wait for the first lookups before it issues
// the last. Measured on an H200 (bench/results/nvidia-h200-kernels.json).
constexpr int threads_at_once(RowLayout layout, Sizes sizes, Lookup lookup, int vectors_per_thread) {
  const bool is_staged = lookup == Lookup::kStaged;
  if (layout == RowLayout::kAny) return is_staged ? 1536 : 1024;  // the general kernels
  if (vectors_per_thread == 4) return is_staged ? 1280 : 1024;
  return vectors_per_thread == 2 && is_staged && sizes == Sizes::kPowersOfTwo ? 2048 : 1536;
}
// What a multiprocessor holds: of the device that is compiled for, or less. To ask for more is an error.
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ == 800 || (__CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1100))
constexpr int kMostThreads = 2048, kMostCtas = 32;
#else
constexpr int kMostThreads = 1536, kMostCtas = 16;
#endif
// A CTA of one warp gets its registers unasked.
constexpr int min_ctas_of(RowLayout layout, Sizes sizes, Lookup lookup, int width, int vectors_per_thread) {
  if (width == kWarpSize) return 0;
  const int wanted = threads_at_once(layout, sizes, lookup, vectors_per_thread);
  const int ctas = (wanted < kMostThreads ? wanted : kMostThreads) / width;
  return ctas < kMostCtas ? ctas : kMostCtas;
}

// Each choice is a parameter of its own, so that profilers and reports name a kernel by what it does.
template <Placement kPlacement, Rows kRows, RowLayout kLayout, Dcp kDcp, Sizes kSizes, Lookup kLookup, int kWidth, int kVectorsPerThread>
__global__ void __launch_bounds__(kWidth, min_ctas_of(kLayout, kSizes, kLookup, kWidth, kVectorsPerThread))
    remap_kernel(const __grid_constant__ RemapView view) {
  CtaTeam<kWidth, kVectorsPerThread> team;
  remap_row<RowForm{kPlacement, kRows, kLayout, kDcp, kSizes, kLookup}>(team, view);
}

using Kernel = void (*)(RemapView);

template <int kNumber>
constexpr Kernel compiled_kernel() {
  constexpr RowKernel kKernel = kRowKernels[kNumber];
  constexpr RowForm kForm = kKernel.form;
  if constexpr (is_compiled(kKernel)) {
    return remap_kernel<kForm.placement, kForm.rows, kForm.layout, kForm.dcp, kForm.sizes, kForm.lookup, kKernel.team.width, kKernel.team.vectors_per_thread>;
  }
  return nullptr;
}
template <int... kNumbers>
constexpr std::array<Kernel, kNumRowKernels> compiled_kernels(std::integer_sequence<int, kNumbers...>) {
  return {compiled_kernel<kNumbers>()...};
}
constexpr auto kKernels = compiled_kernels(std::make_integer_sequence<int, kNumRowKernels>{});

}  // namespace

Status launch_plan(const RemapArgs& args, const TilePlan& plan, CUstream_st* stream) noexcept {
  const RowKernel& kernel = kernel_of(plan);
  RemapView view = make_view(args, plan.tile);
  void* parameters[] = {&view};
  const int32_t shared_bytes = kernel.form.lookup == Lookup::kStaged ? staged_table_bytes(kernel.team.width, view.table_columns) : 0;
  // The launch's own result: cudaGetLastError() would take away an earlier error that belongs to somebody else.
  const cudaError_t error =
      cudaLaunchKernel(kKernels[static_cast<std::size_t>(plan.kernel)], dim3(static_cast<uint32_t>(view.num_tokens), static_cast<uint32_t>(plan.num_parts)),
                       dim3(static_cast<uint32_t>(kernel.team.width)), parameters, static_cast<std::size_t>(shared_bytes), stream);
  if (error != cudaSuccess) return Status::cuda(static_cast<int32_t>(error), "cudaLaunchKernel", cudaGetErrorString(error));
  return {};
}

Status launch_remap(const RemapArgs& args, CUstream_st* stream) noexcept {
  return launch_remap_planned(args, {}, stream);
}

Status launch_remap_planned(const RemapArgs& args, const PlanOptions& options, CUstream_st* stream) noexcept {
  if (const Status status = validate(args); !status.ok()) return status;
  if (const Status status = check(options); !status.ok()) return status;
  if (writes_nothing(args)) return {};
  return launch_plan(args, compiled_plan(args, options), stream);
}

}  // namespace slotproof
