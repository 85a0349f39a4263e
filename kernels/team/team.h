#pragma once
// The closed set of primitives that a kernel body may use. A body is a template over a team: the threads (1 to 8 warps, one
// CTA) that own one row, or one part of a row. device_team.cuh runs it on the GPU; host_team.h runs it on the host, with
// checked memory.
//
// Two scopes. *Team scope* is uniform code: every thread runs it with the same values. *Thread scope* is the inside of a
// phase: it gets a Thread and may differ from thread to thread. An access that is given no Thread is every thread's.
//
//   primitive                          called at  result, and where it is valid
//   index(), part()                    any        the CTA's place in the grid: a row, and a part of it; every thread
//   num_parts()                        any        the CTAs that share a row; every thread
//   kWidth, kNumWarps                  any        threads and warps of the team, compile-time constants
//   kVectorsPerThread                  any        vectors of four columns that a thread holds at once, a compile-time constant
//   phase(name, [&](Thread t) {...})   team       runs the lambda once for each thread, in no promised order; no barrier
//   sync()                             team       orders every access before it with every access after it
//   sync_warp()                        team       the same among the threads of each warp, and for them only
//   shared<T, N, Tag>()                team       the one array of N elements that Tag names (Tag::kName in reports). Holds
//                                                 nothing until written: a read before that is a fault. Tag::kIsSizedAtLaunch, true
//                                                 for one array of a kernel at most: the launch gives its size, N is the most
//     .load(t, i) .store(t, i, x)      thread     one element
//     .template load_vector<4>(t, i)   thread     four elements from i on; 16-byte aligned
//     .load(i)                         team       one element, read by every thread
//   copy_async<4>(t, shared, j, row, i, b) thread starts a copy to an array's four elements from j on: where b, of those of an
//                                                 input's row from i on, both sides 16-byte aligned; else of zeros, and i means
//                                                 nothing. Until wait_async() the four hold nothing, and nobody else touches them
//   wait_async()                       team       each thread's copies are its writes from here on: other threads need a
//                                                 barrier behind it, too
//   PerThread<Team, T> x(team)         team       a value of each thread that lives across phases, x[t]. Starts poisoned
//   uniform(per_thread)                team       the value, which must be the same in every thread; every thread
//   warp_shuffle_up(per_thread, d)     team       the value of lane - d; own value in lanes below d; every thread
//   warp_broadcast(per_thread, lane)   team       the lane's value; every thread
//   warp_sum(per_thread)               team       sum over the warp; every thread
//   load(t, row, i)  load(row, i)      both       one element of a tensor's row
//   load_vector<4>(t, row, i)          thread     four; the address is 16-byte aligned
//   store(t, row, i, x)                thread     one element of an output's row
//   store_vector<4>(t, row, i, x)      thread     four; the address is 16-byte aligned
//   atomic_add(t, row, i, x)           thread     adds to one element of a row of 64-bit counters, modulo 2^64; no result.
//                                                 Orders nothing. Of all CTAs: two such adds never race, an add and a load or
//                                                 store of the same element do
//
// A body reads inputs and writes outputs through rows (TensorRow), never through bare pointers.

#include <cstdint>
#include <type_traits>

// SLOTPROOF_HD: scalar code. SLOTPROOF_TEAM: code over a team, which nvcc compiles for the device alone. Both are forced
// inline there, so that an object of nvcc's never supplies the copy that an instrumented host object would have.
#if defined(__CUDACC__)
#define SLOTPROOF_HD __host__ __device__ __forceinline__
#define SLOTPROOF_TEAM __device__ __forceinline__
#define SLOTPROOF_UNROLL _Pragma("unroll")
#define SLOTPROOF_NO_UNROLL _Pragma("unroll 1")
#else
#define SLOTPROOF_HD inline
#define SLOTPROOF_TEAM inline
#define SLOTPROOF_UNROLL
#define SLOTPROOF_NO_UNROLL
#endif

namespace slotproof {

inline constexpr int kWarpSize = 32;
inline constexpr int kWidestTeam = 256;

struct Thread {
  int32_t index;  // in the team
  // As unsigned numbers: a division of signed ones has to round negative ones.
  SLOTPROOF_HD int32_t lane() const { return static_cast<int32_t>(static_cast<uint32_t>(index) % kWarpSize); }
  SLOTPROOF_HD int32_t warp() const { return static_cast<int32_t>(static_cast<uint32_t>(index) / kWarpSize); }
};

template <class Team, class T>
using PerThread = typename Team::template PerThread<T>;

// Only unrolled() makes one. Items accept no other index, because an index known at run time alone would move the whole
// array from registers to local memory.
class ItemIndex {
 public:
  SLOTPROOF_HD int32_t value() const { return value_; }

 private:
  template <int N, class Body>
  friend SLOTPROOF_TEAM void unrolled(Body&& body);
  SLOTPROOF_HD explicit ItemIndex(int32_t value) : value_(value) {}
  int32_t value_;
};

template <int N, class Body>
SLOTPROOF_TEAM void unrolled(Body&& body) {
  SLOTPROOF_UNROLL
  for (int32_t i = 0; i < N; ++i) body(ItemIndex(i));
}

// N values of one thread, in registers.
template <int N, class T = int32_t>
class Items {
 public:
  SLOTPROOF_HD T& operator[](ItemIndex i) { return values_[i.value()]; }
  SLOTPROOF_HD const T& operator[](ItemIndex i) const { return values_[i.value()]; }

 private:
  T values_[N];
};

enum class TensorId : uint8_t {
  kReqId,
  kBlockTable,
  kTokenIndices,
  kPrefillRequestId,
  kWorkspaceStarts,
  kSlots,
  kValidCounts,
  kRowCounts,
  kTotals,
};
inline constexpr int kNumTensors = 9;
constexpr bool is_output(TensorId id) {
  return id >= TensorId::kSlots;
}
constexpr bool is_counter(TensorId id) {
  return id == TensorId::kTotals;
}  // 64 bits, may be added to

// One row of a tensor; a vector is a tensor of one row. `data` is the row's first element. The type says which tensor, so
// that the host can compare an access with the caller's tensor instead of with what the body believes about it.
template <TensorId Id>
struct TensorRow {
  static constexpr TensorId kId = Id;
  using Element = std::conditional_t<is_counter(Id), int64_t, std::conditional_t<is_output(Id), int32_t, const int32_t>>;
  Element* data;
  int32_t size;
};

// The same address, worked out here and now. Else a compiler adds an offset that many accesses share to each of them anew.
template <class T>
SLOTPROOF_HD T* worked_out(T* address) {
#if defined(__CUDA_ARCH__)
  asm("" : "+l"(address));
#endif
  return address;
}

// Elements by which an address lies above a 16-byte boundary, 0 ... 3.
SLOTPROOF_HD int32_t vector_phase_of(const int32_t* address) {
  return static_cast<int32_t>((reinterpret_cast<uintptr_t>(address) / sizeof(int32_t)) % 4);
}

}  // namespace slotproof
