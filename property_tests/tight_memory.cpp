// Where tensors touch, and where they share: A15 to the word, by spec, reference and kernels. Drawn problems keep their tensors apart.

#include "property_tests/harness/kernel_arguments.h"
#include "reference/arguments.h"
#include "spec/arguments.h"

#include <gtest/gtest.h>

#include <array>
#include <utility>

namespace slotproof::harness {
namespace {

using spec::Rule;

std::optional<Rule> rule_of(const auto& refusal) { return refusal ? std::optional(refusal->rule) : std::nullopt; }

void expect_all(const spec::RemapProblem& problem, std::optional<Rule> due, const char* what) {
  EXPECT_EQ(rule_of(spec::refusal_of(problem)), due) << "spec: " << what;
  EXPECT_EQ(rule_of(reference::validate(problem)), due) << "reference: " << what;
  EXPECT_EQ(outcome_of(validate(remap_args_of(problem))).refused, due) << "kernels: " << what;
}

// Three rows of five columns with two words between rows; every tensor begins where the last one ends.
class TightMemory : public testing::Test {
 protected:
  TightMemory() {
    int32_t* next = memory_.data();
    const auto take = [&](int32_t size) { return std::exchange(next, next + size); };
    problem_.req_id = {take(3), 3};
    problem_.valid_counts = spec::OutputVector{take(3), 3};
    problem_.block_table = {take(8), 2, 4, 4};
    problem_.slots = {take(19), 3, 5, 7};
    problem_.token_indices = {take(19), 3, 5, 7};
    problem_.prefill_request_id = spec::InputVector{take(3), 3};
    problem_.workspace_starts = spec::InputVector{take(2), 2};
    problem_.block_size = 4;
    problem_.block_stride_rows = 4;
  }
  std::array<int32_t, 64> memory_{};
  spec::RemapProblem problem_;
};

TEST_F(TightMemory, TensorsMayTouch) { expect_all(problem_, std::nullopt, "each begins where another ends"); }

TEST_F(TightMemory, InputsMayShare) {
  problem_.prefill_request_id = problem_.req_id;
  problem_.workspace_starts = spec::InputVector{problem_.token_indices.data, 2};
  problem_.block_table.data = problem_.token_indices.data;
  expect_all(problem_, std::nullopt, "inputs alone share");
}

TEST_F(TightMemory, CountsMayLieInTheGapsOfTheIndicesAndNowhereElse) {
  for (int32_t begin = -1; begin < 19; ++begin) {
    problem_.valid_counts->data = const_cast<int32_t*>(problem_.token_indices.data) + begin;
    expect_all(problem_, Rule::A15, "three counts do not fit between two rows");
  }
  spec::RemapProblem one = problem_;
  one.req_id.size = one.slots.rows = one.token_indices.rows = 1;
  one.valid_counts->size = 1;
  one.prefill_request_id->size = 1;
  one.block_table = {problem_.token_indices.data, 3, 5, 7};  // the strided one
  one.token_indices.data = memory_.data() + 63 - 5;
  for (int32_t begin = 0; begin < 19; ++begin) {
    one.valid_counts->data = const_cast<int32_t*>(one.block_table.data) + begin;
    expect_all(one, begin % 7 < 5 ? std::optional(Rule::A15) : std::nullopt, "a count in a row of the table, or between two");
  }
}

TEST_F(TightMemory, RequestsMayNotLieInAnyRowOfTheSlots) {
  for (int32_t row = 0; row < 3; ++row) {
    for (int32_t column = 0; column < 5; ++column) {
      problem_.req_id.data = problem_.slots.data + row * 7 + column;
      expect_all(problem_, Rule::A15, "requests begin in a row of the slots");
    }
  }
}

TEST_F(TightMemory, ARefusalNamesBothTensorsAndTheirShapes) {
  problem_.req_id.data = problem_.slots.data;
  const auto refusal = reference::validate(problem_);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->message, "slots (3 x 5, row stride 7) shares an element with req_id (3 x 1, row stride 1)");
}

// What has no elements shares none, wherever it points.
TEST_F(TightMemory, OutputsWithoutColumnsMayPointAnywhere) {
  problem_.token_indices.columns = problem_.slots.columns = 0;
  for (int32_t offset = 0; offset < 8; ++offset) {
    problem_.slots.data = const_cast<int32_t*>(problem_.block_table.data) + offset;
    expect_all(problem_, std::nullopt, "no columns");
  }
}

TEST_F(TightMemory, TotalsAreEightPairsOfWords) {
  alignas(8) std::array<int32_t, 64> memory{};
  spec::DiagnosisOutputs outputs;
  const auto expect = [&](std::optional<Rule> due, const char* what) {
    EXPECT_EQ(rule_of(reference::validate(problem_, outputs)), due) << "reference: " << what;
    EXPECT_EQ(outcome_of(validate(diagnose_args_of(problem_, outputs))).refused, due) << "kernels: " << what;
  };
  outputs.totals = reinterpret_cast<int64_t*>(memory.data() + 2);
  outputs.row_counts = spec::OutputMatrix{memory.data() + 18, 3, 8, 8};
  expect(std::nullopt, "row counts behind the totals");
  outputs.row_counts->data = memory.data() + 17;
  expect(Rule::A15, "row counts in the last word of the totals");
  outputs.row_counts = spec::OutputMatrix{memory.data(), 3, 8, 20};
  expect(Rule::A15, "totals in the first row of the counts");
  outputs.totals = reinterpret_cast<int64_t*>(memory.data() + 48);
  expect(std::nullopt, "totals behind the row counts");
}

}  // namespace
}  // namespace slotproof::harness
