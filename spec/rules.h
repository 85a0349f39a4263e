#pragma once
// Every rule as data: what `slotproof rules` prints, what violations and refusals cite, what the docs are made from.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace slotproof::spec {

enum class Rule : uint8_t {
  R1, R2, R3, R4, R5, R6, R7, R8, R9, R10, R11, R12, R12u, R13, R14, R15,
  V1, V2, V3, V4, V5,
  VA1, VA2, VA3, VA4, VA5, VA6,
  P1, P2, P3, P4,
  G1, G2, G3, G4, G5, G6,
  A1, A2, A3, A4, A5, A6, A7, A8, A9, A10, A11, A12, A13, A14, A15,
};

struct RuleText {
  Rule rule;
  std::string_view id;         // "R12u"
  std::string_view title;      // "compaction, order unspecified"
  std::string_view statement;  // what must hold
  std::string_view reason;     // what goes wrong where it does not
};

std::span<const RuleText> rules();                       // in the order of the enumeration
const RuleText& text_of(Rule rule);
std::string_view id_of(Rule rule);
std::optional<Rule> rule_of(std::string_view id);        // nothing for an unknown id

// A1 is 1 ... A15 is 15: the number that status codes and plug-ins use. 0 for a rule that is no refusal of a remap call.
int argument_number_of(Rule rule);
Rule argument_rule_of(int number);  // number in [1, 15]

// Why an entry is none, or that it is not (G1): what the diagnosis counts, in the order of its columns.
enum class NoneReason : uint8_t {
  kSlot,             // it is none of the others
  kPadding,          // R1
  kWorkspace,        // R2, or R9 in a workspace row
  kForeignRank,      // R3
  kRequestRow,       // R5
  kColumn,           // R6
  kPhysicalBlock,    // R7
  kUnrepresentable,  // R9 in a decode row
};
inline constexpr int32_t kNumReasons = 8;
std::string_view name_of(NoneReason reason);  // "foreign_rank"

}  // namespace slotproof::spec
