#pragma once
// What the host knows of a launch's memory: where each tensor lies and who touched which element when. It finds overruns,
// misaligned vectors, reads of what nobody wrote, and races, without running threads at the same time: two accesses race
// if no barrier lies between them, whatever order they happened to run in.
//
// Time is one counter that every barrier raises. An access is ordered before thread t if the same thread made it, or if it
// is older than the last sync(), or older than the last sync_warp() and of t's warp. Time never goes back, also over
// launches, so shadow memory is reused and never cleared.

#include "kernels/team/team.h"

#include <slotproof/status.h>

#include <cstddef>
#include <memory>
#include <vector>

namespace slotproof {

enum class FaultKind : uint8_t { kOverrun, kMisaligned, kStaleRead, kRace, kNotUniform };
enum class Access : uint8_t { kRead, kWrite, kAdd };

inline constexpr int32_t kEveryThread = -1;
inline constexpr int32_t kNobody = -2;

// Thrown by a host context, caught by remap_on_host.
struct MemoryFault {
  FaultKind kind = FaultKind::kOverrun;
  Access access = Access::kRead;
  const char* phase = "";      // name of the phase; kTeamScope outside of one
  int32_t cta = 0;
  int32_t thread = kNobody;    // of the team; kEveryThread for an access at team scope
  const char* array = "";      // name of the tensor or of the shared array
  int64_t row = -1;            // of the tensor; -1 for a shared array, and for an address that begins no row
  int64_t element = 0;         // in the row, or in the array; from the tensor's first element where no row begins there
  Access other_access = Access::kRead;
  int32_t other_cta = 0;       // of a race
  int32_t other_thread = kNobody;
};
inline constexpr const char* kTeamScope = "team scope";

Status status_of(const MemoryFault& fault) noexcept;

const char* name_of(TensorId id);

class CheckedMemory {
 public:
  // Threads whose accesses of one element since the last sync() do not race with each other, be they reads or atomic adds: the
  // last one, another one of its warp since the last sync_warp(), and one of another warp. With these three, an access that
  // races with any of them is found to race with one of them.
  struct Sharers {
    int16_t last = kNobody;
    int16_t of_warp = kNobody;
    int16_t far = kNobody;
  };
  // Who touched one element last.
  struct Cell {
    uint64_t write_time = 0;
    uint64_t read_time = 0;
    int16_t writer = kNobody;
    Sharers readers;
  };
  // Of a counter also: who added to it, and the last CTA before this one that did.
  struct Adders {
    uint64_t time = 0;
    uint64_t time_of_other_cta = 0;
    Sharers threads;
    int16_t thread_of_other_cta = kNobody;
  };
  struct Tensor {
    const void* base = nullptr;
    int32_t rows = 0;
    int32_t columns = 0;
    int64_t stride = 0;
    std::vector<Cell> cells;     // of an output, row by row without gaps
    std::vector<Adders> adders;  // of counters, likewise
    const void* last_row_data = nullptr;  // the row of the last access
    int64_t last_row = -1;
  };
  struct SharedBlock {
    const void* key;
    const char* name;
    int32_t size;
    std::unique_ptr<std::max_align_t[]> data;
    std::vector<Cell> cells;
  };

  // Forgets all tensors; until they are set, every access to one is an overrun.
  void begin_launch();
  void set_tensor(TensorId id, const void* base, int32_t rows, int32_t columns, int64_t stride);
  void begin_cta(int32_t cta, int32_t width);
  void end_launch();

  void begin_phase(const char* name) { phase_ = name; }
  void end_phase() { phase_ = kTeamScope; }
  void sync() { team_time_ = warp_time_ = ++now_; }
  void sync_warp() { warp_time_ = ++now_; }

  // Elements [i, i + count) of the row that begins at row_data and that the body believes to have row_size elements.
  void read_tensor(TensorId id, const void* row_data, int32_t row_size, int32_t i, int32_t count, int32_t thread) {
    Tensor& tensor = check_bounds(id, row_data, row_size, i, count, Access::kRead, thread);
    if (is_output(id)) read_output(id, tensor, i, count, thread);
  }
  void write_tensor(TensorId id, const void* row_data, int32_t row_size, int32_t i, int32_t count, int32_t thread);
  // An atomic add to element i of a row of counters.
  void add_to_tensor(TensorId id, const void* row_data, int32_t row_size, int32_t i, int32_t thread);

  SharedBlock& shared_block(const void* key, const char* name, int32_t size, std::size_t size_bytes);
  void read_shared(SharedBlock& block, int32_t i, int32_t count, std::size_t vector_bytes, int32_t thread);
  void write_shared(SharedBlock& block, int32_t i, int32_t thread);
  // A copy of words, or of zeros from null, into [i, i + count) that takes effect at end_copies(); until then nobody wrote those
  // elements. A write of one of them in between may come before or behind the copy's own, whoever makes it: a race.
  void begin_copy(SharedBlock& block, int32_t i, int32_t count, const int32_t* from, int32_t thread);
  void end_copies();

