// Asynchronous copies into shared memory: begun by a thread, in effect at the team's wait.

#include "kernels/team/checked_memory.h"

namespace slotproof {
namespace {

constexpr uint64_t kNeverWritten = 0;

}  // namespace

void CheckedMemory::begin_copy(SharedBlock& block, int32_t i, int32_t count, const int32_t* from, int32_t thread) {
  if (i < 0 || i >= block.size || count > block.size - i) {
    throw_fault(FaultKind::kOverrun, Access::kWrite, {block.name, -1, first_outside(i, block.size)}, thread);
  }
  if (i % count != 0) throw_fault(FaultKind::kMisaligned, Access::kWrite, {block.name, -1, i}, thread);
  for (int32_t e = i; e < i + count; ++e) {
    Cell& cell = block.cells[static_cast<std::size_t>(e)];
    check_write(cell, Access::kWrite, {block.name, -1, e}, thread);
    cell.write_time = kNeverWritten;
  }
  copies_.push_back({&block, from, i, count, thread});
}

void CheckedMemory::end_copies() {
  for (const Copy& copy : copies_) {
    for (int32_t e = copy.i; e < copy.i + copy.count; ++e) {
      Cell& cell = copy.block->cells[static_cast<std::size_t>(e)];
      if (cell.write_time != kNeverWritten) {
        throw_race(Access::kWrite, {copy.block->name, -1, e}, copy.thread, Access::kWrite, cta_, cell.writer);
      }
      cell.write_time = now_;
      cell.writer = static_cast<int16_t>(copy.thread);
    }
    int32_t* target = reinterpret_cast<int32_t*>(copy.block->data.get()) + copy.i;
    for (int32_t e = 0; e < copy.count; ++e) target[e] = copy.from != nullptr ? copy.from[e] : 0;
  }
  copies_.clear();
}

}  // namespace slotproof
