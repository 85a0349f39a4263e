#pragma once
// A case with other rows than its own.

#include "property_tests/harness/remap_case.h"

namespace slotproof::harness {

// The case with the rows of these numbers, in this order; a negative number stands for a row of padding. The case's tensors agree on
// how many rows there are.
RemapCase with_rows(const RemapCase& remap_case, const std::vector<int32_t>& rows);

}  // namespace slotproof::harness
