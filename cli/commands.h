#pragma once
// The verbs of the slotproof program. Each adds its options to the parser and returns what runs it; a run returns the exit
// code: 0 all holds, 1 a counterexample, 2 wrong usage, 130 interrupted.

#include "property_tests/harness/backend.h"

#include <CLI/App.hpp>

#include <functional>

namespace slotproof::cli {

inline constexpr int kAllHolds = 0;
inline constexpr int kCounterexample = 1;
inline constexpr int kWrongUsage = 2;
inline constexpr int kInterrupted = 130;

// Options that check and replay have in common.
inline constexpr const char* kExactBuffersHelp = "CUDA tensors without guard words: each its own allocation of the exact size, for compute-sanitizer";
inline constexpr const char* kInProcessHelp = "Plug-ins and CUDA in this process, not in a worker: for compute-sanitizer and debuggers";
inline harness::BackendOptions backend_options_of(bool has_exact_buffers, bool is_in_process) {
  harness::BackendOptions options;
  if (has_exact_buffers) options.buffers = harness::Buffers::kExact;
  options.is_in_process = is_in_process;
  return options;
}

using Command = std::function<int()>;
Command add_check(CLI::App& app);
Command add_replay(CLI::App& app);
Command add_explain(CLI::App& app);
Command add_promote(CLI::App& app);
Command add_rules(CLI::App& app);
Command add_corners(CLI::App& app);

}  // namespace slotproof::cli
