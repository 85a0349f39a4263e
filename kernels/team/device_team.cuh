#pragma once
// The team on the GPU: one CTA of Width threads. What each primitive promises is said in team.h.

#include "kernels/team/team.h"

namespace slotproof {

template <int Width, int VectorsPerThread>
class CtaTeam {
 public:
  static constexpr int kWidth = Width;
  static constexpr int kNumWarps = Width / kWarpSize;
  static constexpr int kVectorsPerThread = VectorsPerThread;
  static_assert(Width % kWarpSize == 0 && Width <= kWidestTeam);

  template <class T>
  class PerThread {
   public:
    __device__ __forceinline__ explicit PerThread(CtaTeam&) {}
    __device__ __forceinline__ T& operator[](Thread) { return value_; }
    __device__ __forceinline__ const T& operator[](Thread) const { return value_; }

   private:
    friend CtaTeam;
    T value_;
  };

  template <class T>
  class SharedArray {
   public:
    __device__ __forceinline__ explicit SharedArray(T* data) : data_(data) {}
    __device__ __forceinline__ T load(int32_t i) const { return data_[i]; }
    __device__ __forceinline__ T load(Thread, int32_t i) const { return data_[i]; }
    __device__ __forceinline__ void store(Thread, int32_t i, T x) const { data_[i] = x; }
    template <int N>
    __device__ __forceinline__ Items<N, T> load_vector(Thread, int32_t i) const {
      static_assert(N * sizeof(T) == sizeof(int4));
      return items_of<Items<N, T>>(*reinterpret_cast<const int4*>(data_ + i));
    }

   private:
    friend CtaTeam;
    T* data_;
  };

  __device__ __forceinline__ int32_t index() const { return static_cast<int32_t>(blockIdx.x); }
  __device__ __forceinline__ int32_t part() const { return static_cast<int32_t>(blockIdx.y); }
  __device__ __forceinline__ int32_t num_parts() const { return static_cast<int32_t>(gridDim.y); }

  template <class Body>
  __device__ __forceinline__ void phase(const char*, Body&& body) {
    body(Thread{static_cast<int32_t>(threadIdx.x)});
  }

  __device__ __forceinline__ void sync() {
    if constexpr (kNumWarps == 1) {
      __syncwarp();
    } else {
      __syncthreads();
    }
  }
  __device__ __forceinline__ void sync_warp() { __syncwarp(); }

  // Tag keeps two arrays of one type and size apart, which would otherwise be the same static variable.
  template <class T, int N, class Tag>
  __device__ __forceinline__ SharedArray<T> shared() {
    if constexpr (Tag::kIsSizedAtLaunch) {
      extern __shared__ int4 sized_at_launch[];
      return SharedArray<T>(reinterpret_cast<T*>(sized_at_launch));
    } else {
      __shared__ alignas(16) T data[N];
      return SharedArray<T>(data);
    }
  }

  // The multiprocessor moves the words by itself: no register waits for them.
  template <int N, TensorId Id>
  __device__ __forceinline__ void copy_async(Thread, SharedArray<int32_t> shared, int32_t j, TensorRow<Id> row, int32_t i, bool is_given) {
    static_assert(N == 4 && !is_output(Id));
    const auto target = static_cast<uint32_t>(__cvta_generic_to_shared(shared.data_ + j));
    const uint32_t num_bytes = is_given ? 16 : 0;  // The rest of the 16 is filled with zeros.
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(target), "l"(row.data + i), "r"(num_bytes) : "memory");
  }
  __device__ __forceinline__ void wait_async() { asm volatile("cp.async.wait_all;" ::: "memory"); }

  template <class T>
  __device__ __forceinline__ T uniform(const PerThread<T>& x) {
    return x.value_;
  }
  template <class T>
  __device__ __forceinline__ PerThread<T> warp_shuffle_up(const PerThread<T>& x, uint32_t delta) {
    PerThread<T> result(*this);
    result.value_ = __shfl_up_sync(kEveryLane, x.value_, delta);
    return result;
  }
  template <class T>
  __device__ __forceinline__ PerThread<T> warp_broadcast(const PerThread<T>& x, int32_t lane) {
    PerThread<T> result(*this);
    result.value_ = __shfl_sync(kEveryLane, x.value_, lane);
    return result;
  }
  __device__ __forceinline__ PerThread<int32_t> warp_sum(const PerThread<int32_t>& x) {
    PerThread<int32_t> result(*this);
    result.value_ = __reduce_add_sync(kEveryLane, x.value_);
    return result;
  }

  template <TensorId Id>
  __device__ __forceinline__ int32_t load(TensorRow<Id> row, int32_t i) {
    static_assert(!is_counter(Id));
    if constexpr (is_output(Id)) {
      return row.data[i];
    } else {
      return __ldg(row.data + i);  // No launch writes its inputs (A15).
    }
  }
  template <TensorId Id>
  __device__ __forceinline__ int32_t load(Thread, TensorRow<Id> row, int32_t i) {
    return load(row, i);
  }
  template <int N, TensorId Id>
  __device__ __forceinline__ Items<N> load_vector(Thread, TensorRow<Id> row, int32_t i) {
    static_assert(N == 4 && !is_output(Id));
    return items_of<Items<4>>(__ldg(reinterpret_cast<const int4*>(row.data + i)));
  }
  template <TensorId Id>
  __device__ __forceinline__ void store(Thread, TensorRow<Id> row, int32_t i, int32_t x) {
    static_assert(!is_counter(Id));
    row.data[i] = x;
  }
  template <int N, TensorId Id>
  __device__ __forceinline__ void store_vector(Thread, TensorRow<Id> row, int32_t i, const Items<N>& x) {
    static_assert(N == 4);
    *reinterpret_cast<int4*>(row.data + i) = __builtin_bit_cast(int4, x);
  }
  template <TensorId Id>
  __device__ __forceinline__ void atomic_add(Thread, TensorRow<Id> row, int32_t i, int64_t x) {
    static_assert(is_counter(Id));
    atomicAdd(reinterpret_cast<unsigned long long*>(row.data + i), static_cast<unsigned long long>(x));
  }

 private:
  static constexpr uint32_t kEveryLane = 0xffffffffu;

  template <class Result>
  __device__ static __forceinline__ Result items_of(int4 x) {
    return __builtin_bit_cast(Result, x);
  }
};

}  // namespace slotproof
