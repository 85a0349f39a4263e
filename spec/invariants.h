#pragma once
// The invariants: functions from a problem and what a run of it left behind to the list of violations.

#include "spec/problem.h"
#include "spec/rules.h"

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace slotproof::spec {

enum class Invariant : uint8_t {
  kMinusOnePropagation,
  kBoundsSafety,
  kValidCountExactness,
  kCompactedPrefixSet,
  kStableOrder,
  kTailIsNone,
  kDcpOwnership,
  kInterleaveAlignment,
  kStridedViewNoOverlap,
  kGapRowsUntouched,
  kWriterReaderAgreement,
  kFrame,
  kDeterminism,
  kTilingInvariance,
  kWorkspaceMapping,
  kArgumentValidation,
};
inline constexpr std::size_t kNumInvariants = 16;

// Memory that a run could reach: the storage of one tensor with its gaps and guard words, before and after.
struct MemoryRegion {
  std::string_view name;
  const int32_t* before = nullptr;
  const int32_t* after = nullptr;  // the address that the problem's tensors point into
  int64_t num_words = 0;
};

// The outputs of a further run of the same problem, with something changed that must not matter.
struct Repeat {
  enum class Changed : uint8_t { kScheduleOrPoison, kTiling };
  Changed changed;
  std::string what;  // "team width 64, thread order 7"
  std::optional<Rule> refused;
  IndexMatrix slots;         // [T, K]
  IndexVector valid_counts;  // [T], or empty where counts were not asked for
};

// What one run left behind. The outputs themselves are read through problem.slots and problem.valid_counts.
struct RemapOutcome {
  std::optional<Rule> refused;  // the argument rule by which the call was refused
  std::vector<MemoryRegion> memory;
  std::vector<Repeat> repeats;
};

struct Violation {
  Invariant invariant;
  Rule rule;
  std::string place;  // "slots[1, 3]"
  std::string expected;
  std::string got;
  int32_t row = -1;     // where the place is an entry
  int32_t column = -1;
};

struct InvariantText {
  Invariant invariant;
  std::string_view name;       // "minus_one_propagation"
  std::string_view statement;
  std::span<const Rule> rules;  // that a violation may cite
};

std::span<const InvariantText> invariants();  // in the order of the enumeration
std::string_view name_of(Invariant invariant);

// All invariants on one run of one problem.
struct Report {
  std::array<bool, kNumInvariants> is_exercised{};  // whether the problem put the invariant to the test at all
  std::vector<Violation> violations;                // at most kMaxViolations of each invariant, in the order of the enumeration
};
inline constexpr std::size_t kMaxViolations = 8;
Report check_all(const RemapProblem& problem, const RemapOutcome& outcome);

// The violations of one invariant.
std::vector<Violation> check(Invariant invariant, const RemapProblem& problem, const RemapOutcome& outcome);

}  // namespace slotproof::spec
