#pragma once
// Our kernels' host execution against the reference: the same call on two copies of the same memory, of which every word is then
// compared. So what is written outside of the outputs differs as a wrong slot does.

#include "fuzz/target.h"
#include "property_tests/harness/backend.h"

namespace slotproof::fuzz {

// The remap. With is_judged also every invariant of the spec, by the harness's judge.
Outcome compare_remap(const harness::RemapCase& remap_case, bool is_judged);

// A fault's message without its numbers: what faults of one kind have in common.
std::string kind_of_fault(const std::string& message);

// Rule ids, or "accepted".
std::string text_of(const std::optional<spec::Rule>& refused);

// A copy of a frame's arena, on a 16-byte boundary too. One a thread, reused by the next.
class ArenaCopy {
 public:
  explicit ArenaCopy(harness::Frame& frame);
  int32_t* words() const { return words_; }
  // The first word in which the two differ, -1 where none does.
  int64_t first_difference(harness::Frame& frame) const;

 private:
  int32_t* words_;
};

}  // namespace slotproof::fuzz
