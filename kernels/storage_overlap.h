#pragma once
// Whether two tensors share an element, by row arithmetic (A15): interleaved rows that never touch do not overlap, however
// much their intervals do.

#include <cstdint>

namespace slotproof {

// int32[rows, columns], rows `stride` elements apart. `address` is a multiple of 4 where there are elements.
struct Storage {
  uintptr_t address = 0;
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t stride = 0;  // >= 0
};

// O(log) in the extents. Extents below 2^31, strides up to 2^60; the tensors need not fit the address space.
bool shares_element(const Storage& a, const Storage& b) noexcept;

}  // namespace slotproof
