// The reference on the device: judges what the kernel under test left behind. Its arithmetic is reference/remap_entry.h, compiled here
// for the GPU; nothing of kernels/ but the public interface.

#include "property_tests/device/bulk_kernels.h"
#include "property_tests/device/bulk_rows.h"
#include "property_tests/device/warp_lanes.cuh"

namespace slotproof::harness {
namespace {

__global__ void __launch_bounds__(kThreadsOfACta) check_rows(const __grid_constant__ BulkView view, BulkVerdict* verdict) {
  const int64_t row = warp_index();
  if (row <= view.shape.num_tokens) check_row(WarpLanes{}, view, int32_t(row), *verdict);
}

__global__ void __launch_bounds__(kThreadsOfACta)
    reference_entries(const __grid_constant__ RemapArgs args, const int32_t* positions, int64_t num_entries, int32_t* entries) {
  const int64_t i = int64_t{blockIdx.x} * kThreadsOfACta + threadIdx.x;
  if (i < num_entries) entries[i] = reference::entry_of(args, int32_t(i % args.token_indices.rows), positions[i]).slot;
}

}  // namespace

std::string launch_check(const BulkView& view, BulkVerdict* verdict, CUstream_st* stream) {
  BulkView parameter = view;
  void* parameters[] = {&parameter, &verdict};
  const int64_t num_rows = int64_t{view.shape.num_tokens} + 1;  // the last stands for the guards
  return error_of_launch("check_rows", cudaLaunchKernel(check_rows, dim3(num_ctas_for(num_rows, kWarpsOfACta)), dim3(kThreadsOfACta), parameters, 0, stream));
}

std::string launch_reference_entries(const RemapArgs& args, const int32_t* positions, int64_t num_entries, int32_t* entries, CUstream_st* stream) {
  RemapArgs parameter = args;
  void* parameters[] = {&parameter, &positions, &num_entries, &entries};
  return error_of_launch("reference_entries",
                         cudaLaunchKernel(reference_entries, dim3(num_ctas_for(num_entries, kThreadsOfACta)), dim3(kThreadsOfACta), parameters, 0, stream));
}

}  // namespace slotproof::harness
