#pragma once
// Division by a number that is fixed for a launch: one multiplication and one shift.

#include "kernels/team/team.h"

#include <bit>
#include <cstdint>

namespace slotproof {

enum class Sizes : uint8_t { kAny, kPowersOfTwo };  // what a kernel's divisors may be

// quotient(n) == n / d for every n in [0, 2^31) and d in [1, 2^31].
//
// Proof. Let l = ceil(log2 d) and m = ceil(2^(31+l) / d), so m * d = 2^(31+l) + e with 0 <= e < d <= 2^l. Then
// n * m / 2^(31+l) = n/d + n*e / (d * 2^(31+l)), and the last term is below n * 2^l / (d * 2^(31+l)) = n / (d * 2^31) < 1/d.
// n/d is at least 1/d below the next whole number, so both have the same floor.
// m fits 32 bits: a power of two gives 2^31. For another d, d >= 2^(l-1) + 1, so 2^(31+l) / d <= 2^32 - 2^32 / (2^(l-1) + 1) < 2^32 - 3.
// The high half of 2n * m is floor(n * m / 2^31), as 2n fits 32 bits. For n >= 2^31 the result is some number, harmlessly.
// For d = 2^k, l is k: a kernel of Sizes::kPowersOfTwo shifts by it.
struct FastDivisor {
  uint32_t divisor;
  uint32_t minus_divisor;  // 2^32 - divisor
  uint32_t multiplier;
  uint32_t shift;

  template <Sizes kSizes = Sizes::kAny>
  SLOTPROOF_HD uint32_t quotient(uint32_t n) const {
    if constexpr (kSizes == Sizes::kPowersOfTwo) return n >> shift;
#if defined(__CUDA_ARCH__)
    return __umulhi(n << 1, multiplier) >> shift;
#else
    return static_cast<uint32_t>((uint64_t{n << 1} * multiplier) >> 32) >> shift;
#endif
  }

  // n - quotient * divisor, exact as it wraps twice. As one multiplication and addition, for the factor is ready.
  template <Sizes kSizes = Sizes::kAny>
  SLOTPROOF_HD uint32_t remainder(uint32_t n, uint32_t quotient) const {
    if constexpr (kSizes == Sizes::kPowersOfTwo) return n & ~minus_divisor;  // ~(2^32 - d) is d - 1
    return n + quotient * minus_divisor;
  }
};

constexpr FastDivisor fast_divisor(uint32_t d) {
  const auto shift = static_cast<uint32_t>(std::bit_width(d - 1));
  const uint64_t power = uint64_t{1} << (31 + shift);
  return {d, 0u - d, static_cast<uint32_t>((power + d - 1) / d), shift};
}

}  // namespace slotproof
