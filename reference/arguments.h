#pragma once
// Which calls are refused, and how a refusal is told: as a value that names the rule, the arguments and their values.

#include "spec/problem.h"
#include "spec/rules.h"

#include <sstream>
#include <string>
#include <variant>

namespace slotproof::reference {

struct Refusal {
  spec::Rule rule;
  std::string message;  // "block_stride_rows = 3 is below block_size = 4"
};

template <class Value> using Result = std::variant<Value, Refusal>;

template <class... Parts>
Refusal refuse(spec::Rule rule, const Parts&... parts) {
  std::ostringstream message;
  (message << ... << parts);
  return {rule, message.str()};
}

// The first of A1 ... A15 that the call, or the diagnosis of its problem (G5), breaks. Reads no tensor element.
std::optional<Refusal> validate(const spec::RemapProblem& problem);
std::optional<Refusal> validate(const spec::RemapProblem& problem, const spec::DiagnosisOutputs& outputs);

}  // namespace slotproof::reference
