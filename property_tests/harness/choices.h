#pragma once
// Streams of choices. The decoder asks for numbers below a bound and makes a problem of the answers; where they come from is
// no concern of its: a seed, a fuzzer's bytes, a counter on the device.
//
// A stream is total: it always answers. Answer 0 is the plainest choice everywhere.

#include <cstddef>
#include <cstdint>

namespace slotproof::harness {

// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): the numbers of stream (seed, case)
// can be had in any order and on any machine.
class PhiloxChoices {
 public:
  PhiloxChoices(uint64_t seed, uint64_t case_index)
      : key_{uint32_t(seed), uint32_t(seed >> 32)}, case_{uint32_t(case_index), uint32_t(case_index >> 32)} {}

  // In [0, bound), bound >= 1. The bias is below bound / 2^32.
  uint32_t below(uint32_t bound) { return uint32_t((uint64_t{next()} * bound) >> 32); }
  uint64_t bits64() { return uint64_t{next()} << 32 | next(); }

 private:
  uint32_t next() {
    if (used_ == 4) {
      refill();
      used_ = 0;
    }
    return block_[used_++];
  }

  void refill() {
    uint32_t x[4] = {counter_++, 0, case_[0], case_[1]};
    uint32_t k0 = key_[0], k1 = key_[1];
    for (int round = 0; round < 10; ++round) {
      const uint64_t p0 = uint64_t{0xD2511F53u} * x[0], p1 = uint64_t{0xCD9E8D57u} * x[2];
      const uint32_t y0 = uint32_t(p1 >> 32) ^ x[1] ^ k0, y2 = uint32_t(p0 >> 32) ^ x[3] ^ k1;
      x[0] = y0;
      x[1] = uint32_t(p1);
      x[2] = y2;
      x[3] = uint32_t(p0);
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    for (int i = 0; i < 4; ++i) block_[i] = x[i];
  }

  uint32_t key_[2], case_[2], counter_ = 0;
  uint32_t block_[4] = {};
  int used_ = 4;
};

// A fuzzer's bytes: each choice takes as few bytes as its bound needs, and past the end every choice is 0.
class ByteChoices {
 public:
  ByteChoices(const uint8_t* bytes, size_t size) : bytes_(bytes), size_(size) {}

  uint32_t below(uint32_t bound) {
    const int width = bound <= 1u << 8 ? 1 : bound <= 1u << 16 ? 2 : 4;
    return uint32_t(take(width) % bound);
  }
  uint64_t bits64() { return take(8); }

 private:
  uint64_t take(int width) {
    uint64_t value = 0;
    for (int i = 0; i < width; ++i) value |= uint64_t{position_ < size_ ? bytes_[position_++] : uint8_t{0}} << (8 * i);
    return value;
  }

  const uint8_t* bytes_;
  size_t size_;
  size_t position_ = 0;
};

}  // namespace slotproof::harness
