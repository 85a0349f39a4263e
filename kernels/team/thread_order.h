#pragma once
// The orders in which the host runs threads and CTAs: permutations that a seed picks. Seed 0 is ascending, seed 1 is
// descending, every other seed mixes both with affine orders, anew for each phase.

#include <cstdint>
#include <numeric>

namespace slotproof {

// The finalizer of splitmix64 (Steele, Lea, Flood 2014).
constexpr uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// at(0), at(1), ... at(size - 1) is each of 0 ... size - 1 once.
class Permutation {
 public:
  Permutation(uint64_t seed, uint64_t turn, uint32_t size) : size_(size) {
    const uint64_t bits = mixed(seed ^ mixed(turn));
    const bool ascending = seed == 0 || (seed > 1 && bits % 4 == 0);
    const bool descending = seed == 1 || (seed > 1 && bits % 4 == 1);
    if (size < 2 || ascending) return;
    if (descending) {
      factor_ = offset_ = size - 1;
      return;
    }
    offset_ = static_cast<uint32_t>((bits >> 2) % size);
    factor_ = static_cast<uint32_t>((bits >> 33) % size);
    while (std::gcd(factor_, size) != 1) factor_ = factor_ + 1 < size ? factor_ + 1 : 1;
  }
  int32_t at(uint32_t i) const { return static_cast<int32_t>((uint64_t{factor_} * i + offset_) % size_); }

 private:
  uint32_t size_;
  uint32_t factor_ = 1;
  uint32_t offset_ = 0;
};

}  // namespace slotproof
