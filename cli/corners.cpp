#include "cli/commands.h"
#include "property_tests/harness/corners.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

namespace slotproof::cli {
namespace {

struct CornersOptions {
  std::string id;
  bool is_markdown = false;
};

std::string rules_of(const harness::CornerText& corner) {
  std::string ids;
  for (const spec::Rule rule : corner.rules.all()) ids += (ids.empty() ? "" : ", ") + std::string(spec::id_of(rule));
  return ids;
}

// "B01 S02" -> "bounds B01, sentinel S02"; cases of one kind stand together.
std::string reports_of(const harness::CornerText& corner) {
  std::string text;
  std::string_view last_kind, left = corner.reports;
  while (!left.empty()) {
    const std::string_view id = left.substr(0, left.find(' '));
    left.remove_prefix(std::min(left.size(), id.size() + 1));
    const std::string_view kind = harness::report_kind_of(id);
    text += text.empty() ? "" : kind == last_kind ? " " : ", ";
    text += kind == last_kind ? std::string(id) : fmt::format("{} {}", kind, id);
    last_kind = kind;
  }
  return text;
}

void print_plain(const harness::CornerText& corner) {
  const std::string reports = reports_of(corner);
  fmt::print("{:<30} {}\n{:<30} rules {}{}\n", corner.id, corner.what, "", rules_of(corner), reports.empty() ? "" : "; public reports: " + reports);
}

void print_markdown() {
  fmt::print(
      "# The corners\n\nMade by `slotproof corners --markdown`. What a run must have come across, each at an edge of a rule or of a kind that was reported in "
      "public; the cases are those of `property_tests/vectors/public-reports.json`, and each of them has the corner. `slotproof check` counts the cases that "
      "had each, "
      "and `--require-corners` fails where one was missed. Rules about views and about the diagnosis (V1-V3, VA1-VA6, G1-G6) have vectors and tests of their "
      "own.\n\n"
      "| corner | what | rules | public reports |\n|---|---|---|---|\n");
  for (const harness::CornerText& corner : harness::corners())
    fmt::print("| `{}` | {} | {} | {} |\n", corner.id, corner.what, rules_of(corner), reports_of(corner));
}

int run_corners(const CornersOptions& options) {
  if (!options.id.empty()) {
    const auto corner = harness::corner_of(options.id);
    if (!corner) {
      fmt::print(stderr, "slotproof corners: there is no corner '{}'; `slotproof corners` lists them\n", options.id);
      return kWrongUsage;
    }
    print_plain(harness::corners()[size_t(*corner)]);
    return kAllHolds;
  }
  if (options.is_markdown) {
    print_markdown();
    return kAllHolds;
  }
  for (const harness::CornerText& corner : harness::corners()) print_plain(corner);
  return kAllHolds;
}

}  // namespace

Command add_corners(CLI::App& app) {
  auto options = std::make_shared<CornersOptions>();
  auto* id = app.add_option("ID", options->id, "One corner, e.g. column_beyond");
  app.add_flag("--markdown", options->is_markdown, "All corners as a Markdown page")->excludes(id);
  return [options] { return run_corners(*options); };
}

}  // namespace slotproof::cli
