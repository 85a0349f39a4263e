#pragma once
// What a fuzz target is: a function from bytes to a verdict. libFuzzer (libfuzzer_main.cpp), fuzz_replay and `slotproof promote`
// call the same one.

#include "property_tests/harness/case_file.h"
#include "property_tests/harness/choices.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace slotproof::fuzz {

using Input = std::span<const uint8_t>;

// What one input showed.
struct Outcome {
  bool is_compared = false;  // two answers were compared; else the input said nothing, and no corpus keeps it
  std::string finding;       // what two findings of one fault have in common: "stable_order"; empty where all agreed
  std::string detail;        // for a person
};

// The differential comparison alone, with the spec's invariants on one input in sixteen; or the invariants on every input.
enum class Depth : uint8_t { kQuick, kFull };

struct Target {
  const char* name;  // "remap"
  const char* what;
  Outcome (*run)(Input input, Depth depth);
  // Reads the input's choices as run() does, for the mutator. Null where inputs are not choices.
  void (*decode)(harness::ByteChoices& choices);
  // The input as a case, with the spec's answer; nothing where the input is no problem. Null where case files have no such op.
  std::optional<harness::Case> (*case_of)(Input input);
  // Its own mutator for what is not choices (case text, files): changes `text` using random numbers of `random`. May be null.
  bool (*mutate_text)(std::string& text, uint32_t random);
  // The remap problem that other back ends get too (follow.h); nothing where the input is none. Null where they get nothing.
  std::optional<harness::RemapCase> (*remap_case)(Input input) = nullptr;
};

extern const Target kRemap, kRemapWide, kDiagnosis, kDcpLaws, kFlatRowView, kArguments, kCaseFile, kTiling;
std::span<const Target* const> targets();
const Target* target_of(std::string_view name);  // null where there is none

// What a target chooses beside the problem, and which one input in sixteen is judged in full, comes from the input alone: a
// replay does what the fuzzer did.
uint32_t hash_of(Input input);
bool is_sampled(Input input);

inline Outcome finding_of(std::string finding, std::string detail) {
  return {true, std::move(finding), std::move(detail)};
}

}  // namespace slotproof::fuzz
