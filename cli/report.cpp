#include "cli/report.h"

#include "cli/case_text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace slotproof::cli {
namespace {

// "plugin:build/faults/x.so" -> "x"
std::string short_name_of(const BackendTally& tally) {
  return tally.name.starts_with("plugin:") ? std::filesystem::path(tally.name.substr(7)).stem().string() : tally.name;
}

std::string rate_of(const BackendTally& tally) { return grouped(int64_t(double(tally.num_indices) / std::max(tally.seconds, 1e-9))); }

// "A" for an input on boundaries ... as the legend says.
std::string letters_of(const KernelPath& path) {
  return fmt::format("{}{}{}{}", path.has_aligned_input ? 'A' : 'a', path.has_aligned_output ? 'V' : 'v', path.is_shared ? 'S' : path.has_several_passes ? '2' : '1',
                     path.has_counts ? 'C' : 'c');
}

// A line for each kernel, with the launches of each of its ways through memory.
std::string path_grid_of(const BackendTally& tally) {
  std::string text = fmt::format("Launches by {} of the kernels' paths: input aligned A or not a, output aligned V or not v, one pass 1, several 2 or a row shared by teams S, counts C or not c",
                                 short_name_of(tally));
  int32_t kernel = -1;
  for (int i = 0; i < kNumKernelPaths; ++i) {
    const KernelPath path = kernel_path_of(i);
    if (path.kernel != kernel) text += fmt::format("\n  {:<52}", harness::name_of(kRowKernels[size_t(path.kernel)]));
    kernel = path.kernel;
    const int64_t count = tally.kernel_paths->num_launches[size_t(i)];
    text += fmt::format(" {} {:<4}", letters_of(path), count < 10000 ? std::to_string(count) : fmt::format("{}k", count / 1000));
  }
  return text + "\n";
}

std::string coverage_lines(const CampaignReport& report) {
  std::string text;
  for (const BackendTally& tally : report.backends) {
    if (!tally.kernel_paths) continue;
    const std::vector<std::string> missing = tally.kernel_paths->missing();
    for (const std::string& name : missing) text += fmt::format("NEVER LAUNCHED by {}: {}\n", short_name_of(tally), name);
    if (missing.empty()) text += fmt::format("{} launched all {} paths of the kernels\n", short_name_of(tally), kNumKernelPaths);
  }
  return text.empty() ? "NO BACK END LAUNCHED the kernels: --require-coverage is for host and cuda\n" : text;
}

std::string escaped(std::string_view text) {
  std::string xml;
  for (const char c : text) {
    if (c == '&') xml += "&amp;";
    else if (c == '<') xml += "&lt;";
    else if (c == '>') xml += "&gt;";
    else if (c == '"') xml += "&quot;";
    else if (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') xml += ' ';
    else xml += c;
  }
  return xml;
}

}  // namespace

std::string grouped(int64_t value) {
  if (value < 1000) return fmt::format("{}", value);
  return fmt::format("{},{:03}", grouped(value / 1000), value % 1000);
}

std::string corner_lines(const std::array<int64_t, harness::kNumCorners>& counts, const harness::CornerSet& set, std::string_view unit, bool lists_missed) {
  std::string reached, missed;
  size_t num_reached = 0, width = 0;
  for (const harness::CornerText& corner : harness::corners()) {
    if (!set.test(size_t(corner.corner))) continue;
    const int64_t count = counts[size_t(corner.corner)];
    if (count == 0) {
      missed += fmt::format("{}{}", missed.empty() ? "" : ", ", corner.id);
      continue;
    }
    ++num_reached;
    const std::string item = fmt::format("{} {}", corner.id, grouped(count));
    if (width + item.size() > 108) {
      reached += "\n";
      width = 0;
    }
    reached += (width == 0 ? "  " : ", ") + item;
    width += item.size() + 2;
  }
  return fmt::format("Corners reached: {} of {} ({})\n{}\n{}", num_reached, set.count(), unit, reached,
                     missed.empty() || !lists_missed ? ""  // a campaign that ended at a counterexample had no time to reach them
                     : fmt::format("Corners not reached: {}\n", missed));
}

std::string program() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto relative = std::filesystem::relative(self, error);
  return error || relative.empty() || relative.string().starts_with("..") ? self.string() : relative.string();
}

namespace {

nlohmann::ordered_json json_of(const InvariantTally& tally) {
  nlohmann::ordered_json json{{"exercised", tally.num_exercised}, {"failures", tally.num_failures}};
  if (tally.num_failures > 0) json["first_failure"] = tally.first_failure;
  for (const spec::Rule rule : tally.rules) json["rules"].push_back(spec::id_of(rule));
  return json;
}

std::string_view verdict_of(const CampaignReport& report) {
  if (!report.holds()) return "COUNTEREXAMPLE FOUND";
  const bool has_judged = std::any_of(report.backends.begin(), report.backends.end(), [](const BackendTally& tally) { return tally.num_cases > 0; });
  return has_judged ? "All invariants hold" : "NO CASE WAS JUDGED";
}

}  // namespace

