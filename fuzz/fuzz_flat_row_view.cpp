// The flat row view of a paged cache: kernels, reference and spec, and the rows themselves where the cache is small.

#include "fuzz/input.h"
#include "property_tests/harness/flat_row_view_answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace slotproof::fuzz {
namespace {

using harness::ByteChoices;
using harness::FlatRowViewAnswer;
using harness::kernels_answer;
using harness::reference_answer;
using harness::spec_answer;
using spec::FlatRowViewProblem;

constexpr int64_t kMaxRows = std::numeric_limits<int32_t>::max();
constexpr int64_t kMax64 = std::numeric_limits<int64_t>::max();

int64_t extent_of(ByteChoices& choices) {
  switch (choices.below(16)) {
    case 12: return int64_t(choices.below(1 << 16));
    case 13: return kMaxRows - int64_t(choices.below(4)) + 1;
    case 14: return kMax64 - int64_t(choices.below(2));
    case 15: return int64_t(choices.bits64());
    default: return int64_t(choices.below(8));
  }
}

FlatRowViewProblem decode_view(ByteChoices& choices) {
  FlatRowViewProblem problem;
  const auto one_in = [&](uint32_t n) { return choices.below(n) == n - 1; };
  problem.num_blocks = extent_of(choices);
  problem.block_size = one_in(8) ? extent_of(choices) : 1 + int64_t(choices.below(8));
  problem.head_dim = one_in(8) ? extent_of(choices) : 1 + int64_t(choices.below(8));
  const int64_t extents[3] = {problem.num_blocks, problem.block_size, problem.head_dim};
  std::copy(std::begin(extents), std::end(extents), problem.extents);
  // A block stride of whole rows, one at which the last row is representable or just not, or anything.
  int64_t rows = problem.block_size;
  if (one_in(2)) rows = int64_t(uint64_t(rows) + choices.below(8));
  if (one_in(4)) rows = extent_of(choices);
  if (one_in(4) && problem.num_blocks > 1) rows = (kMaxRows - problem.block_size) / (problem.num_blocks - 1) + int64_t(choices.below(3)) - 1;
  int64_t stride = 0;
  if (__builtin_mul_overflow(rows, problem.head_dim, &stride)) stride = rows;
  problem.strides[0] = stride;
  problem.strides[1] = problem.head_dim;
  problem.strides[2] = 1;
  if (one_in(6)) problem.extents[choices.below(3)] = extent_of(choices);
  if (one_in(6)) problem.strides[choices.below(3)] = extent_of(choices);
  return problem;
}

// V2, V4, V5 row by row: every row of the view is one (block, offset) or one gap.
std::string wrong_rows(const FlatRowViewProblem& problem, const FlatRowViewAnswer& view) {
  std::vector<uint8_t> num_owners(static_cast<size_t>(view.num_rows));
  for (int64_t block = 0; block < problem.num_blocks; ++block) {
    for (int64_t offset = 0; offset < problem.block_size; ++offset) {
      const int64_t row = block * view.block_stride_rows + offset;
      if (row < 0 || row >= view.num_rows) return "V2";
      if (++num_owners[size_t(row)] > 1) return "V4";
    }
  }
  for (const int64_t gap : spec::gap_rows(problem)) {
    if (++num_owners[size_t(gap)] > 1) return "V5";
  }
  return std::all_of(num_owners.begin(), num_owners.end(), [](uint8_t n) { return n == 1; }) ? "" : "V5";
}

Outcome check(const FlatRowViewProblem& problem) {
  bool has_written = false;
  const FlatRowViewAnswer due = spec_answer(problem), reference = reference_answer(problem), got = kernels_answer(problem, has_written);
  if (has_written) return finding_of("view_refusal", "a refused view was written, or has no message");
  if (!(got == due))
    return finding_of("view " + std::string(due.refused ? spec::id_of(*due.refused) : "V2"), fmt::format("kernels: {}, spec: {}", text_of(got), text_of(due)));
  if (!(reference == due)) return finding_of("view_reference_disagrees", fmt::format("reference: {}, spec: {}", text_of(reference), text_of(due)));
  if (!due.refused && due.num_rows <= 256) {
    if (const std::string rule = wrong_rows(problem, got); !rule.empty()) return finding_of("view_rows " + rule, text_of(got));
  }
  return {true, {}, {}};
}

std::optional<FlatRowViewProblem> problem_of(Input input) {
  if (is_case_text(input)) return problem_in_text<FlatRowViewProblem>(input);
  ByteChoices choices(input.data(), input.size());
  return decode_view(choices);
}

Outcome run(Input input, Depth) {
  const auto problem = problem_of(input);
  return problem ? check(*problem) : Outcome{};
}

std::optional<harness::Case> case_of(Input input) {
  const auto problem = problem_of(input);
  if (!problem) return std::nullopt;
  harness::Case value;
  value.problem = *problem;
  const FlatRowViewAnswer due = spec_answer(*problem);
  if (due.refused) value.expected = harness::ExpectedRefusal{due.refused};
  else value.expected = harness::ExpectedView{due.num_rows, due.block_stride_rows, {}};
  return value;
}

bool mutate_text(std::string& text, uint32_t random) {
  auto problem = problem_in_text<FlatRowViewProblem>({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  if (!problem) return false;
  int64_t* const fields[] = {&problem->num_blocks, &problem->block_size, &problem->head_dim,   &problem->extents[0], &problem->extents[1],
                             &problem->extents[2], &problem->strides[0], &problem->strides[1], &problem->strides[2]};
  // The value is drawn as that of a choice is.
  uint8_t bytes[16];
  for (uint8_t& byte : bytes) byte = uint8_t((random = random * 1664525u + 1013904223u) >> 24);
  ByteChoices choices(bytes, sizeof bytes);
  *fields[choices.below(uint32_t(std::size(fields)))] = extent_of(choices);
  text = input_of(*problem);
  return true;
}

}  // namespace

const Target kFlatRowView{"flat_row_view", "the flat row view of a paged cache", run, [](ByteChoices& choices) { decode_view(choices); }, case_of, mutate_text};

}  // namespace slotproof::fuzz
