#include "cli/commands.h"
#include "property_tests/harness/plugin_worker.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <exception>
#include <utility>
#include <vector>

int main(int argc, char** argv) {
  using namespace slotproof;
  harness::run_as_plugin_worker_if_asked(argc, argv);

  CLI::App app("slotproof: checks the step from top-k token positions to KV-cache slots against its spec", "slotproof");
  app.require_subcommand(1);
  app.footer("Exit codes: 0 all holds, 1 a counterexample, 2 wrong usage, 130 interrupted.");
  std::vector<std::pair<CLI::App*, cli::Command>> commands;
  const auto add = [&](const char* name, const char* what, cli::Command (*add_command)(CLI::App&)) {
    CLI::App* sub = app.add_subcommand(name, what);
    commands.emplace_back(sub, add_command(*sub));
  };
  add("check", "Draw problems, run back ends on them, check every invariant", cli::add_check);
  add("replay", "Run the cases of case files", cli::add_replay);
  add("explain", "Derive the entries of a case, rule by rule", cli::add_explain);
  add("promote", "Make a regression of a finding: an input, a vector, a line in the index", cli::add_promote);
  add("rules", "Print the spec", cli::add_rules);
  add("corners", "Print what a run must have come across", cli::add_corners);
  try {
    app.parse(argc, argv);
    for (const auto& [sub, run] : commands) {
      if (sub->parsed()) return run();
    }
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? cli::kAllHolds : cli::kWrongUsage;
  } catch (const std::exception& error) {
    fmt::print(stderr, "slotproof: {}\n", error.what());
    return cli::kWrongUsage;
  }
  return cli::kWrongUsage;
}
