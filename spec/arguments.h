#pragma once
// Which calls are refused, and by which rule (A1-A15).

#include "spec/problem.h"
#include "spec/rules.h"

#include <optional>
#include <string>

namespace slotproof::spec {

struct Refusal {
  Rule rule;
  std::string message;  // names the arguments and their values
};

// The first rule that the call breaks, in the order A1 ... A15. Reads no tensor element.
std::optional<Refusal> refusal_of(const RemapProblem& problem);

}  // namespace slotproof::spec
