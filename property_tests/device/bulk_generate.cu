// The decoder on the device: makes the elements of a batch.

#include "property_tests/device/bulk_kernels.h"
#include "property_tests/device/bulk_rows.h"
#include "property_tests/device/warp_lanes.cuh"

namespace slotproof::harness {
namespace {

__global__ void __launch_bounds__(kThreadsOfACta) fill_words(const __grid_constant__ BulkView view) {
  const int64_t num_words = num_filled_words_of(view), num_threads = int64_t{gridDim.x} * kThreadsOfACta;
  for (int64_t word = int64_t{blockIdx.x} * kThreadsOfACta + threadIdx.x; word < num_words; word += num_threads) fill_word(view, word);
}

__global__ void __launch_bounds__(kThreadsOfACta) make_rows(const __grid_constant__ BulkView view) {
  const int64_t row = warp_index();
  if (row < view.shape.num_tokens) make_row(WarpLanes{}, view, int32_t(row));
}

}  // namespace

std::string launch_make(const BulkView& view, CUstream_st* stream) {
  BulkView parameter = view;
  void* parameters[] = {&parameter};
  constexpr unsigned kMostCtas = 132 * 8 * 4;  // a few for every place of a large device
  const unsigned num_ctas = std::min(num_ctas_for(num_filled_words_of(view), kThreadsOfACta), kMostCtas);
  cudaError_t code = cudaLaunchKernel(fill_words, dim3(num_ctas), dim3(kThreadsOfACta), parameters, 0, stream);
  if (code != cudaSuccess) return error_of_launch("fill_words", code);
  code = cudaLaunchKernel(make_rows, dim3(num_ctas_for(view.shape.num_tokens, kWarpsOfACta)), dim3(kThreadsOfACta), parameters, 0, stream);
  return error_of_launch("make_rows", code);
}

}  // namespace slotproof::harness
