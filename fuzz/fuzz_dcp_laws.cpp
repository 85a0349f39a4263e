// The laws of decode context parallelism, over all ranks at once: P1-P4 on small problems, and three arithmetics of positions and
// lengths at any size.

#include "fuzz/compare.h"
#include "fuzz/input.h"
#include "property_tests/harness/rank_places.h"
#include "spec/rank_ownership.h"

#include <fmt/format.h>
#include <slotproof/plugin.h>
#include <slotproof/rank_ownership.h>

#include <algorithm>
#include <bit>
#include <limits>

namespace slotproof::fuzz {
namespace {

using harness::ByteChoices;
using harness::RemapCase;

constexpr int32_t kMax = std::numeric_limits<int32_t>::max();

// ---- Single positions and lengths of any size.

harness::LocalLengthProblem decode_lengths(ByteChoices& choices) {
  const auto number = [&] {
    switch (choices.below(4)) {
      case 0: return 1 + int32_t(choices.below(16));
      case 1: return 1 + int32_t(choices.below(4096));
      case 2: return kMax - int32_t(choices.below(3));
      default: return 1 + int32_t(choices.below(uint32_t{kMax}));
    }
  };
  harness::LocalLengthProblem problem;
  problem.dcp.size = number();
  problem.dcp.interleave = number();
  problem.dcp.rank = choices.below(2) == 0 ? int32_t(choices.below(uint32_t(problem.dcp.size))) : problem.dcp.size - 1;
  if (choices.below(8) == 7) {  // against A8-A10: no rank has any length
    const int32_t hostile = -int32_t(choices.below(2));
    switch (choices.below(4)) {
      case 0: problem.dcp.size = hostile; break;
      case 1: problem.dcp.interleave = hostile; break;
      case 2: problem.dcp.rank = problem.dcp.size; break;
      default: problem.dcp.rank = -1;
    }
  }
  for (uint32_t left = 1 + choices.below(6); left > 0; --left) {
    // The lengths at which a rank's share stops growing are the edges of its groups.
    const int64_t round = std::min(int64_t{problem.dcp.size} * problem.dcp.interleave, int64_t{1} << 32);  // further edges are no lengths
    const int64_t edge = int64_t(choices.below(8)) * round + int64_t{problem.dcp.rank} * problem.dcp.interleave + int64_t(choices.below(3)) - 1;
    problem.lengths.push_back(choices.below(2) == 0 ? int32_t(std::clamp<int64_t>(edge, -1, kMax)) : int32_t(uint32_t(choices.bits64())));
  }
  return problem;
}

Outcome check_position(const spec::RankOwnership& dcp, int32_t tok) {
  const harness::Places at = harness::places_of(dcp, tok);
  if (!at.kernels.owned || at.reference.rank != at.spec.rank) {
    return finding_of("owner R3", fmt::format("position {}: writer's rank {}, reference {}", tok, at.spec.rank, at.reference.rank));
  }
  if (!harness::agree(at)) {
    return finding_of("local R4", fmt::format("position {}: writer {}, reference {}, kernels {}", tok, at.spec.local, at.reference.local, at.kernels.local));
  }
  return {true, {}, {}};
}

Outcome check_lengths(const harness::LocalLengthProblem& problem) {
  const spec::RankOwnership& dcp = problem.dcp;
  for (const int32_t length : problem.lengths) {
    const auto due = spec::local_length(dcp, length);
    if (reference::dcp_local_length(length, dcp) != due || dcp_local_length(length, RankOwnership{dcp.size, dcp.rank, dcp.interleave}) != due) {
      return finding_of("local_length P2", fmt::format("length {}: spec {}", length, due.value_or(-1)));
    }
    if (!due) continue;
    if (const Outcome outcome = check_position(dcp, length); !outcome.finding.empty()) return outcome;
    if (dcp.size > 16) continue;
    int64_t sum = 0;
    for (int32_t rank = 0; rank < dcp.size; ++rank) sum += dcp_local_length(length, RankOwnership{dcp.size, rank, dcp.interleave}).value_or(0);
    if (sum != length) return finding_of("sum_of_lengths P2", fmt::format("length {}: the ranks' lengths sum to {}", length, sum));
  }
  return {true, {}, {}};
}

// ---- All ranks of one problem.

// What the laws are about has valid tables: level core. At most eight ranks there.
constexpr harness::DecoderOptions kOptions{.level = harness::Level::kCore,
                                           .capabilities = SLOTPROOF_CAN_ALL & ~uint64_t{SLOTPROOF_CAN_PREFILL},
                                           .max_num_tokens = 2,
                                           .max_topk = 40,
                                           .max_team_width = 32};
constexpr int32_t kMostRanks = 16;
constexpr int64_t kMostRows = int64_t{1} << 24;  // of a rank's cache, so that every slot is representable

// Whether the laws' premise can be made true: one request's blocks for each rank, all of them representable.
bool is_lawful(const RemapCase& c) {
  return c.edits.empty() && c.dcp.size >= 1 && c.dcp.size <= kMostRanks && c.dcp.interleave >= 1 && c.block_size >= 1 && c.block_size <= 4096 &&
         c.block_size % c.dcp.interleave == 0 && c.block_stride_rows >= c.block_size && c.block_stride_rows <= kMostRows / 64 && c.block_table.columns <= 8 &&
         !c.prefill && std::ssize(c.req_id) == c.num_tokens() && !(c.tile && (*c.tile < 1 || c.topk() % *c.tile != 0));
}

// Without what the laws say nothing about and what would only keep a problem from them; of a text, no more rows and columns than the decoder
// draws, in narrow teams: for all ranks at once more only costs, and the other targets have it.
RemapCase without_what_is_not_meant(RemapCase c) {
  c.edits.clear();
  c.prefill.reset();
  if (c.schedule.team_width != 64) c.schedule.team_width = 32;
  c.token_indices.rows = std::min(c.token_indices.rows, kOptions.max_num_tokens);
  c.token_indices.columns = std::min(c.token_indices.columns, kOptions.max_topk);
  c.req_id.resize(std::min(c.req_id.size(), size_t(c.token_indices.rows)));
  if (c.tile && (*c.tile < 1 || c.topk() % *c.tile != 0)) c.tile.reset();
  if (c.dcp.interleave < 1 || c.block_size < 1 || c.block_size % c.dcp.interleave != 0) c.dcp.interleave = 1;
  if (c.block_stride_rows < c.block_size || c.block_stride_rows > kMostRows / 64) c.block_stride_rows = c.block_size;
  return c;
}

// Block `column` of a request: no two alike, and in another order than the columns'.
int32_t block_of(int32_t column, int32_t num_columns) {
  return num_columns - 1 - column;
}

// The case for any rank: all requests alike, so that every row has a table.
RemapCase case_of_ranks(RemapCase c) {
  c.num_blocks.reset();
  c.order = spec::Order::kStable;
  c.counts = true;
  std::fill(c.req_id.begin(), c.req_id.end(), 0);
  return c;
}

// Makes it one rank's, with a table of its own of `num_columns` blocks.
void give_to(const spec::RankOwnership& dcp, int32_t num_columns, RemapCase& c) {
  c.dcp = dcp;
  c.block_table = harness::OwnedMatrix::filled(1, num_columns, 0);
  for (int32_t b = 0; b < num_columns; ++b) c.block_table.at(0, b) = block_of(b, num_columns);
}

struct RankRun {
  harness::Frame frame;
  spec::RemapProblem problem;
  explicit RankRun(const RemapCase& c) : frame(c, 1), problem(frame.problem()) {}
  int32_t slot(int32_t t, int32_t k) const { return problem.slots.data[t * problem.slots.row_stride + k]; }
  int32_t count(int32_t t) const { return problem.valid_counts->data[t]; }
};

// P1: the kept columns of the ranks partition those at N = 1, and the counts add up. P4: each slot is where the writer put the
// position; P3 follows, for the writer fills blocks one position behind the other.
Outcome check_ranks(const RemapCase& c) {
  static thread_local const auto host = harness::make_host_backend().backend;
  const int32_t num_columns = c.block_table.columns, size = c.dcp.size;
  const int64_t num_stored = int64_t{num_columns} * c.block_size * size;
  std::vector<int64_t> total(c.req_id.size()), kept(c.req_id.size() * size_t(c.topk()));
  RemapCase of_rank = case_of_ranks(c);
  for (int32_t rank = -1; rank < size; ++rank) {  // -1: the problem at N = 1, whose table covers all positions
    const bool is_alone = rank < 0;
    const spec::RankOwnership dcp = is_alone ? spec::RankOwnership{} : spec::RankOwnership{size, rank, c.dcp.interleave};
    const int32_t columns = is_alone ? num_columns * size : num_columns;
    give_to(dcp, columns, of_rank);
    RankRun run(of_rank);
    const harness::RunOutcome outcome = host->run(run.frame, c.schedule);
    if (outcome.kind == harness::RunOutcome::Kind::kFault) return finding_of("no_fault " + kind_of_fault(outcome.message), outcome.message);
    if (outcome.kind == harness::RunOutcome::Kind::kRefused) return finding_of("refused P1", outcome.message);
    for (int32_t t = 0; t < c.num_tokens(); ++t) {
      int32_t next = 0;  // of a compacted row: the place of the next slot
      for (int32_t k = 0; k < c.topk(); ++k) {
        const int32_t tok = c.token_indices.at(t, k);
        const spec::Share share = tok < 0 ? spec::Share{-1, 0} : spec::share_of(dcp, tok);
        const bool is_kept = tok >= 0 && tok < num_stored && share.rank == dcp.rank;
        const bool is_compacted = c.placement == spec::Placement::kCompacted;
        if (is_compacted && !is_kept) continue;
        const int32_t got = run.slot(t, is_compacted ? next++ : k);
        int64_t due = spec::kNone;
        if (is_kept) {
          const spec::BlockPlace place = spec::block_place_of(share.local, c.block_size);
          due = block_of(int32_t(place.column), columns) * c.block_stride_rows + place.offset;
          kept[size_t(t) * size_t(c.topk()) + size_t(k)] += is_alone ? -1 : 1;
        }
        if (got != due) {
          return finding_of(is_alone ? "writer R8" : "writer P4",
                            fmt::format("rank {} of {}, row {}, column {}, position {}: got {}, the writer put it at {}", rank, size, t, k, tok, got, due));
        }
      }
      total[size_t(t)] += is_alone ? -int64_t{run.count(t)} : int64_t{run.count(t)};
    }
  }
  for (size_t i = 0; i < kept.size(); ++i) {
    if (kept[i] != 0) return finding_of("partition P1", fmt::format("row {}, column {}", i / size_t(c.topk()), i % size_t(c.topk())));
  }
  for (size_t t = 0; t < total.size(); ++t) {
    if (total[t] != 0) return finding_of("counts P1", fmt::format("row {}: the ranks count {} more than one rank alone", t, total[t]));
  }
  return {true, {}, {}};
}

Outcome check_if_lawful(const RemapCase& remap_case) {
  const RemapCase meant = without_what_is_not_meant(remap_case);
  return is_lawful(meant) ? check_ranks(meant) : Outcome{};
}

// The first choice says which of the two problems it is.
Outcome run(Input input, Depth) {
  if (is_case_text(input)) {
    if (const auto lengths = problem_in_text<harness::LocalLengthProblem>(input)) return check_lengths(*lengths);
    const auto remap_case = remap_case_in_text(input);
    return remap_case ? check_if_lawful(*remap_case) : Outcome{};
  }
  ByteChoices choices(input.data(), input.size());
  if (choices.below(4) == 3) return check_lengths(decode_lengths(choices));
  return check_if_lawful(decode_remap(choices, kOptions));
}

void decode(ByteChoices& choices) {
  if (choices.below(4) == 3) decode_lengths(choices);
  else decode_remap(choices, kOptions);
}

// Ranks: the problem of one of them, for a case file knows no more.
std::optional<harness::Case> case_of(Input input) {
  harness::Case value;
  if (is_case_text(input)) {
    if (auto lengths = problem_in_text<harness::LocalLengthProblem>(input)) value.problem = *lengths;
    else if (auto remap_case = remap_case_in_text(input)) return case_with_answer(*remap_case);
    else return std::nullopt;
  } else {
    ByteChoices choices(input.data(), input.size());
    if (choices.below(4) != 3) return case_with_answer(decode_remap(choices, kOptions));
    value.problem = decode_lengths(choices);
  }
  const auto& problem = std::get<harness::LocalLengthProblem>(value.problem);
  if (problem.dcp.size < 1 || problem.dcp.interleave < 1 || problem.dcp.rank < 0 || problem.dcp.rank >= problem.dcp.size)
    return std::nullopt;  // a case file has sound ranks
  harness::ExpectedLocalLengths expected;
  for (const int32_t length : problem.lengths) {
    const auto due = spec::local_length(problem.dcp, length);
    if (!due) {
      value.expected = harness::ExpectedRefusal{spec::Rule::P2};
      return value;
    }
    expected.local_lengths.push_back(*due);
  }
  value.expected = std::move(expected);
  return value;
}

bool mutate_text(std::string& text, uint32_t random) {
  auto problem = problem_in_text<harness::LocalLengthProblem>({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  if (!problem) return mutate_remap_text(text, random);
  if (problem->lengths.empty()) problem->lengths.push_back(0);
  const uint32_t value = random >> 8;
  switch (random % 4) {
    case 0: problem->lengths[value % problem->lengths.size()] = int32_t(value % 4096); break;
    case 1: problem->lengths[value % problem->lengths.size()] = kMax - int32_t(value % 4); break;
    case 2: problem->dcp.size = problem->dcp.rank + 1 + int32_t(value % 16); break;
    default: problem->dcp.interleave = 1 + int32_t(value % 64);
  }
  text = input_of(std::move(*problem));
  return true;
}

}  // namespace

const Target kDcpLaws{"dcp_laws", "the laws of decode context parallelism, all ranks at once", run, decode, case_of, mutate_text};

}  // namespace slotproof::fuzz
