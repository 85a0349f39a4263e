#pragma once
// What a fuzzer takes for new: the counters of the edges that an input reached.

#include <vector>

namespace slotproof::fuzz {

// While one lives, what runs counts for nothing. The judge runs on one input in sixteen and calls the bodies four times, so else every
// judged input would look new: the corpus would fill with them, and most of the time would go to judging.
class Unsteered {
 public:
  Unsteered();
  ~Unsteered();
  Unsteered(const Unsteered&) = delete;
  Unsteered& operator=(const Unsteered&) = delete;

 private:
  std::vector<unsigned char>& counters_;
};

}  // namespace slotproof::fuzz
