#pragma once
// Runs one case on one back end and judges what it left behind: every invariant, and the same again with another schedule,
// other poison and another tile.

#include "property_tests/harness/backend.h"
#include "property_tests/harness/corners.h"
#include "property_tests/harness/remap_case.h"
#include "spec/invariants.h"
#include "spec/laws.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace slotproof::harness {

// Divergences of the seed that a caller accepts ("D3"): where one of them matters, the case is not judged.
class AcceptedDivergences {
 public:
  // Returns what is wrong with the list, empty where nothing is.
  std::string parse(const std::vector<std::string>& ids);
  bool is_accepted(const spec::RemapProblem& problem) const;
  bool is_order_free() const { return ids_.count("D10") > 0; }

 private:
  std::set<std::string> ids_;
};

// What a law (harness/laws.h) found between the calls that it made of one problem.
struct LawBreach {
  spec::Law law;
  std::string place;  // "slots[1, 3], rows permuted"
  std::string expected;
  std::string got;
};

struct Finding {
  // The invariant that failed, or the law; both absent where the run itself did: crash, hang, misused memory, device error.
  std::optional<spec::Violation> violation;
  std::string fault;
  std::optional<LawBreach> breach = std::nullopt;

  std::string_view name() const { return violation ? spec::name_of(violation->invariant) : breach ? spec::id_of(breach->law) : "no_fault"; }
};

struct Verdict {
  bool is_compared = false;
  bool is_accepted = false;  // not compared, because an accepted divergence matters in it
  std::array<bool, spec::kNumInvariants> is_exercised{};
  std::vector<Finding> findings;
  CornerSet corners;
  int64_t num_indices = 0;  // entries compared, repeats included
};

struct JudgeOptions {
  uint64_t poison_seed = 1;
  bool has_repeats = true;  // run again with what must not matter changed
  const AcceptedDivergences* accepted = nullptr;
};

Verdict judge(Backend& backend, const RemapCase& remap_case, const JudgeOptions& options = {});

// The finding to go after. A wrong entry explains a wrong count, and not the other way round; what only compares runs explains least.
const Finding& most_telling(const std::vector<Finding>& findings);

// The same as text, a line a finding.
std::string describe(const Finding& finding);

}  // namespace slotproof::harness
