#pragma once
// Our own vectors: small problems at the edge of each rule, with the answers that spec/ gives. They are committed as JSON in
// property_tests/vectors/, where the reference, every kernel and other people's programs are judged by them.

#include "property_tests/harness/case_file.h"

#include <string>
#include <vector>

namespace slotproof::harness {

struct VectorFile {
  std::string name;  // "rules-remap.json"
  std::vector<Case> cases;
};

// The files in property_tests/vectors/ that generate_vectors writes. The same bytes on every machine.
std::vector<VectorFile> make_vector_files();

// All of their cases.
std::vector<Case> make_rule_vectors();

}  // namespace slotproof::harness
