#include "cli/bulk.h"

#include "cli/report.h"
#include "property_tests/harness/bulk_corners.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace slotproof::cli {
namespace {

constexpr const char* kModeNames[] = {"all", "topk_2048", "in_place", "compacted",          "compacted_any_order",
                                      "dcp", "prefill",   "counts",   "stride_above_block", "strided"};
static_assert(std::size(kModeNames) == size_t(BulkMode::kNumModes));

double rate_of(int64_t num_indices, double seconds) {
  return double(num_indices) / std::max(seconds, 1e-9);
}

harness::CornerSet counted_corners() {
  return harness::row_corners() | harness::call_corners();
}

// What runs the failing batch again.
std::string again(const BulkFailure& failure, const BulkReport& report) {
  return fmt::format("{} check --backend {} --bulk --seed {} --first-case {} --cases 1{}", program(), report.backend, report.seed, failure.batch,
                     report.topk > 0 ? fmt::format(" --topk {}", report.topk) : "");
}

}  // namespace

const char* name_of(BulkMode mode) {
  return kModeNames[size_t(mode)];
}

std::string table_of(const BulkReport& report) {
  std::string text = fmt::format("{:<22} {:>10} {:>16} {:>20} {:>16}\n", "bulk", "batches", "rows", "indices", "indices/s");
  for (size_t i = 0; i < report.modes.size(); ++i) {
    const BulkTally& tally = report.modes[i];
    text += fmt::format("{:<22} {:>10} {:>16} {:>20} {:>16.3e}\n", name_of(BulkMode(i)), grouped(tally.num_batches), grouped(tally.num_rows),
                        grouped(tally.num_indices), rate_of(tally.num_indices, tally.device_seconds));
  }
  text += "(indices/s: of the device, making and judging included; every entry, tail, count, gap and guard word was compared)\n\n";
  text += corner_lines(report.corners, counted_corners(), fmt::format("rows that had each, of {} that were read for corners", grouped(report.num_corner_rows)),
                       !report.failure);
  text += fmt::format("\n{} ran: {}; {} batches, {} indices, {:.3e} indices/s of wall time, start and end included\n", report.backend, report.description,
                      grouped(report.all().num_batches), grouped(report.all().num_indices), rate_of(report.all().num_indices, report.seconds));
  text += fmt::format("\n{}: seed {}, {} batches from {}, {:.1f} s{}\n", report.failure ? "COUNTEREXAMPLE FOUND" : "All rows are right", report.seed,
                      report.next_batch - report.first_batch, report.first_batch, report.seconds,
                      report.is_interrupted ? fmt::format("; interrupted, go on with --seed {} --first-case {}", report.seed, report.next_batch) : "");
  return text;
}

std::string text_of(const BulkFailure& failure, const BulkReport& report) {
  std::string text = fmt::format("Batch {}: {}\n", failure.batch, failure.what);
  if (failure.num_mismatches > 0) text += fmt::format("  {:<20} {} in the batch\n", "mismatches", grouped(int64_t(failure.num_mismatches)));
  text += fmt::format("  {:<20} {}\n", "the batch again", again(failure, report));
  if (failure.counterexample) {
    BackendTally tally;
    tally.name = report.backend;
    return text + "\n" + text_of(*failure.counterexample, tally);
  }
  if (!failure.saved_rows.empty()) {
    text += fmt::format("  {:<20} no case of a few of its rows fails by itself: the fault needs the whole batch\n  {:<20} {}\n", "not shrunk",
                        "the row as it was", failure.saved_rows);
  }
  return text;
}

std::string json_of(const BulkReport& report) {
  nlohmann::ordered_json json;
  json["format"] = "slotproof-bulk";
  json["version"] = 1;
  json["holds"] = !report.failure;
  json["interrupted"] = report.is_interrupted;
  json["backend"] = report.backend;
  json["description"] = report.description;
  json["seed"] = report.seed;
  json["first_case"] = report.first_batch;
  json["next_case"] = report.next_batch;
  json["seconds"] = report.seconds;
  json["indices_per_second"] = rate_of(report.all().num_indices, report.seconds);
  for (size_t i = 0; i < report.modes.size(); ++i) {
    const BulkTally& tally = report.modes[i];
    json["modes"][name_of(BulkMode(i))] = {
        {"batches", tally.num_batches}, {"rows", tally.num_rows}, {"indices", tally.num_indices}, {"device_seconds", tally.device_seconds}};
  }
  json["rows_read_for_corners"] = report.num_corner_rows;
  for (const harness::CornerText& corner : harness::corners()) {
    if (counted_corners().test(size_t(corner.corner))) json["corners"][std::string(corner.id)] = report.corners[size_t(corner.corner)];
  }
  if (report.failure) {
    const BulkFailure& failure = *report.failure;
    auto& out = json["counterexample"];
    out = {{"batch", failure.batch}, {"mismatches", failure.num_mismatches}, {"text", failure.what}, {"again", again(failure, report)}};
    if (failure.counterexample) {
      const Counterexample& found = *failure.counterexample;
      out["finding"] = found.finding.name();
      out["rows"] = found.shrunk.num_tokens();
      out["columns"] = found.shrunk.topk();
      out["file"] = found.file.string();
      if (!found.save_error.empty()) out["save_error"] = found.save_error;
    } else if (!failure.saved_rows.empty()) {
      out["unshrunk_row"] = failure.saved_rows;
    }
  }
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace slotproof::cli
