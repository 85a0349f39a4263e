#pragma once
// Calls made by hand, and what a back end leaves behind after them compared with the reference, word by word.

#include "property_tests/harness/backend.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace slotproof::harness {

// Two rows over two requests, with a position that has no block, a padding entry and a stride of its own in every matrix.
inline RemapCase small_case() {
  RemapCase value;
  value.req_id = {1, 0};
  value.block_table = OwnedMatrix::of({{7, 3, 5}, {2, 9, -1}}, 3);
  value.token_indices = OwnedMatrix::of({{0, 5, -1, 9, 4}, {11, 11, 3, 12, 0}}, 5);
  value.block_size = 4;
  value.block_stride_rows = 6;
  value.num_blocks = 9;
  value.layout.slots_storage_columns = 7;
  return value;
}

// Wider than the register tile of one warp; every fifth position is padding.
inline RemapCase wide_case() {
  RemapCase value = small_case();
  value.block_table = OwnedMatrix::filled(2, 170, 8, 180);
  value.token_indices = OwnedMatrix::filled(2, 600, -1);
  for (int32_t i = 0; i < 1200; ++i) {
    if (i % 5 != 0) value.token_indices.at(i / 600, i % 600) = i * 7 % 650;
  }
  value.placement = spec::Placement::kCompacted;
  value.schedule.team_width = 32;
  return value;
}

// The small case, and in turn each thing that a call may have.
inline std::vector<RemapCase> cases() {
  std::vector<RemapCase> found = {small_case(), wide_case()};
  const auto add = [&found](auto change) { change(found.emplace_back(small_case())); };
  add([](RemapCase& c) { c = wide_case(); c.tile = 300; });
  add([](RemapCase& c) { c.req_id = {2, -1}; });
  add([](RemapCase& c) { c.block_stride_rows = int64_t{1} << 30; c.num_blocks.reset(); });  // base 5: a slot of 2^30 if it wraps
  add([](RemapCase& c) { c.dcp = {2, 0, 3}; });  // A11
  add([](RemapCase& c) { c.placement = spec::Placement::kCompacted; });
  add([](RemapCase& c) { c.counts = false; });
  add([](RemapCase& c) { c.dcp = {2, 1, 2}; });
  add([](RemapCase& c) { c.dcp = {3, 0, 4}; c.placement = spec::Placement::kCompacted; });
  add([](RemapCase& c) { c.prefill = OwnedPrefill{{-1, 1}, {100, 2000}, 2011}; });
  add([](RemapCase& c) { c.prefill = OwnedPrefill{{0, -7}, {3, 4}, {}}; c.block_table.columns = 1; });
  add([](RemapCase& c) { c.block_stride_rows = int64_t{1} << 60; });
  add([](RemapCase& c) { c.tile = 5; c.layout.misalignment = {1, 2, 3, 0, 1, 2, 3}; });
  add([](RemapCase& c) { c = RemapCase{}; });
  add([](RemapCase& c) { c.tile = 2; });  // A14, and refusals down to the last line
  using Kind = ArgumentEdit::Kind;
  for (const ArgumentEdit& edit : {ArgumentEdit{Kind::kRows, Tensor::kReqId, -1}, ArgumentEdit{Kind::kNull, Tensor::kSlots},
                                   ArgumentEdit{Kind::kByteOffset, Tensor::kBlockTable, 2},
                                   ArgumentEdit{Kind::kRows, Tensor::kValidCounts, 1},
                                   ArgumentEdit{Kind::kRowStride, Tensor::kSlots, 4},
                                   ArgumentEdit{Kind::kRowStride, Tensor::kTokenIndices, 0},
                                   ArgumentEdit{Kind::kAlias, Tensor::kSlots, 1, Tensor::kTokenIndices},
                                   ArgumentEdit{Kind::kAlias, Tensor::kReqId, 4, Tensor::kBlockTable},
                                   ArgumentEdit{Kind::kAlias, Tensor::kValidCounts, 5, Tensor::kSlots},
                                   ArgumentEdit{Kind::kAlias, Tensor::kValidCounts, 6, Tensor::kSlots}}) {
    add([&edit](RemapCase& c) { c.edits.push_back(edit); });
  }
  add([](RemapCase& c) {  // Its second row lies on slots: to be refused for that, and only where the two lie as in the frame.
    const Frame frame(c, 0);
    const int64_t distance = frame.region(Tensor::kSlots).tensor_begin - frame.region(Tensor::kBlockTable).tensor_begin;
    c.edits.push_back({Kind::kRowStride, Tensor::kBlockTable, distance});
  });
  return found;
}

// Runs both on equal frames; everything that they leave behind must be equal. Returns what is not, or nothing.
inline std::string disagreement(Backend& backend, const RemapCase& value) {
  Frame expected(value, 17), got(value, 17);
  const RunOutcome right = make_reference_backend().backend->run(expected, value.schedule);
  const RunOutcome outcome = backend.run(got, value.schedule);
  if (outcome.kind != right.kind || outcome.refused != right.refused) return "outcome: " + outcome.message + " / " + right.message;
  for (int64_t word = 0; word < got.num_words(); ++word) {
    if (got.arena()[word] != expected.arena()[word]) return "word " + std::to_string(word) + " of the arena";
  }
  return {};
}

inline void expect_agreement(Backend& backend) {
  int number = 0;
  for (const RemapCase& value : cases()) EXPECT_EQ(disagreement(backend, value), "") << "case " << number++;
}

inline void expect_fault(const RunOutcome& outcome, const std::string& part) {
  EXPECT_EQ(outcome.kind, RunOutcome::Kind::kFault);
  EXPECT_NE(outcome.message.find(part), std::string::npos) << outcome.message;
}

inline RemapCase with_block_size(int32_t block_size) {
  RemapCase value = small_case();
  value.block_size = block_size;
  return value;
}

inline RunOutcome run(Backend& backend, const RemapCase& value) {
  Frame frame(value, 3);
  return backend.run(frame, {});
}

}  // namespace slotproof::harness
