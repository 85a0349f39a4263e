#pragma once
// Our kernels' host execution against the reference: the same call on two copies of the same memory, of which every word is then
// compared. So what is written outside of the outputs differs as a wrong slot does.

#include "fuzz/target.h"
#include "property_tests/harness/backend.h"

namespace slotproof::fuzz {

// The remap. With is_judged also every invariant of the spec, by the harness's judge, and the fast host against the reference.
Outcome compare_remap(const harness::RemapCase& remap_case, bool is_judged);

// A fault's message without its numbers: what faults of one kind have in common.
std::string kind_of_fault(const std::string& message);

// Rule ids, or "accepted".
std::string text_of(const std::optional<spec::Rule>& refused);

// What the reference makes of a frame's call: it runs on a copy of the frame's memory as it is before the call.
class ReferenceRun {
 public:
  // `storage` holds the copy and may be used again once this is gone.
  ReferenceRun(harness::Frame& frame, std::vector<int32_t>& storage);

  const std::optional<spec::Rule>& refused() const { return refused_; }
  // Whether a call of the frame that ended so left behind what the reference did; where the order of a prefix is free, both are sorted
  // in place.
  bool agrees(harness::Frame& frame, const std::optional<spec::Rule>& got) const;
  // The first word in which the memories differ, -1 where none does.
  int64_t first_difference(harness::Frame& frame) const;

 private:
  int32_t* words_;
  std::optional<spec::Rule> refused_;
};

// Copies a frame's arena to a 16-byte boundary in `storage`.
int32_t* copy_of_arena(harness::Frame& frame, std::vector<int32_t>& storage);
int64_t first_difference(harness::Frame& frame, const int32_t* words);

}  // namespace slotproof::fuzz
