#include "property_tests/harness/replay.h"

#include "property_tests/harness/judge.h"
#include "reference/flat_row_view.h"
#include "reference/rank_ownership.h"
#include "spec/flat_row_view.h"
#include "spec/rank_ownership.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <slotproof/flat_row_view.h>
#include <slotproof/plugin.h>
#include <slotproof/rank_ownership.h>

#include <algorithm>

namespace slotproof::harness {
namespace {

Replayed holds() { return {}; }
Replayed fails(std::string why) { return {Replayed::Result::kFails, std::move(why)}; }
Replayed not_applicable(std::string why) { return {Replayed::Result::kNotApplicable, std::move(why)}; }

Replayed judge_refusal(const ExpectedRefusal& expected, std::optional<spec::Rule> refused, const std::string& message) {
  const std::string due = expected.rule ? std::string(spec::id_of(*expected.rule)) : "an argument rule";
  if (!refused) return fails(fmt::format("expected a refusal by {}, but the call was accepted", due));
  if (expected.rule && refused != expected.rule) return fails(fmt::format("expected a refusal by {}, got {}: {}", due, spec::id_of(*refused), message));
  return holds();
}

// The first difference from the file's expectation, empty where there is none.
std::string difference(const spec::RemapProblem& problem, const ExpectedRemap& expected, bool is_order_free) {
  for (int32_t t = 0; t < expected.out.rows; ++t) {
    std::vector<int32_t> due, got;
    for (int32_t k = 0; k < expected.out.columns; ++k) {
      due.push_back(expected.out.at(t, k));
      got.push_back(problem.slots.view()(t, k));
    }
    if (is_order_free) {
      // Only the prefix is free: the tail stays where it is.
      const auto count = std::ptrdiff_t(due.size()) - std::count(due.begin(), due.end(), -1);
      std::sort(due.begin(), due.begin() + count);
      std::sort(got.begin(), got.begin() + count);
    }
    const auto [d, g] = std::mismatch(due.begin(), due.end(), got.begin());
    if (d != due.end()) return fmt::format("slots[{}, {}]: expected {}, got {}", t, d - due.begin(), *d, *g);
    if (expected.valid_counts) {
      const int32_t due_count = (*expected.valid_counts)[size_t(t)], got_count = problem.valid_counts->data[t];
      if (due_count != got_count) return fmt::format("valid_counts[{}]: expected {}, got {}", t, due_count, got_count);
    }
  }
  return {};
}

Replayed replay_remap(Backend& backend, RemapCase remap_case, const Expectation& expected) {
  const BackendInfo& info = backend.info();
  if (!(info.capabilities & SLOTPROOF_CAN_COUNT)) remap_case.counts = false;
  if (!(info.capabilities & SLOTPROOF_CAN_PROMISE_ORDER)) remap_case.order = spec::Order::kUnspecified;
  if (const std::string missing = missing_capability(remap_case, info.capabilities); !missing.empty()) {
    return not_applicable("the back end cannot be asked for: " + missing);
  }
  if (std::holds_alternative<ExpectedRefusal>(expected) && info.level == Level::kCore) return not_applicable("refusals are beyond level core");
  const Verdict verdict = judge(backend, remap_case);
  if (!verdict.findings.empty()) return fails(describe(verdict.findings.front()));
  // What the file says is compared as well: it may stem from elsewhere than this spec.
  Frame frame(remap_case, 1);
  const RunOutcome run = backend.run(frame, remap_case.schedule);
  if (const auto* refusal = std::get_if<ExpectedRefusal>(&expected)) {
    return judge_refusal(*refusal, run.kind == RunOutcome::Kind::kRefused ? run.refused : std::nullopt, run.message);
  }
  const auto* outputs = std::get_if<ExpectedRemap>(&expected);
  if (!outputs) return holds();
  if (run.kind != RunOutcome::Kind::kDone) return fails("expected outputs, got: " + run.message);
  ExpectedRemap due = *outputs;
  if (!remap_case.counts) due.valid_counts.reset();
  const bool is_order_free = remap_case.placement == spec::Placement::kCompacted && remap_case.order == spec::Order::kUnspecified;
  const std::string wrong = difference(frame.problem(), due, is_order_free);
  return wrong.empty() ? holds() : fails(wrong);
}

struct ViewResult {
  std::optional<spec::Rule> refused;
  std::string message;
  int64_t num_rows = 0;
  int64_t block_stride_rows = 0;
};

// Our own functions for what runs on the host alone; nothing for a back end that has none.
std::optional<ViewResult> view_by(std::string_view backend, const spec::FlatRowViewProblem& problem) {
  if (backend == "reference") {
    const auto result = reference::flat_kv_row_view(problem);
    if (const auto* refusal = std::get_if<reference::Refusal>(&result)) return ViewResult{refusal->rule, refusal->message, 0, 0};
    const auto& view = std::get<reference::FlatRowView>(result);
    return ViewResult{{}, {}, view.num_rows, view.block_stride_rows};
  }
  if (backend != "host") return std::nullopt;
  PagedCache cache{problem.num_blocks, problem.block_size, problem.head_dim, {}, {}};
  std::copy(std::begin(problem.extents), std::end(problem.extents), std::begin(cache.extents));
  std::copy(std::begin(problem.strides), std::end(problem.strides), std::begin(cache.strides));
  FlatRowView view;
  const Status status = flat_row_view(cache, view);
  if (!status.ok()) return ViewResult{spec::Rule(int(spec::Rule::VA1) + int(status.code()) - int(StatusCode::kViewNegativeExtent)), status.message(), 0, 0};
  return ViewResult{{}, {}, view.num_rows, view.block_stride_rows};
}

// A length, or no length where it was refused; nothing for a back end that has no such function.
std::optional<std::optional<int32_t>> local_length_by(std::string_view backend, int32_t length, const spec::RankOwnership& dcp) {
  if (backend == "reference") return reference::dcp_local_length(length, dcp);
  if (backend == "host") return dcp_local_length(length, RankOwnership{dcp.size, dcp.rank, dcp.interleave});
  return std::nullopt;
}

Replayed replay_view(Backend& backend, const spec::FlatRowViewProblem& problem, const Expectation& expected) {
  const auto result = view_by(backend.info().name, problem);
  if (!result) return not_applicable("the flat row view is a matter of the reference and the host");
  if (const auto* refusal = std::get_if<ExpectedRefusal>(&expected)) return judge_refusal(*refusal, result->refused, result->message);
  const auto* view = std::get_if<ExpectedView>(&expected);
  if (!view) return holds();
  if (result->refused) return fails("expected a view, got a refusal: " + result->message);
  if (result->num_rows != view->num_rows) return fails(fmt::format("num_rows: expected {}, got {}", view->num_rows, result->num_rows));
  if (result->block_stride_rows != view->block_stride_rows) {
    return fails(fmt::format("block_stride_rows: expected {}, got {}", view->block_stride_rows, result->block_stride_rows));
  }
  if (view->gap_rows && *view->gap_rows != spec::gap_rows(problem)) {
    return fails(fmt::format("gap_rows: expected [{}], the spec says [{}]", fmt::join(*view->gap_rows, ", "), fmt::join(spec::gap_rows(problem), ", ")));
  }
  return holds();
}

Replayed replay_local_lengths(Backend& backend, const LocalLengthProblem& problem, const Expectation& expected) {
  std::vector<int32_t> lengths;
  for (const int32_t length : problem.lengths) {
    const auto result = local_length_by(backend.info().name, length, problem.dcp);
    if (!result) return not_applicable("local lengths are a matter of the reference and the host");
    if (!*result) {
      return std::holds_alternative<ExpectedRefusal>(expected) ? holds() : fails(fmt::format("length {} was refused", length));
    }
    lengths.push_back(**result);
  }
  if (std::holds_alternative<ExpectedRefusal>(expected)) return fails("expected a refusal, but every length was accepted");
  const auto* due = std::get_if<ExpectedLocalLengths>(&expected);
  if (due && due->local_lengths != lengths) {
    return fails(fmt::format("local_lengths: expected [{}], got [{}]", fmt::join(due->local_lengths, ", "), fmt::join(lengths, ", ")));
  }
  return holds();
}

}  // namespace

std::string missing_capability(const RemapCase& c, uint64_t capabilities) {
  const bool is_dcp = c.dcp.size > 1, is_compacted = c.placement == spec::Placement::kCompacted;
  const struct {
    bool is_needed;
    uint64_t capability;
    const char* name;
  } needs[] = {
      {is_compacted, SLOTPROOF_CAN_COMPACT, "compaction"},
      {is_compacted && !is_dcp, SLOTPROOF_CAN_COMPACT_WITHOUT_DCP, "compaction without DCP"},
      {is_dcp, SLOTPROOF_CAN_DCP, "DCP"},
      {is_dcp && !is_compacted, SLOTPROOF_CAN_IN_PLACE_UNDER_DCP, "DCP in place"},
      {!is_dcp && c.block_stride_rows != c.block_size, SLOTPROOF_CAN_BLOCK_STRIDE, "block stride"},
      {is_dcp && c.block_stride_rows != c.block_size, SLOTPROOF_CAN_BLOCK_STRIDE_UNDER_DCP, "block stride under DCP"},
      {c.num_blocks.has_value(), SLOTPROOF_CAN_NUM_BLOCKS, "num_blocks"},
      {c.prefill.has_value(), SLOTPROOF_CAN_PREFILL, "prefill"},
      {c.block_table.storage_columns != c.block_table.columns || c.token_indices.storage_columns != c.topk(), SLOTPROOF_CAN_STRIDED_INPUTS, "strided inputs"},
      {c.topk() % 128 != 0, SLOTPROOF_CAN_ANY_WIDTH, "any width"},
      {c.layout.slots_storage_columns > c.topk(), SLOTPROOF_CAN_STRIDED_OUTPUT, "strided output"},
      {c.tile.has_value(), SLOTPROOF_CAN_EXPLICIT_TILE, "explicit tile"},
  };
  for (const auto& need : needs) {
    if (need.is_needed && !(capabilities & need.capability)) return need.name;
  }
  return {};
}

Replayed replay(Backend& backend, const Case& value) {
  struct Visitor {
    Backend& backend;
    const Expectation& expected;
    Replayed operator()(const RemapCase& c) const { return replay_remap(backend, c, expected); }
    Replayed operator()(const spec::FlatRowViewProblem& p) const { return replay_view(backend, p, expected); }
    Replayed operator()(const LocalLengthProblem& p) const { return replay_local_lengths(backend, p, expected); }
  };
  return std::visit(Visitor{backend, value.expected}, value.problem);
}

}  // namespace slotproof::harness
