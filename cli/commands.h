#pragma once
// The verbs of the slotproof program. Each adds its options to the parser and returns what runs it; a run returns the exit
// code: 0 all holds, 1 a counterexample, 2 wrong usage.

#include <CLI/App.hpp>

#include <functional>

namespace slotproof::cli {

inline constexpr int kAllHolds = 0;
inline constexpr int kCounterexample = 1;
inline constexpr int kWrongUsage = 2;
inline constexpr int kInterrupted = 130;

using Command = std::function<int()>;
Command add_check(CLI::App& app);
Command add_replay(CLI::App& app);
Command add_explain(CLI::App& app);
Command add_rules(CLI::App& app);

}  // namespace slotproof::cli
