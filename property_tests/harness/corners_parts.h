#pragma once
// What corners*.cpp share.

#include "property_tests/harness/corners.h"

namespace slotproof::harness {

struct CornerMarks {
  CornerSet set;
  void mark(Corner corner, bool is_reached = true) {
    if (is_reached) set.set(std::size_t(corner));
  }
};

void read_call(const spec::RemapProblem& problem, CornerMarks& marks);  // of a call that is not refused

}  // namespace slotproof::harness
