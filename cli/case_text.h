#pragma once
// A problem as text that a person can read: for small problems all of it, for wide rows the beginning.

#include "property_tests/harness/remap_case.h"

#include <string>
#include <vector>

namespace slotproof::cli {

std::string text_of(const harness::RemapCase& remap_case);
std::string text_of(const std::vector<int32_t>& values);

}  // namespace slotproof::cli
