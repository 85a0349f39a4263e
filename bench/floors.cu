// Floors for the bench: what no remap can beat. C functions, so that the driver can call them beside everything else.

#include <cstdint>

#include <cuda_runtime.h>

namespace {

__global__ void empty() {}

// Reads each row's request, then every entry of its table row in 16-byte loads, and nothing else: the table lines that a row
// of unsorted positions touches. The sum keeps the loads.
__global__ void gather(const int32_t* req_id, const int32_t* block_table, int64_t stride, int32_t columns, int32_t* sums) {
  const int4* row = reinterpret_cast<const int4*>(block_table + req_id[blockIdx.x] * stride);
  int32_t sum = 0;
#pragma unroll 4
  for (int32_t i = static_cast<int32_t>(threadIdx.x); i < columns / 4; i += static_cast<int32_t>(blockDim.x)) {
    const int4 x = __ldg(row + i);
    sum ^= x.x ^ x.y ^ x.z ^ x.w;
  }
  if (sum == 0x7fffffff) sums[blockIdx.x] = sum;  // true for about no row
}

}  // namespace

extern "C" {

int slotproof_bench_empty(void* stream) {
  empty<<<1, 32, 0, static_cast<cudaStream_t>(stream)>>>();
  return static_cast<int>(cudaPeekAtLastError());
}

// Shapes: req_id [num_tokens], block_table [*, columns] with columns a multiple of 4 and 16-byte aligned rows, sums [num_tokens].
int slotproof_bench_gather(const int32_t* req_id, int32_t num_tokens, const int32_t* block_table, int64_t stride, int32_t columns, int32_t* sums, void* stream) {
  gather<<<static_cast<unsigned>(num_tokens), 128, 0, static_cast<cudaStream_t>(stream)>>>(req_id, block_table, stride, columns, sums);
  return static_cast<int>(cudaPeekAtLastError());
}
}
