#pragma once
// The team on the host, for speed: threads in ascending order over plain memory, nothing checked. What each primitive promises is
// said in team.h. A body that misuses memory does so here, too: finding that is the job of host_team.h.
//
// A phase is a loop over the team's threads, and a thread's Items lie side by side, so the compiler makes one vector of them:
// arithmetic on 16 columns of a row takes four SSE instructions. What depends on the data stays scalar: lookups in the block table
// and the compaction's stores.

#include "kernels/team/host_warps.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>

namespace slotproof {

template <int Width, int VectorsPerThread>
class FastHostTeam {
 public:
  static constexpr int kWidth = Width;
  static constexpr int kNumWarps = Width / kWarpSize;
  static constexpr int kVectorsPerThread = VectorsPerThread;
  static_assert(Width % kWarpSize == 0);

  template <class T>
  class PerThread {
   public:
    static_assert(std::is_trivially_copyable_v<T>);
    explicit PerThread(FastHostTeam&) {}
    T& operator[](Thread t) { return values_[static_cast<std::size_t>(t.index)]; }
    const T& operator[](Thread t) const { return values_[static_cast<std::size_t>(t.index)]; }

   private:
    std::array<T, Width> values_;
  };

  template <class T>
  class SharedArray {
   public:
    explicit SharedArray(T* data) : data_(data) {}
    T load(int32_t i) const { return data_[i]; }
    T load(Thread, int32_t i) const { return data_[i]; }
    void store(Thread, int32_t i, T x) const { data_[i] = x; }
    template <int N>
    Items<N, T> load_vector(Thread, int32_t i) const {
      static_assert(N * sizeof(T) == 16);
      return items_at<N>(data_ + i);
    }

   private:
    friend FastHostTeam;
    T* data_;
  };

  explicit FastHostTeam(int32_t cta) : cta_(cta) {}
  FastHostTeam(const FastHostTeam&) = delete;
  FastHostTeam& operator=(const FastHostTeam&) = delete;

  int32_t index() const { return cta_; }
  static constexpr int32_t part() { return 0; }
  static constexpr int32_t num_parts() { return 1; }

  template <class Body>
  void phase(const char*, Body&& body) {
    for (int32_t t = 0; t < Width; ++t) body(Thread{t});
  }

  // One phase ends before the next begins, so every barrier is already there.
  void sync() {}
  void sync_warp() {}

  // Rows that run at the same time run on different threads of the host.
  template <class T, int N, class Tag>
  SharedArray<T> shared() {
    alignas(16) static thread_local T data[N];
    return SharedArray<T>(data);
  }

  template <int N, TensorId Id>
  void copy_async(Thread, SharedArray<int32_t> shared, int32_t j, TensorRow<Id> row, int32_t i, bool is_given) {
    static_assert(N == 4 && !is_output(Id));
    for (int32_t e = 0; e < N; ++e) shared.data_[j + e] = is_given ? row.data[i + e] : 0;
  }
  void wait_async() {}

  template <class T>
  T uniform(const PerThread<T>& x) {
    return x[Thread{0}];
  }
  template <class T>
  PerThread<T> warp_shuffle_up(const PerThread<T>& x, uint32_t delta) {
    PerThread<T> result(*this);
    shuffle_up<Width>(x, delta, result);
    return result;
  }
  template <class T>
  PerThread<T> warp_broadcast(const PerThread<T>& x, int32_t lane) {
    PerThread<T> result(*this);
    broadcast<Width>(x, lane, result);
    return result;
  }
  PerThread<int32_t> warp_sum(const PerThread<int32_t>& x) {
    PerThread<int32_t> result(*this);
    sum_warps<Width>(x, result);
    return result;
  }

  template <TensorId Id>
  auto load(TensorRow<Id> row, int32_t i) {
    return row.data[i];
  }
  template <TensorId Id>
  auto load(Thread, TensorRow<Id> row, int32_t i) {
    return row.data[i];
  }
  template <int N, TensorId Id>
  Items<N> load_vector(Thread, TensorRow<Id> row, int32_t i) {
    static_assert(N == 4);
    __builtin_prefetch(ahead_of(row.data + i), 0);
    return items_at<N>(row.data + i);
  }
  template <TensorId Id>
  void store(Thread, TensorRow<Id> row, int32_t i, typename TensorRow<Id>::Element x) {
    row.data[i] = x;
  }
  template <int N, TensorId Id>
  void store_vector(Thread, TensorRow<Id> row, int32_t i, const Items<N>& x) {
    static_assert(N == 4);
    __builtin_prefetch(ahead_of(row.data + i), 1);
    std::memcpy(row.data + i, &x, sizeof x);
  }
  template <TensorId Id>
  void atomic_add(Thread, TensorRow<Id> row, int32_t i, int64_t x) {
    static_assert(is_counter(Id));
    std::atomic_ref(row.data[i]).fetch_add(x, std::memory_order_relaxed);
  }

 private:
  // The address 2 KiB further on, also behind the tensor: what lies there is what a dense tensor's next accesses need. Loads and stores
  // come in bursts here, a phase of each, which the hardware foresees too late: a third of the speed in place for tensors beyond the caches
  // (bench/results/cpu-variants.json).
  static const void* ahead_of(const int32_t* address) { return reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(address) + 2048); }

  template <int N, class T>
  static Items<N, std::remove_const_t<T>> items_at(T* first) {
    Items<N, std::remove_const_t<T>> items;
    std::memcpy(static_cast<void*>(&items), first, sizeof items);
    return items;
  }

  int32_t cta_;
};

}  // namespace slotproof
