#pragma once
// How both halves of the decoder choose, whatever the stream of choices is. Choice 0 is the plainest.
//
// Two draws never stand in one expression whose operands a compiler may evaluate in either order, as arguments are: the same seed
// draws the same cases with every compiler.

#include "property_tests/harness/decoder.h"
#include "property_tests/harness/decoder_elements.h"

#include <functional>
#include <initializer_list>

namespace slotproof::harness {

class Chooser {
 public:
  template <class Stream>
  Chooser(Stream& choices, const DecoderOptions& options) : below_([&choices](uint32_t bound) { return choices.below(bound); }), options_(options) {}

  uint32_t below(uint32_t bound) { return below_(bound); }  // in [0, bound)

 protected:
  bool one_in(uint32_t n) { return harness::one_in(*this, n); }
  int32_t up_to(int32_t most) { return harness::up_to(*this, most); }
  template <class T>
  T pick(std::initializer_list<T> values) {
    return values.begin()[below(uint32_t(values.size()))];
  }
  bool can(uint64_t capability) const { return (options_.capabilities & capability) == capability; }
  bool is_guarded() const { return options_.level != Level::kCore; }

 private:
  std::function<uint32_t(uint32_t)> below_;

 protected:
  const DecoderOptions& options_;
};

}  // namespace slotproof::harness
