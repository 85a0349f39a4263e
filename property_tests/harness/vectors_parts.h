#pragma once
// What vectors.cpp is made of. Inside the vectors*.cpp files only.

#include "property_tests/harness/vectors.h"

#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace slotproof::harness {

inline constexpr int32_t kMin = std::numeric_limits<int32_t>::min();
inline constexpr int32_t kMax = std::numeric_limits<int32_t>::max();
inline constexpr int64_t kMin64 = std::numeric_limits<int64_t>::min();
inline constexpr int64_t kMax64 = std::numeric_limits<int64_t>::max();

// The case with what spec/ says about the problem; its kind is the id up to the first hyphen.
Case answered(std::string id, std::string note, RemapCase problem);
Case answered(std::string id, std::string note, const spec::FlatRowViewProblem& problem);
Case answered(std::string id, std::string note, LocalLengthProblem problem);

// Collects remap cases, each of them the plain problem with something changed.
class RemapVectors {
 public:
  // change(RemapCase&) starts from: one row, request 0, table [[7, 9]], blocks of 4 tokens 4 rows apart, in place, with counts.
  template <class Change>
  void add(std::string id, std::string note, Change change) {
    RemapCase problem = plain_problem();
    change(problem);
    cases_.push_back(answered(std::move(id), std::move(note), std::move(problem)));
  }
  // The common case: only the positions of the one row.
  void add_row(std::string id, std::string note, std::vector<int32_t> positions);
  std::vector<Case> take() { return std::move(cases_); }

 private:
  static RemapCase plain_problem();
  std::vector<Case> cases_;
};

std::vector<Case> make_translation_vectors();   // R1, R3-R9
std::vector<Case> make_workspace_vectors();     // R2
std::vector<Case> make_row_vectors();           // R10-R15
std::vector<Case> make_argument_vectors();      // A1-A15
std::vector<Case> make_view_vectors();          // V1-V5, VA1-VA6
std::vector<Case> make_local_length_vectors();  // P2

}  // namespace slotproof::harness
