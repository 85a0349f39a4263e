#pragma once
// The memory of one call: every tensor in an arena of its own words between guard words, outputs poisoned, and a copy of all
// of it from before the call. Whatever the call changes outside its outputs shows by comparing the two.

#include "property_tests/harness/remap_case.h"
#include "spec/invariants.h"

#include <span>

namespace slotproof::harness {

class Frame {
 public:
  // Lays the tensors out. Outputs, their gaps and all guards are filled with valid-looking slots drawn from poison_seed.
  Frame(const RemapCase& remap_case, uint64_t poison_seed);

  // The problem with pointers into this frame's arena, edits applied.
  spec::RemapProblem problem() { return problem_at(arena()); }
  // The same with the arena at another address (aligned to 16 bytes): shared memory, a child's copy, device memory.
  spec::RemapProblem problem_at(int32_t* arena) const;

  int32_t* arena() { return arena_begin(after_); }
  int64_t num_words() const { return num_words_; }

  // Whether every element of the edited problem lies in this frame's arena, so that a call that is not refused may be run.
  bool holds_every_element();

  // Tensors as regions of the arena, guards included; before and after.
  std::vector<spec::MemoryRegion> memory();

  struct Region {
    bool is_present = false;
    int64_t begin = 0;         // first guard word
    int64_t tensor_begin = 0;  // first element
    int64_t tensor_end = 0;    // behind the last word of the storage
    int64_t end = 0;           // behind the last guard word
  };
  const Region& region(Tensor tensor) const { return regions_[size_t(tensor)]; }

 private:
  static int32_t* arena_begin(std::vector<int32_t>& words);  // the first word on a 16-byte boundary

  RemapCase case_;  // without its tensors' storage
  std::array<Region, kNumTensors> regions_{};
  int64_t num_words_ = 0;
  std::vector<int32_t> before_, after_;
};

}  // namespace slotproof::harness