std::string table_of(const CampaignReport& report, const std::vector<AbsentBackend>& absent) {
  std::string text = fmt::format("{:<26}", "invariant");
  for (const BackendTally& tally : report.backends) text += fmt::format(" {:>20} {:>9}", short_name_of(tally).substr(0, 20), "failures");
  text += "\n";
  const auto line = [&](std::string_view name, auto tally_of) {
    text += fmt::format("{:<26}", name);
    for (const BackendTally& tally : report.backends) text += fmt::format(" {:>20} {:>9}", grouped(tally_of(tally).num_exercised), grouped(tally_of(tally).num_failures));
    text += "\n";
  };
  for (const spec::InvariantText& invariant : spec::invariants()) {
    line(invariant.name, [&](const BackendTally& tally) { return tally.invariants[size_t(invariant.invariant)]; });
  }
  line("no_fault", [](const BackendTally& tally) { return tally.no_fault; });
  text += "(cases that exercised each invariant; no_fault: no crash, hang, misused memory or device error)\n\n";
  text += fmt::format("{:<26}\n", "law");
  for (const spec::LawText& law : spec::laws()) {
    line(fmt::format("{} {}", law.id, law.title), [&](const BackendTally& tally) { return tally.laws[size_t(law.law)]; });
  }
  text += "(cases drawn for each law; a back end that failed is put to all of them)\n\n" + corner_lines(report.corners, harness::CornerSet().set(), "cases that had each", report.holds() || report.requires_corners) + "\n";
  for (const BackendTally& tally : report.backends) {
    text += fmt::format("{} ran: {}; level {}; {} cases, {} indices, {} indices/s{}\n", short_name_of(tally), tally.description, tally.level, grouped(tally.num_cases),
                        grouped(tally.num_indices), rate_of(tally),
                        tally.num_accepted ? fmt::format("; {} cases not judged (accepted divergences)", grouped(tally.num_accepted)) : "");
  }
  if (!report.save_error.empty()) text += fmt::format("NOT SAVED before the call: {}\n", report.save_error);
  for (const AbsentBackend& backend : absent) text += fmt::format("{} absent: {}\n", backend.name, backend.reason);
  for (const BackendTally& tally : report.backends) {
    if (tally.kernel_paths && (tally.name == "cuda" || report.requires_coverage)) text += "\n" + path_grid_of(tally);
  }
  if (report.requires_coverage) text += "\n" + coverage_lines(report);
  if (report.requires_corners) text += fmt::format("\n{}\n", report.has_every_corner() ? "Every corner was reached" : "CORNERS WERE NOT REACHED: see above");
  text += fmt::format("\n{}: seed {}, cases {} to {}, {:.1f} s{}\n", verdict_of(report), report.seed, report.first_case,
                      report.next_case == report.first_case ? report.first_case : report.next_case - 1, report.seconds,
                      report.is_interrupted ? fmt::format("; interrupted, go on with --seed {} --first-case {}", report.seed, report.next_case) : "");
  return text;
}

// "P1 partition, M3 blocks"
std::string broken_laws_of(const BackendTally& tally) {
  std::string names;
  for (const spec::LawText& law : spec::laws()) {
    if (tally.laws[size_t(law.law)].num_failures > 0) names += fmt::format("{}{} {}", names.empty() ? "" : ", ", law.id, law.title);
  }
  return names;
}

std::string text_of(const Counterexample& found, const BackendTally& backend) {
  const harness::Finding& finding = found.finding;
  std::string text = fmt::format("Counterexample for {}: {}\n", short_name_of(backend), finding.name());
  text += text_of(found.shrunk);
  const harness::Schedule& schedule = found.shrunk.schedule;
  text += fmt::format("  {:<20} width {}, planned for {} rows, thread order {}, CTA order {}\n", "team", schedule.team_width, schedule.planned_rows,
                      schedule.thread_order_seed, schedule.cta_order_seed);
  if (finding.violation) {
    const spec::Violation& v = *finding.violation;
    const spec::RuleText& rule = spec::text_of(v.rule);
    text += fmt::format("  {:<20} {}\n  {:<20} {}\n  {:<20} {}\n  {:<20} {}, {}: {}\n  {:<20} {}\n", "at", v.place, "expected", v.expected, "got", v.got, "rule",
                        rule.id, rule.title, rule.statement, "why it matters", rule.reason);
  } else if (finding.breach) {
    const harness::LawBreach& b = *finding.breach;
    const spec::LawText& law = spec::text_of(b.law);
    text += fmt::format("  {:<20} {}\n  {:<20} {}\n  {:<20} {}\n  {:<20} {}, {}: {}\n", "at", b.place, "expected", b.expected, "got", b.got, "law", law.id, law.title, law.statement);
    if (!law.premise.empty()) text += fmt::format("  {:<20} {}\n", "premise", law.premise);
  } else {
    text += fmt::format("  {:<20} {}\n", "the run failed", finding.fault);
  }
  if (const std::string broken = broken_laws_of(backend); !broken.empty()) text += fmt::format("  {:<20} {}\n", "laws broken", broken);
  text += fmt::format("  {:<20} {}, {} simplifications in {} tries, {:.1f} s\n", "found", found.case_name, found.num_steps, found.num_tries, found.seconds);
  const std::string id = found.file.stem().string();
  if (!found.save_error.empty()) return text + fmt::format("  NOT SAVED: {}\n", found.save_error);
  text += fmt::format("  {:<20} {} replay {} --case {} --backend {}{}\n", "replay", program(), found.file.string(), id, backend.name, finding.breach ? " --laws" : "");
  if (finding.violation && finding.violation->row >= 0) {
    // A column of a compacted output is no column of the input: there the whole row is explained.
    const bool is_compacted = found.shrunk.placement == spec::Placement::kCompacted;
    text += fmt::format("  {:<20} {} explain {} --case {} --row {}{}\n", "explain", program(), found.file.string(), id, finding.violation->row,
                        is_compacted ? "" : fmt::format(" --column {}", finding.violation->column));
  }
  return text;
}

