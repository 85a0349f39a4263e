#pragma once
// The laws as data: what holds between several calls, or over all ranks at once. The invariants look at one call at a time, and
// nearly all of them compare with what the spec computes; a law compares calls with each other, or with the writer's own walk.
// property_tests/harness/laws.h runs them.

#include "spec/rules.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace slotproof::spec {

enum class Law : uint8_t {
  kPartition,
  kDense,
  kAlignment,
  kWriterAndReader,  // over all ranks
  kRows,
  kColumns,
  kBlocks,
  kPadding,
  kBatch,
  kOneRank,
  kCount,
  kCompaction,
  kThereAndBack,  // between calls
};
inline constexpr std::size_t kNumLaws = std::size_t(Law::kThereAndBack) + 1;

struct LawText {
  Law law;
  std::string_view id;     // "M3"; the laws over all ranks have the ids of the rules that they put to the test
  std::string_view title;  // "blocks"
  std::string_view statement;
  std::string_view premise;     // where it applies; empty: everywhere
  std::span<const Rule> rules;  // that a call must have broken where the law does not hold
};

std::span<const LawText> laws();  // in the order of the enumeration
const LawText& text_of(Law law);
std::string_view id_of(Law law);
std::optional<Law> law_of(std::string_view id);

}  // namespace slotproof::spec
