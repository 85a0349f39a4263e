// The seed's two calls by name: each is the remap of one problem, with outputs of its own and the seed's defaults.

#include "property_tests/harness/decoder.h"
#include "property_tests/harness/frame.h"
#include "reference/remap.h"
#include "spec/arguments.h"
#include "spec/remap.h"

#include <gtest/gtest.h>

namespace slotproof::harness {
namespace {

using reference::convert_req_index_to_global_index;
using reference::ConvertOptions;
using reference::filter_and_convert_dcp_index;
using reference::FilterOptions;
using reference::GlobalIndex;
using reference::Refusal;
using reference::Result;
using spec::Placement;
using spec::RemapProblem;
using spec::Rule;

template <class Options>
Options options_of(const RemapProblem& problem) {
  Options options;
  options.block_size = problem.block_size;
  options.block_stride_rows = problem.block_stride_rows;
  options.topk = problem.topk();
  options.return_valid_counts = problem.valid_counts.has_value();
  return options;
}

Result<GlobalIndex> converted(const RemapProblem& problem) {
  ConvertOptions options = options_of<ConvertOptions>(problem);
  options.prefill_request_id = problem.prefill_request_id;
  options.workspace_starts = problem.workspace_starts;
  return convert_req_index_to_global_index(problem.req_id, problem.block_table, problem.token_indices, options);
}
Result<GlobalIndex> filtered(const RemapProblem& problem) {
  FilterOptions options = options_of<FilterOptions>(problem);
  options.interleave = problem.dcp.interleave;
  options.compact_valid_to_front = problem.placement == Placement::kCompacted;
  return filter_and_convert_dcp_index(problem.req_id, problem.block_table, problem.token_indices, problem.dcp.size, problem.dcp.rank, options);
}

// What the seed's signatures cannot say.
void drop_what_cannot_be_said(RemapCase& c) {
  c.num_blocks.reset();
  c.tile.reset();
  c.order = spec::Order::kStable;
  if (c.prefill) c.prefill->num_workspace_rows.reset();
  c.edits.clear();
  c.layout = {};
}

void expect_outputs(const RemapProblem& problem, const Result<GlobalIndex>& result, uint64_t index) {
  ASSERT_TRUE(std::holds_alternative<GlobalIndex>(result)) << index << ": " << std::get<Refusal>(result).message;
  const auto& made = std::get<GlobalIndex>(result);
  const spec::ExpectedOutputs expected = spec::expected_outputs(problem);
  EXPECT_EQ(made.slots, expected.slots) << index;
  ASSERT_EQ(made.valid_counts.has_value(), problem.valid_counts.has_value()) << index;
  EXPECT_TRUE(!made.valid_counts || *made.valid_counts == expected.valid_counts) << index;
}

TEST(SeedCalls, AreTheRemapOfTheirProblem) {
  int num_converted = 0, num_filtered = 0, num_prefill = 0, num_refused = 0;
  for (uint64_t index = 0; index < 1500; ++index) {
    RemapCase c = draw_remap(21, index, {.max_topk = 130});
    drop_what_cannot_be_said(c);
    if (index % 3 == 0) c.dcp = {}, c.placement = Placement::kInPlace;
    Frame frame(c, 1);
    const RemapProblem problem = frame.problem();
    const bool can_convert = problem.dcp.size == 1 && problem.dcp.rank == 0 && problem.dcp.interleave == 1 && problem.placement == Placement::kInPlace;
    if (!can_convert && problem.prefill_request_id) continue;
    const Result<GlobalIndex> result = can_convert ? converted(problem) : filtered(problem);
    if (const auto refused = spec::refusal_of(problem)) {
      ASSERT_TRUE(std::holds_alternative<Refusal>(result)) << index;
      EXPECT_EQ(std::get<Refusal>(result).rule, refused->rule) << index;
      ++num_refused;
      continue;
    }
    expect_outputs(problem, result, index);
    ++(can_convert ? num_converted : num_filtered);
    num_prefill += problem.prefill_request_id.has_value();
  }
  EXPECT_GT(num_converted, 100);
  EXPECT_GT(num_filtered, 100);
  EXPECT_GT(num_prefill, 30);
  EXPECT_GT(num_refused, 10);
}

// One row, four blocks of 64 rows; 2048 columns, as the seed's defaults have it.
struct DefaultProblem {
  int32_t req_id = 0;
  int32_t blocks[4] = {5, 6, 7, 8};
  std::vector<int32_t> positions = std::vector<int32_t>(2048, -1);
  spec::InputVector requests() const { return {&req_id, 1}; }
  spec::InputMatrix table() const { return {blocks, 1, 4, 4}; }
  spec::InputMatrix indices() const { return {positions.data(), 1, int32_t(positions.size()), int64_t(positions.size())}; }
};

TEST(SeedCalls, HaveTheSeedsDefaults) {
  DefaultProblem given;
  given.positions[7] = 65;
  const auto converted = convert_req_index_to_global_index(given.requests(), given.table(), given.indices());
  ASSERT_TRUE(std::holds_alternative<GlobalIndex>(converted));
  EXPECT_EQ(std::get<GlobalIndex>(converted).slots(0, 7), 6 * 64 + 1) << "blocks of 64 rows, as far apart";
  EXPECT_FALSE(std::get<GlobalIndex>(converted).valid_counts.has_value());
  const auto filtered = filter_and_convert_dcp_index(given.requests(), given.table(), given.indices(), 2, 1);
  ASSERT_TRUE(std::holds_alternative<GlobalIndex>(filtered));
  EXPECT_EQ(std::get<GlobalIndex>(filtered).slots(0, 0), 5 * 64 + 32) << "interleave 1, moved to the front";
}

TEST(SeedCalls, AreRefusedWhereTheWidthIsNotTheOneThatIsSaid) {
  DefaultProblem given;
  ConvertOptions options;
  options.topk = 128;
  const auto result = convert_req_index_to_global_index(given.requests(), given.table(), given.indices(), options);
  ASSERT_TRUE(std::holds_alternative<Refusal>(result));
  EXPECT_EQ(std::get<Refusal>(result).rule, Rule::A3);
}

}  // namespace
}  // namespace slotproof::harness
