#include "fuzz/target.h"

namespace slotproof::fuzz {
namespace {

constexpr const Target* kTargets[] = {&kRemap, &kRemapWide, &kDiagnosis, &kDcpLaws, &kFlatRowView, &kArguments, &kCaseFile, &kTiling};

}  // namespace

std::span<const Target* const> targets() {
  return kTargets;
}

const Target* target_of(std::string_view name) {
  for (const Target* target : kTargets) {
    if (name == target->name) return target;
  }
  return nullptr;
}

uint32_t hash_of(Input input) {
  uint32_t hash = 2166136261u;  // FNV-1a
  for (const uint8_t byte : input) hash = (hash ^ byte) * 16777619u;
  return hash;
}

bool is_sampled(Input input) {
  return (hash_of(input) >> 16) % 16 == 0;
}

}  // namespace slotproof::fuzz
