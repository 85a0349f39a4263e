#include "kernels/storage_overlap.h"

#include <algorithm>
#include <utility>

namespace slotproof {
namespace {

__extension__ using Wide = __int128;

// Rows [first + i * stride, + columns), i in [0, rows): one row, or rows with a gap between each two.
struct Rows {
  Wide first;
  Wide rows;
  Wide columns;
  Wide stride;
  Wide end() const { return first + (rows - 1) * stride + columns; }
};

Rows rows_of(const Storage& storage) {
  const Wide first = storage.address / sizeof(int32_t);
  const Wide rows = storage.rows;
  if (storage.stride <= storage.columns) {  // The rows touch or overlap, so their union is one.
    return {first, 1, (rows - 1) * storage.stride + storage.columns, 0};
  }
  return {first, rows, storage.columns, rows == 1 ? 0 : storage.stride};
}

Wide floor_quotient(Wide a, Wide b) {  // b > 0
  const Wide quotient = a / b;
  return a % b < 0 ? quotient - 1 : quotient;
}

// Sum of floor((a * i + b) / m) over i in [0, n), for a, b >= 0 and m > 0. Each turn is a step of Euclid's algorithm on
// (m, a): whole parts are summed at once, and what is left counts the same lattice points along the other axis.
Wide floor_sum(Wide n, Wide m, Wide a, Wide b) {
  Wide sum = 0;
  while (true) {
    sum += n * (n - 1) / 2 * (a / m) + n * (b / m);
    a %= m;
    b %= m;
    const Wide top = a * n + b;
    if (top < m) return sum;
    n = top / m;
    b = top % m;
    std::swap(m, a);
  }
}

// Over i in [0, n): the sum of how many j in [0, limit) have j * m <= a * i + b. Requires a, m > 0.
Wide count_at_most(Wide n, Wide limit, Wide m, Wide a, Wide b) {
  // i < none: no j. i >= all: every j. Between them floor((a * i + b) / m) + 1 is right as it is.
  const Wide none = std::clamp<Wide>(floor_quotient(-b - 1, a) + 1, 0, n);
  const Wide all = std::clamp<Wide>(floor_quotient((limit - 1) * m - b - 1, a) + 1, none, n);
  const Wide middle = all - none;
  return middle + floor_sum(middle, m, a, a * none + b) + (n - all) * limit;
}

// Some row of `many` and the one row [begin, end) share an element.
bool meets_interval(const Rows& many, Wide begin, Wide end) {
  const Wide first = std::max<Wide>(floor_quotient(begin - many.columns - many.first, many.stride) + 1, 0);
  const Wide last = std::min<Wide>(floor_quotient(end - 1 - many.first, many.stride), many.rows - 1);
  return first <= last;
}

}  // namespace

bool shares_element(const Storage& a, const Storage& b) noexcept {
  if (a.rows == 0 || a.columns == 0 || b.rows == 0 || b.columns == 0) return false;
  const Rows x = rows_of(a);
  const Rows y = rows_of(b);
  if (x.end() <= y.first || y.end() <= x.first) return false;
  if (x.rows == 1 && y.rows == 1) return true;
  if (y.rows == 1) return meets_interval(x, y.first, y.end());
  if (x.rows == 1) return meets_interval(y, x.first, x.end());
  // Row j of y meets row i of x if it begins before x's row ends, but does not end before x's row begins.
  const Wide offset = x.first - y.first;
  return count_at_most(x.rows, y.rows, y.stride, x.stride, offset + x.columns - 1) >
         count_at_most(x.rows, y.rows, y.stride, x.stride, offset - y.columns);
}

}  // namespace slotproof
