#include "fuzz/steering.h"

#include <algorithm>

// Where the compiler puts the counters; the linker defines both names where there are any.
extern "C" {
__attribute__((weak, visibility("hidden"))) extern unsigned char __start___sancov_cntrs[];
__attribute__((weak, visibility("hidden"))) extern unsigned char __stop___sancov_cntrs[];
}

namespace slotproof::fuzz {
namespace {

std::vector<unsigned char>& storage() {
  static thread_local std::vector<unsigned char> counters;
  return counters;
}

}  // namespace

Unsteered::Unsteered() : counters_(storage()) {
  counters_.assign(__start___sancov_cntrs, __stop___sancov_cntrs);
}

Unsteered::~Unsteered() {
  std::copy(counters_.begin(), counters_.end(), __start___sancov_cntrs);
}

}  // namespace slotproof::fuzz
