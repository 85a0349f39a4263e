#include "cli/commands.h"
#include "spec/invariants.h"
#include "spec/laws.h"
#include "spec/rules.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <memory>
#include <string>

namespace slotproof::cli {
namespace {

struct RulesOptions {
  std::string id;
  bool is_markdown = false;
};

void print_plain(const spec::RuleText& rule) {
  fmt::print("{:<5} {}\n      {}\n      Why: {}\n", rule.id, rule.title, rule.statement, rule.reason);
}

void print_plain(const spec::LawText& law) {
  fmt::print("{:<5} {} (law)\n      {}\n", law.id, law.title, law.statement);
  if (!law.premise.empty()) fmt::print("      Premise: {}\n", law.premise);
}

std::string list_of(std::span<const spec::Rule> rules) {
  std::string ids;
  for (const spec::Rule rule : rules) ids += (ids.empty() ? "" : ", ") + std::string(spec::id_of(rule));
  return ids;
}

void print_markdown() {
  fmt::print("# The rules\n\nMade by `slotproof rules --markdown`.\n\n| id | rule | statement | why |\n|---|---|---|---|\n");
  for (const spec::RuleText& rule : spec::rules()) fmt::print("| {} | {} | {} | {} |\n", rule.id, rule.title, rule.statement, rule.reason);
  fmt::print("\n# The invariants\n\n| name | statement | rules that it cites |\n|---|---|---|\n");
  for (const spec::InvariantText& invariant : spec::invariants()) {
    fmt::print("| `{}` | {} | {} |\n", invariant.name, invariant.statement, list_of(invariant.rules));
  }
  fmt::print("\n# The laws\n\nAn invariant looks at one call; a law compares calls with each other, or all ranks with what a writer does. Ids P1-P4 are those of the "
             "rules that the law puts to the test.\n\n| id | law | statement | premise | rules at stake |\n|---|---|---|---|---|\n");
  for (const spec::LawText& law : spec::laws()) fmt::print("| {} | {} | {} | {} | {} |\n", law.id, law.title, law.statement, law.premise, list_of(law.rules));
}

int run_rules(const RulesOptions& options) {
  if (!options.id.empty()) {
    const auto rule = spec::rule_of(options.id);
    const auto law = spec::law_of(options.id);
    if (law) print_plain(spec::text_of(*law));
    if (!rule && law) return kAllHolds;
    if (!rule) {
      fmt::print(stderr, "slotproof rules: there is no rule '{}'; `slotproof rules` lists them\n", options.id);
      return kWrongUsage;
    }
    print_plain(spec::text_of(*rule));
    return kAllHolds;
  }
  if (options.is_markdown) {
    print_markdown();
    return kAllHolds;
  }
  for (const spec::RuleText& rule : spec::rules()) print_plain(rule);
  for (const spec::LawText& law : spec::laws()) print_plain(law);
  return kAllHolds;
}

}  // namespace

Command add_rules(CLI::App& app) {
  auto options = std::make_shared<RulesOptions>();
  auto* id = app.add_option("ID", options->id, "One rule or law, e.g. R8");
  app.add_flag("--markdown", options->is_markdown, "All rules, invariants and laws as a Markdown page")->excludes(id);
  return [options] { return run_rules(*options); };
}

}  // namespace slotproof::cli
