#include "property_tests/harness/laws.h"

#include "property_tests/harness/laws_parts.h"
#include "property_tests/harness/replay.h"
#include "spec/arguments.h"

#include <fmt/format.h>
#include <slotproof/plugin.h>

#include <algorithm>
#include <limits>

namespace slotproof::harness {
namespace {

using spec::Law;
constexpr int64_t kIntMax = std::numeric_limits<int32_t>::max();

using LawFunction = void (*)(LawCheck&);
constexpr std::array<LawFunction, spec::kNumLaws> kFunctions = {
    check_partition, check_dense,    check_alignment, check_writer_and_reader, check_rows,           check_columns, check_blocks, check_padding,
    check_batch,     check_one_rank, check_count,     check_compaction,        check_there_and_back,
};

}  // namespace

std::vector<int32_t> LawOutputs::row(int32_t t) const {
  std::vector<int32_t> entries(slots.row(t).begin(), slots.row(t).end());
  if (is_order_free) std::sort(entries.begin(), entries.end(), std::greater<>());
  return entries;
}

std::vector<int32_t> LawOutputs::kept(int32_t t) const {
  std::vector<int32_t> entries;
  for (const int32_t entry : row(t)) {
    if (entry != spec::kNone) entries.push_back(entry);
  }
  return entries;
}

LawCheck::LawCheck(Law law, Backend& backend, const RemapCase& remap_case, const AcceptedDivergences* accepted)
    : law_(law), backend_(backend), case_(remap_case), accepted_(accepted) {
  if ((accepted && accepted->is_order_free()) || !can(SLOTPROOF_CAN_PROMISE_ORDER)) case_.order = spec::Order::kUnspecified;
  if (!can(SLOTPROOF_CAN_COUNT)) case_.counts = false;
}

std::optional<LawOutputs> LawCheck::run(RemapCase asked, std::string_view what) {
  if (!missing_capability(asked, backend_.info().capabilities).empty()) return std::nullopt;
  Frame frame(asked, poison_seed_++);
  const spec::RemapProblem problem = frame.problem();
  if (spec::refusal_of(problem) || (accepted_ && accepted_->is_accepted(problem))) return std::nullopt;
  const RunOutcome outcome = backend_.run(frame, asked.schedule);
  verdict_.num_indices += int64_t{problem.num_tokens()} * problem.topk();
  if (outcome.kind == RunOutcome::Kind::kFault) {
    verdict_.findings.push_back({std::nullopt, fmt::format("{} (with {})", outcome.message, what)});
    return std::nullopt;
  }
  if (outcome.kind == RunOutcome::Kind::kRefused) {
    report(fmt::format("the call with {}", what), "accepted", "refused: " + outcome.message);
    return std::nullopt;
  }
  LawOutputs outputs;
  outputs.slots = problem.slots.view();
  if (problem.valid_counts) outputs.valid_counts = problem.valid_counts->view();
  outputs.is_order_free = asked.placement == spec::Placement::kCompacted && asked.order == spec::Order::kUnspecified;
  return outputs;
}

void LawCheck::report(std::string place, std::string expected, std::string got) {
  exercise();
  if (has_finding()) return;
  verdict_.findings.push_back({std::nullopt, {}, LawBreach{law_, std::move(place), std::move(expected), std::move(got)}});
}

void LawCheck::expect_row(const LawOutputs& got, int32_t t, std::vector<int32_t> due, std::string_view what) {
  if (got.is_order_free) std::sort(due.begin(), due.end(), std::greater<>());
  const std::vector<int32_t> entries = got.row(t);
  const auto [d, g] = std::mismatch(due.begin(), due.end(), entries.begin());
  if (d == due.end()) return;
  report(fmt::format("slots[{}, {}] with {}", t, got.is_order_free ? "*" : std::to_string(d - due.begin()), what), std::to_string(*d), std::to_string(*g));
}

void LawCheck::expect_count(const LawOutputs& got, int32_t t, int32_t due, std::string_view what) {
  if (got.valid_counts.size() == 0 || got.valid_counts[t] == due) return;
  report(fmt::format("valid_counts[{}] with {}", t, what), std::to_string(due), std::to_string(got.valid_counts[t]));
}

int64_t num_valid_blocks(const RemapCase& c) {
  const int64_t last_row = c.block_size - 1, room = kIntMax - last_row;
  const int64_t representable = c.block_stride_rows > room ? 1 : room / c.block_stride_rows + 1;
  return c.num_blocks ? std::min(*c.num_blocks, representable) : representable;
}

bool has_valid_table(const RemapCase& c) {
  if (c.block_size < 1 || c.block_stride_rows < c.block_size) return false;
  const int64_t limit = num_valid_blocks(c);
  for (int32_t row = 0; row < c.block_table.rows; ++row) {
    for (int32_t column = 0; column < c.block_table.columns; ++column) {
      if (c.block_table.at(row, column) < 0 || c.block_table.at(row, column) >= limit) return false;
    }
  }
  return true;
}

int64_t num_table_positions(const RemapCase& c) {
  return int64_t{c.block_table.columns} * c.block_size;
}

bool is_applicable(Law law, const BackendInfo& info) {
  const auto can = [&](uint64_t capability) { return (info.capabilities & capability) == capability; };
  const bool may_compact =
      can(SLOTPROOF_CAN_COMPACT | SLOTPROOF_CAN_COMPACT_WITHOUT_DCP) || can(SLOTPROOF_CAN_COMPACT | SLOTPROOF_CAN_DCP | SLOTPROOF_CAN_IN_PLACE_UNDER_DCP);
  switch (law) {
    case Law::kPartition: return can(SLOTPROOF_CAN_DCP);
    case Law::kDense:
    case Law::kAlignment:
    case Law::kWriterAndReader:
    case Law::kThereAndBack: return can(SLOTPROOF_CAN_DCP | SLOTPROOF_CAN_IN_PLACE_UNDER_DCP);
    case Law::kOneRank: return can(SLOTPROOF_CAN_DCP);
    case Law::kCount: return may_compact && can(SLOTPROOF_CAN_COUNT);
    case Law::kCompaction: return may_compact;
    default: return true;
  }
}

LawVerdict check_law(Law law, Backend& backend, const RemapCase& remap_case, const AcceptedDivergences* accepted) {
  LawCheck check(law, backend, remap_case, accepted);
  // A call that is changed behind its tensors' backs has no rows and columns that could be told apart.
  if (remap_case.edits.empty() && is_applicable(law, backend.info())) kFunctions[std::size_t(law)](check);
  return check.take();
}

RemapCase draw_for_law(Law law, uint64_t seed, uint64_t index, const DecoderOptions& options, const BackendInfo& info) {
  PhiloxChoices choices(seed, index, /*part=*/15, /*element=*/uint64_t(law));
  return prepared_for(law, draw_remap(seed, index, options), choices, info);
}

}  // namespace slotproof::harness
