#include "cli/commands.h"
#include "property_tests/harness/case_file.h"
#include "property_tests/harness/frame.h"
#include "spec/arguments.h"
#include "spec/diagnosis.h"
#include "spec/flat_row_view.h"
#include "spec/rank_ownership.h"
#include "spec/remap.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <memory>
#include <optional>

namespace slotproof::cli {
namespace {

constexpr int64_t kMaxEntriesUnasked = 64;
constexpr int64_t kMaxSlot = std::numeric_limits<int32_t>::max();

struct ExplainOptions {
  std::string file;
  std::string case_id;
  std::optional<int32_t> row, column;
};

void step(std::string_view rule, const std::string& what) { fmt::print("  {:<4} {}\n", rule, what); }

// Walks the rules with the numbers of one entry. Returns the slot, or -1.
int64_t walk_workspace(const spec::RemapProblem& p, int32_t prefill_id, int64_t tok) {
  const auto starts = p.workspace_starts->view();
  step("R2", fmt::format("prefill_request_id = {} >= 0: a workspace row; the block table plays no part", prefill_id));
  if (prefill_id >= starts.size()) return step("R2", fmt::format("{} is not below P = {}: none", prefill_id, starts.size())), -1;
  const int64_t start = starts[prefill_id], row = start + tok;
  if (start < 0) return step("R2", fmt::format("workspace_starts[{}] = {} is negative: none", prefill_id, start)), -1;
  step("R2", fmt::format("row = workspace_starts[{}] + tok = {} + {} = {}", prefill_id, start, tok, row));
  if (p.num_workspace_rows && row >= *p.num_workspace_rows) return step("R2", fmt::format("{} is not below num_workspace_rows = {}: none", row, *p.num_workspace_rows)), -1;
  if (row > kMaxSlot) return step("R9", fmt::format("{} is above 2^31 - 1: none", row)), -1;
  return row;
}

int64_t walk(const spec::RemapProblem& p, int32_t t, int32_t k) {
  const int64_t tok = p.token_indices.view()(t, k);
  fmt::print("token_indices[{}, {}] = {}\n", t, k, tok);
  if (tok < 0) return step("R1", fmt::format("{} is negative: none", tok)), -1;
  step("R1", fmt::format("{} is a position", tok));
  if (p.prefill_request_id) {
    const int32_t prefill_id = p.prefill_request_id->view()[t];
    if (prefill_id >= 0) return walk_workspace(p, prefill_id, tok);
    step("R2", fmt::format("prefill_request_id = {} < 0: a decode row", prefill_id));
  }
  const int64_t n = p.dcp.size, i = p.dcp.interleave;
  int64_t local = tok;
  if (n > 1) {
    const int64_t owner = tok / i % n;
    step("R3", fmt::format("owner = ({} / {}) % {} = {}; this rank is {}{}", tok, i, n, owner, p.dcp.rank, owner == p.dcp.rank ? "" : ": none"));
    if (owner != p.dcp.rank) return -1;
    local = tok / (n * i) * i + tok % i;
    step("R4", fmt::format("local = {} / {} * {} + {} % {} = {}", tok, n * i, i, tok, i, local));
  } else {
    step("R4", fmt::format("N = 1, so local = {}", local));
  }
  const int32_t request = p.req_id.view()[t];
  const bool has_request = request >= 0 && request < p.block_table.rows;
  step("R5", fmt::format("req_id = {}, {} [0, {}){}", request, has_request ? "in" : "not in", p.block_table.rows, has_request ? "" : ": none"));
  if (!has_request) return -1;
  const int64_t block_size = p.block_size, column = local / block_size, offset = local % block_size;
  const bool has_column = column < p.block_table.columns;
  step("R6", fmt::format("column = {} / {} = {}, {} [0, {}){}", local, block_size, column, has_column ? "in" : "not in", p.block_table.columns, has_column ? "" : ": none"));
  if (!has_column) return -1;
  const int64_t base = p.block_table.view()(request, column);
  const bool is_block = base >= 0 && (!p.num_blocks || base < *p.num_blocks);
  step("R7", fmt::format("base = block_table[{}, {}] = {}{}{}", request, column, base, p.num_blocks ? fmt::format(", num_blocks = {}", *p.num_blocks) : "", is_block ? "" : ": none"));
  if (!is_block) return -1;
  const __int128_t slot = __int128_t(base) * p.block_stride_rows + offset;
  if (slot > kMaxSlot) return step("R9", fmt::format("{} * {} + {} is above 2^31 - 1: none", base, p.block_stride_rows, offset)), -1;
  step("R8", fmt::format("slot = base * L + local % S = {} * {} + {} = {}", base, p.block_stride_rows, offset, int64_t(slot)));
  return int64_t(slot);
}

// Where the entry ends up.
std::string place_of(const spec::RemapProblem& p, int32_t t, int32_t k, bool is_none) {
  if (p.placement == spec::Placement::kInPlace) return fmt::format("R10: slots[{}, {}]", t, k);
  if (is_none) return "R12: it is left out";
  int32_t before = 0;
  for (int32_t j = 0; j < k; ++j) before += !spec::entry_of(p, t, j).is_none();
  return fmt::format("R12: {} slots of the row come before it: slots[{}, {}]", before, t, before);
}

int explain_remap(const harness::RemapCase& remap_case, const ExplainOptions& options) {
  harness::Frame frame(remap_case, 1);
  const spec::RemapProblem p = frame.problem();
  if (const auto refusal = spec::refusal_of(p)) {
    const spec::RuleText& rule = spec::text_of(refusal->rule);
    fmt::print("The call is refused by {} ({}): {}\n", rule.id, rule.statement, refusal->message);
    return kAllHolds;
  }
  const auto check_bound = [](const std::optional<int32_t>& index, int32_t extent, const char* name) {
    if (!index || (*index >= 0 && *index < extent)) return true;
    fmt::print(stderr, "slotproof explain: {} {} is not in [0, {})\n", name, *index, extent);
    return false;
  };
  if (!check_bound(options.row, p.num_tokens(), "row") || !check_bound(options.column, p.topk(), "column")) return kWrongUsage;
  const int64_t num_entries = int64_t{options.row ? 1 : p.num_tokens()} * (options.column ? 1 : p.topk());
  if (num_entries > kMaxEntriesUnasked) {
    fmt::print(stderr, "slotproof explain: {} entries are too many to read; name one with --row and --column\n", num_entries);
    return kWrongUsage;
  }
  for (int32_t t = options.row.value_or(0); t < (options.row ? *options.row + 1 : p.num_tokens()); ++t) {
    for (int32_t k = options.column.value_or(0); k < (options.column ? *options.column + 1 : p.topk()); ++k) {
      const int64_t slot = walk(p, t, k);
      const std::string_view reason = spec::name_of(spec::reason_of(p, t, k));  // as the diagnosis counts it: G1
      fmt::print("  =>   {} ({})\n", slot < 0 ? fmt::format("none by {}, written -1", reason) : fmt::format("slot {}", slot), place_of(p, t, k, slot < 0));
      // The walk above is the closed form; the spec's writer model has the last word.
      if (const spec::Entry entry = spec::entry_of(p, t, k); entry.slot != slot) {
        fmt::print(stderr, "slotproof explain: the spec's writer model says {} instead; please report this\n", entry.slot);
        return kCounterexample;
      }
    }
  }
  return kAllHolds;
}

int explain_view(const spec::FlatRowViewProblem& p) {
  if (const auto refusal = spec::refusal_of(p)) {
    fmt::print("The cache is refused by {} ({}): {}\n", spec::id_of(refusal->rule), spec::text_of(refusal->rule).statement, refusal->message);
    return kAllHolds;
  }
  const spec::FlatRowView view = spec::flat_row_view(p);
  step("V1", fmt::format("L = block stride / head_dim = {} / {} = {}", p.strides[0], p.head_dim, view.block_stride_rows));
  if (p.num_blocks == 0) step("V2", "no blocks: num_rows = 0");
  else step("V2", fmt::format("num_rows = ({} - 1) * {} + {} = {}", p.num_blocks, view.block_stride_rows, p.block_size, view.num_rows));
  if (p.num_blocks > 1) step("V5", fmt::format("rows b * {0} + {1} ... (b + 1) * {0} - 1 belong to others", view.block_stride_rows, p.block_size));
  return kAllHolds;
}

int explain_local_lengths(const harness::LocalLengthProblem& p) {
  for (const int32_t length : p.lengths) {
    const auto local = spec::local_length(p.dcp, length);
    step("P2", local ? fmt::format("of the positions 0 ... {} - 1, rank {} of {} with interleave {} has {}", length, p.dcp.rank, p.dcp.size, p.dcp.interleave, *local)
                     : fmt::format("length {} is negative: refused", length));
  }
  return kAllHolds;
}

int run_explain(const ExplainOptions& options) {
  const harness::CaseFile file = harness::read_cases(options.file);
  if (!file.error.empty()) {
    fmt::print(stderr, "slotproof explain: {}\n", file.error);
    return kWrongUsage;
  }
  for (const harness::Case& value : file.cases) {
    if (!options.case_id.empty() && value.id != options.case_id) continue;
    fmt::print("{}{}{}\n", value.id, value.note.empty() ? "" : ": ", value.note);
    if (const auto* remap_case = std::get_if<harness::RemapCase>(&value.problem)) return explain_remap(*remap_case, options);
    if (const auto* view = std::get_if<spec::FlatRowViewProblem>(&value.problem)) return explain_view(*view);
    return explain_local_lengths(std::get<harness::LocalLengthProblem>(value.problem));
  }
  fmt::print(stderr, "slotproof explain: {} has no {}\n", options.file, options.case_id.empty() ? "case" : fmt::format("case '{}'", options.case_id));
  return kWrongUsage;
}

}  // namespace

Command add_explain(CLI::App& app) {
  auto options = std::make_shared<ExplainOptions>();
  app.add_option("FILE", options->file, "A case file")->required();
  app.add_option("--case", options->case_id, "Id of a case; default: the first");
  auto* row = app.add_option("--row", options->row, "Row t of the entry; default: all");
  app.add_option("--column", options->column, "Column k of the entry; default: all")->needs(row);
  return [options] { return run_explain(*options); };
}

}  // namespace slotproof::cli
