#pragma once
// The flat row view of a paged cache (V1-V5): one number for each (block, offset), with the rows between blocks left to others.

#include "spec/problem.h"
#include "spec/rules.h"

#include <optional>
#include <string>
#include <vector>

namespace slotproof::spec {

struct FlatRowView {
  int64_t num_rows = 0;
  int64_t block_stride_rows = 0;  // L
};

struct ViewRefusal {
  Rule rule;  // VA1 ... VA6
  std::string message;
};
std::optional<ViewRefusal> refusal_of(const FlatRowViewProblem& problem);

// The view of a problem that is not refused, L included.
FlatRowView flat_row_view(const FlatRowViewProblem& problem);

// Rows in [0, num_rows) that belong to others (V5), ascending. Costs a step a row: for small caches.
std::vector<int64_t> gap_rows(const FlatRowViewProblem& problem);

}  // namespace slotproof::spec