  [[noreturn]] void throw_not_uniform(int32_t thread, int32_t other_thread) const;

 private:
  // Where an access goes, for a report.
  struct Place {
    const char* array;
    int64_t row;
    int64_t element;
  };

  Tensor& check_bounds(TensorId id, const void* row_data, int32_t row_size, int32_t i, int32_t count, Access access,
                       int32_t thread) {
    Tensor& tensor = tensors_[static_cast<std::size_t>(id)];
    if (row_data != tensor.last_row_data || row_data == nullptr) find_row(id, tensor, row_data, i, access, thread);
    const int32_t end = row_size < tensor.columns ? row_size : tensor.columns;
    const bool inside = i >= 0 && i < end && count <= end - i;
    if (!inside) throw_fault(FaultKind::kOverrun, access, {name_of(id), tensor.last_row, first_outside(i, end)}, thread);
    if (count > 1 && vector_phase_of(static_cast<const int32_t*>(row_data) + i) != 0) {
      throw_fault(FaultKind::kMisaligned, access, {name_of(id), tensor.last_row, i}, thread);
    }
    return tensor;
  }
  static int64_t first_outside(int32_t i, int32_t end) { return i >= 0 && i < end ? end : i; }

  void find_row(TensorId id, Tensor& tensor, const void* row_data, int32_t i, Access access, int32_t thread);
  void read_output(TensorId id, Tensor& tensor, int32_t i, int32_t count, int32_t thread);

  bool same_warp(int32_t a, int32_t b) const { return a / kWarpSize == b / kWarpSize; }
  bool written_before(const Cell& cell, int32_t thread) const;
  int32_t racing_sharer(uint64_t time, const Sharers& sharers, int32_t thread) const;
  void check_read(const Cell& cell, const Place& place, int32_t thread) const;
  void check_write(const Cell& cell, Access access, const Place& place, int32_t thread) const;
  void record(uint64_t& time, Sharers& sharers, int32_t thread) const;
  void check_other_ctas(const Cell& cell, Access access, const Place& place, int32_t thread) const;
  void check_adders(const Adders& adders, Access access, const Place& place, int32_t thread) const;
  // Whether anybody wrote or read the element from `time` on. No access of it can race where that is a barrier of the whole team.
  static bool is_touched_since(uint64_t time, const Cell& cell) { return cell.write_time >= time || cell.read_time >= time; }
  // What most accesses need not do, out of their way: with a Place in their own frames, sanitizers would watch over it each time.
  [[gnu::noinline]] void check_tensor_write(TensorId id, const Tensor& tensor, std::size_t index, int32_t e, int32_t thread) const;
  [[gnu::noinline]] void check_shared(const SharedBlock& block, const Cell& cell, Access access, int32_t i, int32_t thread) const;
  [[noreturn, gnu::noinline]] void throw_at(const SharedBlock& block, FaultKind kind, Access access, int64_t i, int32_t thread) const;
  bool is_of_other_cta(uint64_t time) const { return time >= launch_time_ && time < cta_time_; }
  int32_t cta_at(uint64_t time) const;

  struct Copy {
    SharedBlock* block;
    const int32_t* from;
    int32_t i;
    int32_t count;
    int32_t thread;
  };

  [[noreturn]] void throw_fault(FaultKind kind, Access access, const Place& place, int32_t thread) const;
  [[noreturn]] void throw_race(Access access, const Place& place, int32_t thread, Access other_access, int32_t other_cta,
                               int32_t other_thread) const;

  uint64_t now_ = 1;          // cells that nobody touched yet have time 0
  uint64_t team_time_ = 1;    // of the last sync() of this CTA, or its start
  uint64_t warp_time_ = 1;    // of the last barrier of any kind
  uint64_t cta_time_ = 1;     // of the start of this CTA
  uint64_t launch_time_ = 1;  // of the start of this launch
  int32_t cta_ = 0;
  int32_t width_ = kWarpSize;
  const char* phase_ = kTeamScope;
  Tensor tensors_[kNumTensors];
  std::vector<std::unique_ptr<SharedBlock>> blocks_;
  SharedBlock* last_block_ = nullptr;  // that was asked for: bodies ask for one again and again
  struct CtaStart {
    uint64_t time;
    int32_t cta;
  };
  std::vector<CtaStart> starts_;
  std::vector<Copy> copies_;  // of this CTA, begun and not ended
};

}  // namespace slotproof
