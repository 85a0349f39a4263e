#pragma once
// Streams of choices. The decoder asks for numbers below a bound and makes a problem of the answers; where they come from is
// no concern of its: a seed, a fuzzer's bytes, a counter on the device.
//
// A stream is total: it always answers. Answer 0 is the plainest choice everywhere.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace slotproof::harness {

// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): the numbers of a stream can be had in any
// order and on any machine. A case has a stream of its own, and so has every element of every tensor of a bulk case. constexpr, so
// that a GPU draws the same numbers.
class PhiloxChoices {
 public:
  constexpr PhiloxChoices(uint64_t seed, uint64_t case_index) : PhiloxChoices(seed, case_index, 0, 0) {}
  // Element `element`, below 2^52, of what `part` stands for, 1 ... 15: 256 blocks of four numbers.
  constexpr PhiloxChoices(uint64_t seed, uint64_t case_index, uint32_t part, uint64_t element)
      : key_{uint32_t(seed), uint32_t(seed >> 32)},
        case_{uint32_t(case_index), uint32_t(case_index >> 32)},
        counter_(part << 28 | uint32_t(element >> 32) << 8),
        element_(uint32_t(element)) {}

  // In [0, bound), bound >= 1. The bias is below bound / 2^32.
  constexpr uint32_t below(uint32_t bound) { return uint32_t((uint64_t{next()} * bound) >> 32); }
  constexpr uint64_t bits64() {
    const uint64_t high = next();
    return high << 32 | next();
  }

 private:
  // The block moves up as it is used: a GPU has no registers that an index could choose among.
  constexpr uint32_t next() {
    if (num_left_ == 0) refill();
    const uint32_t number = block_[0];
    block_[0] = block_[1];
    block_[1] = block_[2];
    block_[2] = block_[3];
    --num_left_;
    return number;
  }

  constexpr void refill() {
    uint32_t x0 = counter_++, x1 = element_, x2 = case_[0], x3 = case_[1], k0 = key_[0], k1 = key_[1];
    for (int round = 0; round < 10; ++round) {
      const uint64_t p0 = uint64_t{0xD2511F53u} * x0, p1 = uint64_t{0xCD9E8D57u} * x2;
      x0 = uint32_t(p1 >> 32) ^ x1 ^ k0;
      x2 = uint32_t(p0 >> 32) ^ x3 ^ k1;
      x1 = uint32_t(p1);
      x3 = uint32_t(p0);
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    block_[0] = x0;
    block_[1] = x1;
    block_[2] = x2;
    block_[3] = x3;
    num_left_ = 4;
  }

  uint32_t key_[2], case_[2], counter_, element_;
  uint32_t block_[4] = {};
  int num_left_ = 0;
};

// Where a choice was read from a fuzzer's bytes: a mutator that knows changes one choice and leaves the others what they are.
struct ByteChoice {
  size_t offset;
  int width;       // bytes, little-endian
  uint32_t bound;  // of below(); 0 for bits64()
};

// A fuzzer's bytes: each choice takes as few bytes as its bound needs, and past the end every choice is 0. Choices are noted in
// `trace` where one is given, those past the end among them.
class ByteChoices {
 public:
  ByteChoices(const uint8_t* bytes, size_t size, std::vector<ByteChoice>* trace = nullptr) : bytes_(bytes), size_(size), trace_(trace) {}

  uint32_t below(uint32_t bound) {
    const int width = bound <= 1u << 8 ? 1 : bound <= 1u << 16 ? 2 : 4;
    return uint32_t(take(width, bound) % bound);
  }
  uint64_t bits64() { return take(8, 0); }

 private:
  uint64_t take(int width, uint32_t bound) {
    if (trace_ != nullptr) trace_->push_back({position_, width, bound});
    uint64_t value = 0;
    for (int i = 0; i < width; ++i, ++position_) value |= uint64_t{position_ < size_ ? bytes_[position_] : uint8_t{0}} << (8 * i);
    return value;
  }

  const uint8_t* bytes_;
  size_t size_;
  size_t position_ = 0;
  std::vector<ByteChoice>* trace_;
};

}  // namespace slotproof::harness
