// The division by a fixed number, against the machine's own: around every multiple that could come out one off.

#include "kernels/fast_divisor.h"

#include <gtest/gtest.h>

#include <bit>

namespace slotproof {
namespace {

constexpr uint32_t kEnd = uint32_t{1} << 31;  // one above the largest number, and the largest divisor

template <Sizes kSizes>
void expect_exact(const FastDivisor& divisor, uint32_t d, uint32_t n) {
  ASSERT_EQ(divisor.quotient<kSizes>(n), n / d) << n << " / " << d;
  ASSERT_EQ(divisor.remainder<kSizes>(n, n / d), n % d) << n << " % " << d;
}

void expect_exact(uint32_t d) {
  const FastDivisor divisor = fast_divisor(d);
  const auto expect = [&](uint64_t n) {
    if (n >= kEnd) return;
    expect_exact<Sizes::kAny>(divisor, d, uint32_t(n));
    if (std::has_single_bit(d)) expect_exact<Sizes::kPowersOfTwo>(divisor, d, uint32_t(n));
  };
  const uint64_t last = (kEnd - 1) / d;  // the largest quotient
  for (const uint64_t quotient : {uint64_t{0}, uint64_t{1}, uint64_t{2}, uint64_t{3}, last / 3, last / 2, last - last / 5, last - (last > 0), last, last + 1}) {
    for (const int64_t off : {-2, -1, 0, 1, 2}) expect(quotient * d + uint64_t(off));
  }
  for (int bit = 0; bit < 31; ++bit) {
    for (const int64_t off : {-1, 0, 1}) expect((uint64_t{1} << bit) + uint64_t(off));
  }
  expect(kEnd - 1);
}

TEST(FastDivisor, IsExactForEverySmallDivisorAndAroundEveryPowerOfTwo) {
  for (uint32_t d = 1; d <= 5000; ++d) expect_exact(d);
  for (int bit = 12; bit <= 31; ++bit) {
    for (const int64_t off : {-3, -2, -1, 0, 1, 2, 3}) {
      const int64_t d = (int64_t{1} << bit) + off;
      if (d <= int64_t{kEnd}) expect_exact(uint32_t(d));
    }
  }
}

TEST(FastDivisor, IsExactForDivisorsAllOverTheRange) {
  for (uint64_t d = 5001; d <= kEnd; d += d / 97 + 1) expect_exact(uint32_t(d));
}

// What a kernel computes of a negative position means nothing, but has a value.
TEST(FastDivisor, HasAValueForEveryBitPattern) {
  for (const uint32_t d : {1u, 3u, 64u, kEnd - 1, kEnd}) {
    const FastDivisor divisor = fast_divisor(d);
    for (const uint32_t n : {kEnd, kEnd + 1, UINT32_MAX, UINT32_MAX - d}) {
      const uint32_t quotient = divisor.quotient(n);
      EXPECT_EQ(divisor.remainder(n, quotient), n - quotient * d);
    }
  }
}

}  // namespace
}  // namespace slotproof
