#pragma once
// The lanes of a warp, all of which call: bulk_rows.h says what each function gives.

#include "property_tests/device/bulk_verdict.h"

#include <cuda_runtime_api.h>
#include <string>

namespace slotproof::harness {

struct WarpLanes {
  static constexpr int32_t kWidth = 32;
  static constexpr uint32_t kAll = 0xffffffffu;

  __device__ int32_t lane() const { return int32_t(threadIdx.x % kWidth); }
  __device__ uint32_t ballot(bool mine) const { return __ballot_sync(kAll, mine); }
  __device__ int32_t num_before(uint32_t ballot) const { return __popc(ballot & ((1u << lane()) - 1)); }
  __device__ int32_t num_set(uint32_t ballot) const { return __popc(ballot); }
  __device__ BulkCount sum(BulkCount mine) const {
    for (int distance = kWidth / 2; distance > 0; distance /= 2) mine += __shfl_xor_sync(kAll, mine, distance);
    return mine;
  }
  __device__ BulkCount least(BulkCount mine) const {
    for (int distance = kWidth / 2; distance > 0; distance /= 2) {
      const BulkCount other = __shfl_xor_sync(kAll, mine, distance);
      mine = other < mine ? other : mine;
    }
    return mine;
  }
  __device__ uint64_t either(uint64_t mine) const {
    return uint64_t{__reduce_or_sync(kAll, uint32_t(mine >> 32))} << 32 | __reduce_or_sync(kAll, uint32_t(mine));
  }
  __device__ void add(BulkCount& total, BulkCount mine) const { atomicAdd(&total, mine); }
  __device__ void lower(BulkCount& total, BulkCount mine) const { atomicMin(&total, mine); }
};

inline constexpr int kThreadsOfACta = 256;
inline constexpr int kWarpsOfACta = kThreadsOfACta / WarpLanes::kWidth;

// This warp's number in the grid.
__device__ inline int64_t warp_index() {
  return int64_t{blockIdx.x} * kWarpsOfACta + threadIdx.x / WarpLanes::kWidth;
}

inline unsigned num_ctas_for(int64_t num_items, int items_of_a_cta) {
  return unsigned((num_items + items_of_a_cta - 1) / items_of_a_cta);
}

// The launch's own result: cudaGetLastError() would take away an earlier error that belongs to somebody else.
inline std::string error_of_launch(const char* what, cudaError_t code) {
  if (code == cudaSuccess) return {};
  return std::string("launching ") + what + " failed: " + cudaGetErrorName(code) + " (" + cudaGetErrorString(code) + ")";
}

}  // namespace slotproof::harness
