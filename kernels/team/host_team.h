#pragma once
// The team on the host: runs a body phase by phase, thread after thread, in an order that a seed picks, over checked memory.
// What each primitive promises is said in team.h. What misuses memory throws MemoryFault.

#include "kernels/team/checked_memory.h"
#include "kernels/team/host_warps.h"
#include "kernels/team/thread_order.h"

#include <array>
#include <cstring>

namespace slotproof {

template <int Width, int VectorsPerThread>
class HostTeam {
 public:
  static constexpr int kWidth = Width;
  static constexpr int kNumWarps = Width / kWarpSize;
  static constexpr int kVectorsPerThread = VectorsPerThread;
  static_assert(Width % kWarpSize == 0 && Width <= kWidestTeam);

  template <class T>
  class PerThread {
   public:
    static_assert(std::is_trivially_copyable_v<T>);
    explicit PerThread(HostTeam&) { std::memset(static_cast<void*>(values_.data()), 0xA5, sizeof values_); }
    T& operator[](Thread t) { return values_[static_cast<std::size_t>(t.index)]; }
    const T& operator[](Thread t) const { return values_[static_cast<std::size_t>(t.index)]; }

   private:
    std::array<T, Width> values_;
  };

  template <class T>
  class SharedArray {
   public:
    SharedArray(CheckedMemory& memory, CheckedMemory::SharedBlock& block) : memory_(&memory), block_(&block), data_(reinterpret_cast<T*>(block.data.get())) {}
    T load(int32_t i) const { return load(Thread{kEveryThread}, i); }
    T load(Thread t, int32_t i) const {
      memory_->read_shared(*block_, i, 1, sizeof(T), t.index);
      return data_[i];
    }
    void store(Thread t, int32_t i, T x) const {
      memory_->write_shared(*block_, i, t.index);
      data_[i] = x;
    }
    template <int N>
    Items<N, T> load_vector(Thread t, int32_t i) const {
      static_assert(N * sizeof(T) == 16);
      memory_->read_shared(*block_, i, N, sizeof(Items<N, T>), t.index);
      Items<N, T> items;
      std::memcpy(static_cast<void*>(&items), data_ + i, sizeof items);
      return items;
    }

   private:
    friend HostTeam;
    CheckedMemory* memory_;
    CheckedMemory::SharedBlock* block_;
    T* data_;
  };

  // Starts CTA `cta` of the launch that `memory` describes; num_parts of them, in their order, share a row.
  HostTeam(CheckedMemory& memory, int32_t cta, uint64_t thread_order_seed, int32_t num_parts = 1)
      : memory_(memory), cta_(cta), num_parts_(num_parts), thread_order_seed_(thread_order_seed) {
    memory_.begin_cta(cta, Width);
  }
  HostTeam(const HostTeam&) = delete;
  HostTeam& operator=(const HostTeam&) = delete;

  int32_t index() const { return cta_ / num_parts_; }
  int32_t part() const { return cta_ % num_parts_; }
  int32_t num_parts() const { return num_parts_; }

  template <class Body>
  void phase(const char* name, Body&& body) {
    memory_.begin_phase(name);
    const Permutation order(thread_order_seed_, (uint64_t{static_cast<uint32_t>(cta_)} << 32) | num_phases_++, Width);
    for (uint32_t i = 0; i < Width; ++i) body(Thread{order.at(i)});
    memory_.end_phase();
  }

  void sync() { memory_.sync(); }
  void sync_warp() { memory_.sync_warp(); }

  template <class T, int N, class Tag>
  SharedArray<T> shared() {
    static constexpr char kKey = 0;  // Its address tells this array from those of other types, sizes and tags.
    return SharedArray<T>(memory_, memory_.shared_block(&kKey, Tag::kName, N, N * sizeof(T)));
  }

  template <int N, TensorId Id>
  void copy_async(Thread t, SharedArray<int32_t> shared, int32_t j, TensorRow<Id> row, int32_t i, bool is_given) {
    static_assert(N == 4 && !is_output(Id));
    if (is_given) memory_.read_tensor(Id, row.data, row.size, i, N, t.index);
    memory_.begin_copy(*shared.block_, j, N, is_given ? row.data + i : nullptr, t.index);
  }
  void wait_async() { memory_.end_copies(); }

  template <class T>
  T uniform(const PerThread<T>& x) {
    for (int32_t t = 1; t < Width; ++t) {
      if (x[Thread{t}] != x[Thread{0}]) memory_.throw_not_uniform(t, 0);
    }
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
    return load(Thread{kEveryThread}, row, i);
  }
  template <TensorId Id>
  auto load(Thread t, TensorRow<Id> row, int32_t i) {
    memory_.read_tensor(Id, row.data, row.size, i, 1, t.index);
    return row.data[i];
  }
  template <int N, TensorId Id>
  Items<N> load_vector(Thread t, TensorRow<Id> row, int32_t i) {
    static_assert(N == 4);
    memory_.read_tensor(Id, row.data, row.size, i, N, t.index);
    Items<N> items;
    std::memcpy(static_cast<void*>(&items), row.data + i, sizeof items);
    return items;
  }
  template <TensorId Id>
  void store(Thread t, TensorRow<Id> row, int32_t i, typename TensorRow<Id>::Element x) {
    memory_.write_tensor(Id, row.data, row.size, i, 1, t.index);
    row.data[i] = x;
  }
  template <int N, TensorId Id>
  void store_vector(Thread t, TensorRow<Id> row, int32_t i, const Items<N>& x) {
    static_assert(N == 4);
    memory_.write_tensor(Id, row.data, row.size, i, N, t.index);
    std::memcpy(row.data + i, &x, sizeof x);
  }
  template <TensorId Id>
  void atomic_add(Thread t, TensorRow<Id> row, int32_t i, int64_t x) {
    static_assert(is_counter(Id));
    memory_.add_to_tensor(Id, row.data, row.size, i, t.index);
    row.data[i] = static_cast<int64_t>(static_cast<uint64_t>(row.data[i]) + static_cast<uint64_t>(x));
  }

 private:
  CheckedMemory& memory_;
  int32_t cta_;
  int32_t num_parts_;
  uint64_t thread_order_seed_;
  uint32_t num_phases_ = 0;
};

}  // namespace slotproof
