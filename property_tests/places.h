#pragma once
// Where the tests find the source tree and what the build made. The environment overrides what was compiled in, so that the
// tests also run elsewhere than they were built: on a machine with a GPU, from a bundle.

#include <cstdlib>
#include <filesystem>

namespace slotproof {

inline std::filesystem::path place_of(const char* variable, const char* compiled_in) {
  const char* given = std::getenv(variable);
  return given != nullptr && *given != '\0' ? given : compiled_in;
}

inline std::filesystem::path source_dir() {
  return place_of("SLOTPROOF_SOURCE_DIR", SLOTPROOF_SOURCE_DIR);
}
inline std::filesystem::path fault_dir() {
  return place_of("SLOTPROOF_FAULT_DIR", SLOTPROOF_FAULT_DIR);
}
inline std::filesystem::path example_plugin_dir() {
  return place_of("SLOTPROOF_EXAMPLE_PLUGIN_DIR", SLOTPROOF_EXAMPLE_PLUGIN_DIR);
}
inline std::filesystem::path program() {
  return place_of("SLOTPROOF_PROGRAM", SLOTPROOF_PROGRAM);
}

}  // namespace slotproof
