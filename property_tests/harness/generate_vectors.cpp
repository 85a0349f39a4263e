// Writes our own vectors into a folder: generate_vectors property_tests/vectors

#include "property_tests/harness/vectors.h"

#include <cstdio>

int main(int argc, char** argv) {
  using namespace slotproof::harness;
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
    return 2;
  }
  for (const VectorFile& file : make_vector_files()) {
    const std::string error = save_cases(std::filesystem::path(argv[1]) / file.name, file.cases);
    if (!error.empty()) {
      std::fprintf(stderr, "%s\n", error.c_str());
      return 1;
    }
    std::printf("%s: %zu cases\n", file.name.c_str(), file.cases.size());
  }
  return 0;
}