std::string json_of(const CampaignReport& report, const std::vector<AbsentBackend>& absent) {
  nlohmann::ordered_json json;
  json["format"] = "slotproof-check";
  json["version"] = 1;
  json["holds"] = report.holds();
  json["interrupted"] = report.is_interrupted;
  json["seed"] = report.seed;
  json["first_case"] = report.first_case;
  json["next_case"] = report.next_case;
  json["seconds"] = report.seconds;
  for (const BackendTally& tally : report.backends) {
    nlohmann::ordered_json backend{{"name", tally.name}, {"description", tally.description}, {"level", tally.level}, {"cases", tally.num_cases},
                                   {"cases_failing", tally.num_failing}, {"cases_accepted_unjudged", tally.num_accepted}, {"indices", tally.num_indices}, {"seconds", tally.seconds}};
    for (const spec::InvariantText& invariant : spec::invariants()) {
      backend["invariants"][std::string(invariant.name)] = json_of(tally.invariants[size_t(invariant.invariant)]);
    }
    backend["invariants"]["no_fault"] = json_of(tally.no_fault);
    for (const spec::LawText& law : spec::laws()) backend["laws"][std::string(law.id)] = json_of(tally.laws[size_t(law.law)]);
    if (tally.counterexample) {
      const Counterexample& found = *tally.counterexample;
      backend["counterexample"] = {{"case", found.case_name}, {"finding", found.finding.name()}, {"text", describe(found.finding)},
                                   {"rows", found.shrunk.num_tokens()}, {"columns", found.shrunk.topk()}, {"shrink_seconds", found.seconds},
                                   {"file", found.file.string()}};
      if (found.finding.violation) backend["counterexample"]["rule"] = spec::id_of(found.finding.violation->rule);
    }
    if (tally.kernel_paths) {
      for (int i = 0; i < kNumKernelPaths; ++i) backend["kernel_paths"][harness::name_of(kernel_path_of(i))] = tally.kernel_paths->num_launches[size_t(i)];
    }
    json["backends"].push_back(std::move(backend));
  }
  json["absent"] = nlohmann::ordered_json::array();
  for (const AbsentBackend& backend : absent) json["absent"].push_back({{"name", backend.name}, {"reason", backend.reason}});
  for (const harness::CornerText& corner : harness::corners()) json["corners"][std::string(corner.id)] = report.corners[size_t(corner.corner)];
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string junit_of(const CampaignReport& report, const std::vector<AbsentBackend>& absent) {
  std::string cases;
  int num_tests = 0, num_failures = 0;
  const auto add = [&](const std::string& backend, std::string_view name, const InvariantTally& tally, const std::optional<Counterexample>& found) {
    ++num_tests;
    cases += fmt::format("  <testcase classname=\"{}\" name=\"{}\">", escaped(backend), name);
    if (tally.num_failures > 0) {
      ++num_failures;
      cases += fmt::format("<failure message=\"{}\"/>", escaped(found && found->finding.name() == name ? describe(found->finding) : "see the counterexample"));
    } else if (tally.num_exercised == 0) {
      cases += "<skipped message=\"no case exercised it\"/>";
    }
    cases += "</testcase>\n";
  };
  for (const BackendTally& tally : report.backends) {
    for (const spec::InvariantText& invariant : spec::invariants()) add(tally.name, invariant.name, tally.invariants[size_t(invariant.invariant)], tally.counterexample);
    for (const spec::LawText& law : spec::laws()) add(tally.name, law.id, tally.laws[size_t(law.law)], tally.counterexample);
    add(tally.name, "no_fault", tally.no_fault, tally.counterexample);
  }
  for (const AbsentBackend& backend : absent) {
    ++num_tests;
    cases += fmt::format("  <testcase classname=\"{}\" name=\"present\"><skipped message=\"{}\"/></testcase>\n", escaped(backend.name), escaped(backend.reason));
  }
  return fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"slotproof check\" tests=\"{}\" failures=\"{}\" time=\"{:.3f}\">\n{}</testsuite>\n", num_tests,
                     num_failures, report.seconds, cases);
}

}  // namespace slotproof::cli
