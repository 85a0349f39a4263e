#include "kernels/team/checked_memory.h"

#include <algorithm>
#include <iterator>

namespace slotproof {
namespace {

// Shadow memory beyond this goes back after the launch: one huge call should not hold memory for ever.
constexpr std::size_t kKeptCells = std::size_t{1} << 20;

}  // namespace

const char* name_of(TensorId id) {
  static constexpr const char* kNames[kNumTensors] = {
      "req_id", "block_table", "token_indices", "prefill_request_id", "workspace_starts", "slots", "valid_counts",
      "row_counts", "totals"};
  return kNames[static_cast<std::size_t>(id)];
}

void CheckedMemory::begin_launch() {
  launch_time_ = ++now_;
  starts_.clear();
  for (Tensor& tensor : tensors_) {
    tensor.base = nullptr;
    tensor.rows = tensor.columns = 0;
    tensor.last_row_data = nullptr;
    tensor.last_row = -1;
  }
}

void CheckedMemory::set_tensor(TensorId id, const void* base, int32_t rows, int32_t columns, int64_t stride) {
  Tensor& tensor = tensors_[static_cast<std::size_t>(id)];
  tensor.base = base;
  tensor.rows = rows;
  tensor.columns = columns;
  tensor.stride = stride;
  if (is_output(id)) {
    const std::size_t size = static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
    if (tensor.cells.size() < size) tensor.cells.resize(size);
    if (is_counter(id) && tensor.adders.size() < size) tensor.adders.resize(size);
  }
}

void CheckedMemory::begin_cta(int32_t cta, int32_t width) {
  cta_ = cta;
  width_ = width;
  phase_ = kTeamScope;
  copies_.clear();
  cta_time_ = team_time_ = warp_time_ = ++now_;
  starts_.push_back({now_, cta});
}

void CheckedMemory::end_launch() {
  for (Tensor& tensor : tensors_) {
    if (tensor.cells.size() > kKeptCells) std::vector<Cell>().swap(tensor.cells);
  }
}

void CheckedMemory::find_row(TensorId id, Tensor& tensor, const void* row_data, int32_t i, Access access,
                             int32_t thread) {
  const auto offset = static_cast<int64_t>(reinterpret_cast<uintptr_t>(row_data) - reinterpret_cast<uintptr_t>(tensor.base)) /
                      static_cast<int64_t>(is_counter(id) ? sizeof(int64_t) : sizeof(int32_t));
  const bool one_row = tensor.rows == 1 || tensor.stride == 0;
  const int64_t row = one_row ? 0 : offset / tensor.stride;
  const bool has_elements = tensor.rows > 0 && tensor.columns > 0;
  if (!has_elements || row < 0 || row >= tensor.rows || offset != (one_row ? 0 : row * tensor.stride)) {
    throw_fault(FaultKind::kOverrun, access, {name_of(id), -1, offset + i}, thread);
  }
  tensor.last_row_data = row_data;
  tensor.last_row = row;
}

bool CheckedMemory::written_before(const Cell& cell, int32_t thread) const {
  if (cell.write_time < team_time_) return true;
  if (thread == kEveryThread) return width_ <= kWarpSize && cell.write_time < warp_time_;
  return cell.writer == thread || (cell.write_time < warp_time_ && same_warp(cell.writer, thread));
}

int32_t CheckedMemory::racing_sharer(uint64_t time, const Sharers& sharers, int32_t thread) const {
  if (time < team_time_) return kNobody;
  if (thread == kEveryThread) return width_ <= kWarpSize && time < warp_time_ ? kNobody : sharers.last;
  if (!same_warp(sharers.last, thread)) return sharers.last;
  if (sharers.far != kNobody) return sharers.far;
  if (time < warp_time_) return kNobody;
  return sharers.last != thread ? sharers.last : sharers.of_warp;
}

void CheckedMemory::record(uint64_t& time, Sharers& sharers, int32_t thread) const {
  if (thread == kEveryThread) {
    sharers.last = 0;
    sharers.of_warp = 1;
    sharers.far = width_ > kWarpSize ? kWarpSize : kNobody;
  } else {
    const auto sharer = static_cast<int16_t>(thread);
    if (time < team_time_) {
      sharers.of_warp = sharers.far = kNobody;
    } else if (!same_warp(sharers.last, thread)) {
      sharers.far = sharers.last;
      sharers.of_warp = kNobody;
    } else if (time < warp_time_) {
      sharers.of_warp = kNobody;
    } else if (sharers.last != sharer) {
      sharers.of_warp = sharers.last;
    }
    sharers.last = sharer;
  }
  time = now_;
}

void CheckedMemory::check_read(const Cell& cell, const Place& place, int32_t thread) const {
  if (!written_before(cell, thread)) throw_race(Access::kRead, place, thread, Access::kWrite, cta_, cell.writer);
}

// Of a write, or of an add, which meets writers and readers as a write does.
void CheckedMemory::check_write(const Cell& cell, Access access, const Place& place, int32_t thread) const {
  if (!written_before(cell, thread)) throw_race(access, place, thread, Access::kWrite, cta_, cell.writer);
  const int32_t reader = racing_sharer(cell.read_time, cell.readers, thread);
  if (reader != kNobody) throw_race(access, place, thread, Access::kRead, cta_, reader);
}

// Nothing orders two CTAs of one launch. What a CTA reads, it wrote or added to itself, so only an add can meet a reader of
// another CTA that no writer of that CTA hides.
void CheckedMemory::check_other_ctas(const Cell& cell, Access access, const Place& place, int32_t thread) const {
  if (is_of_other_cta(cell.write_time)) {
    throw_race(access, place, thread, Access::kWrite, cta_at(cell.write_time), cell.writer);
  }
  if (access == Access::kAdd && is_of_other_cta(cell.read_time)) {
    throw_race(access, place, thread, Access::kRead, cta_at(cell.read_time), cell.readers.last);
  }
}

// A read or write that is not ordered behind every add.
void CheckedMemory::check_adders(const Adders& adders, Access access, const Place& place, int32_t thread) const {
  if (is_of_other_cta(adders.time)) {
    throw_race(access, place, thread, Access::kAdd, cta_at(adders.time), adders.threads.last);
  }
  if (is_of_other_cta(adders.time_of_other_cta)) {
    throw_race(access, place, thread, Access::kAdd, cta_at(adders.time_of_other_cta), adders.thread_of_other_cta);
  }
  const int32_t adder = racing_sharer(adders.time, adders.threads, thread);
  if (adder != kNobody) throw_race(access, place, thread, Access::kAdd, cta_, adder);
}

int32_t CheckedMemory::cta_at(uint64_t time) const {
  const auto after = std::upper_bound(starts_.begin(), starts_.end(), time,
                                      [](uint64_t t, const CtaStart& start) { return t < start.time; });
  return std::prev(after)->cta;
}

void CheckedMemory::read_output(TensorId id, Tensor& tensor, int32_t i, int32_t count, int32_t thread) {
  for (int32_t e = i; e < i + count; ++e) {
    const auto index = static_cast<std::size_t>(tensor.last_row * tensor.columns + e);
    Cell& cell = tensor.cells[index];
    const Place place{name_of(id), tensor.last_row, e};
    check_other_ctas(cell, Access::kRead, place, thread);
    if (is_counter(id)) check_adders(tensor.adders[index], Access::kRead, place, thread);
    const bool is_added_to = is_counter(id) && tensor.adders[index].time >= launch_time_;
    if (cell.write_time < launch_time_ && !is_added_to) throw_fault(FaultKind::kStaleRead, Access::kRead, place, thread);
    check_read(cell, place, thread);
    record(cell.read_time, cell.readers, thread);
  }
}

void CheckedMemory::write_tensor(TensorId id, const void* row_data, int32_t row_size, int32_t i, int32_t count,
                                 int32_t thread) {
  Tensor& tensor = check_bounds(id, row_data, row_size, i, count, Access::kWrite, thread);
  for (int32_t e = i; e < i + count; ++e) {
    const auto index = static_cast<std::size_t>(tensor.last_row * tensor.columns + e);
    Cell& cell = tensor.cells[index];
    if (is_counter(id) || is_touched_since(launch_time_, cell)) check_tensor_write(id, tensor, index, e, thread);
    cell.write_time = now_;
    cell.writer = static_cast<int16_t>(thread);
  }
}

void CheckedMemory::check_tensor_write(TensorId id, const Tensor& tensor, std::size_t index, int32_t e, int32_t thread) const {
  const Place place{name_of(id), tensor.last_row, e};
  check_other_ctas(tensor.cells[index], Access::kWrite, place, thread);
  if (is_counter(id)) check_adders(tensor.adders[index], Access::kWrite, place, thread);
  check_write(tensor.cells[index], Access::kWrite, place, thread);
}

void CheckedMemory::add_to_tensor(TensorId id, const void* row_data, int32_t row_size, int32_t i, int32_t thread) {
  Tensor& tensor = check_bounds(id, row_data, row_size, i, 1, Access::kAdd, thread);
  const auto index = static_cast<std::size_t>(tensor.last_row * tensor.columns + i);
  const Place place{name_of(id), tensor.last_row, i};
  check_other_ctas(tensor.cells[index], Access::kAdd, place, thread);
  check_write(tensor.cells[index], Access::kAdd, place, thread);
  Adders& adders = tensor.adders[index];
  if (is_of_other_cta(adders.time)) {
    adders.time_of_other_cta = adders.time;
    adders.thread_of_other_cta = adders.threads.last;
  }
  record(adders.time, adders.threads, thread);
}

CheckedMemory::SharedBlock& CheckedMemory::shared_block(const void* key, const char* name, int32_t size,
                                                        std::size_t size_bytes) {
  if (last_block_ != nullptr && last_block_->key == key) return *last_block_;
  for (const auto& block : blocks_) {
    if (block->key == key) return *(last_block_ = block.get());
  }
  const std::size_t units = (size_bytes + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t);
  auto block = std::make_unique<SharedBlock>(
      SharedBlock{key, name, size, std::make_unique<std::max_align_t[]>(units),
                  std::vector<Cell>(static_cast<std::size_t>(size))});
  static_assert(alignof(std::max_align_t) % 16 == 0);
  blocks_.push_back(std::move(block));
  return *(last_block_ = blocks_.back().get());
}

void CheckedMemory::read_shared(SharedBlock& block, int32_t i, int32_t count, std::size_t vector_bytes, int32_t thread) {
  if (i < 0 || i >= block.size || count > block.size - i) {
    throw_at(block, FaultKind::kOverrun, Access::kRead, first_outside(i, block.size), thread);
  }
  if (count > 1 && static_cast<std::size_t>(i) * (vector_bytes / static_cast<std::size_t>(count)) % vector_bytes != 0) {
    throw_at(block, FaultKind::kMisaligned, Access::kRead, i, thread);
  }
  for (int32_t e = i; e < i + count; ++e) {
    Cell& cell = block.cells[static_cast<std::size_t>(e)];
    if (cell.write_time < cta_time_) throw_at(block, FaultKind::kStaleRead, Access::kRead, e, thread);
    if (cell.write_time >= team_time_) check_shared(block, cell, Access::kRead, e, thread);
    record(cell.read_time, cell.readers, thread);
  }
}

void CheckedMemory::write_shared(SharedBlock& block, int32_t i, int32_t thread) {
  if (i < 0 || i >= block.size) throw_at(block, FaultKind::kOverrun, Access::kWrite, i, thread);
  Cell& cell = block.cells[static_cast<std::size_t>(i)];
  const bool is_own = cell.writer == thread && cell.read_time < team_time_;  // nobody else touched it: what is dropped, for one
  if (!is_own && is_touched_since(team_time_, cell)) check_shared(block, cell, Access::kWrite, i, thread);
  cell.write_time = now_;
  cell.writer = static_cast<int16_t>(thread);
}

void CheckedMemory::check_shared(const SharedBlock& block, const Cell& cell, Access access, int32_t i, int32_t thread) const {
  const Place place{block.name, -1, i};
  if (access == Access::kRead) {
    check_read(cell, place, thread);
  } else {
    check_write(cell, access, place, thread);
  }
}

void CheckedMemory::throw_at(const SharedBlock& block, FaultKind kind, Access access, int64_t i, int32_t thread) const {
  throw_fault(kind, access, {block.name, -1, i}, thread);
}

void CheckedMemory::throw_fault(FaultKind kind, Access access, const Place& place, int32_t thread) const {
  MemoryFault fault;
  fault.kind = kind;
  fault.access = access;
  fault.phase = phase_;
  fault.cta = fault.other_cta = cta_;
  fault.thread = thread;
  fault.array = place.array;
  fault.row = place.row;
  fault.element = place.element;
  throw fault;
}

void CheckedMemory::throw_race(Access access, const Place& place, int32_t thread, Access other_access, int32_t other_cta,
                               int32_t other_thread) const {
  MemoryFault fault;
  fault.kind = FaultKind::kRace;
  fault.access = access;
  fault.phase = phase_;
  fault.cta = cta_;
  fault.thread = thread;
  fault.array = place.array;
  fault.row = place.row;
  fault.element = place.element;
  fault.other_access = other_access;
  fault.other_cta = other_cta;
  fault.other_thread = other_thread;
  throw fault;
}

void CheckedMemory::throw_not_uniform(int32_t thread, int32_t other_thread) const {
  MemoryFault fault;
  fault.kind = FaultKind::kNotUniform;
  fault.phase = phase_;
  fault.cta = fault.other_cta = cta_;
  fault.thread = thread;
  fault.other_thread = other_thread;
  throw fault;
}

}  // namespace slotproof
