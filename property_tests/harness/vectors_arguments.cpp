// A1-A15: calls that are refused, and their neighbours that are not.

#include "property_tests/harness/vectors_parts.h"

#include <array>
#include <functional>

namespace slotproof::harness {
namespace {

using Kind = ArgumentEdit::Kind;

// Two rows with all seven tensors; nothing refuses it.
void set_full_call(RemapCase& c) {
  c.req_id = {0, 1};
  c.block_table = OwnedMatrix::of({{7, 9}, {4, 2}});
  c.token_indices = OwnedMatrix::of({{0, 5, -1}, {7, 2, 3}});
  c.prefill = OwnedPrefill{{-1, 0}, {100}, std::nullopt};
}

// One row, no prefill.
void set_single_row(RemapCase& c) { c.token_indices = OwnedMatrix::of({{0, 5, -1}}); }

void add_edited(RemapVectors& vectors, const std::string& id, const std::string& note, std::vector<ArgumentEdit> edits) {
  vectors.add(id, note, [&](RemapCase& c) {
    set_full_call(c);
    c.edits = std::move(edits);
  });
}

void add_extents(RemapVectors& vectors) {
  for (const Tensor tensor : {Tensor::kReqId, Tensor::kBlockTable, Tensor::kTokenIndices, Tensor::kPrefillRequestId,
                              Tensor::kWorkspaceStarts, Tensor::kSlots, Tensor::kValidCounts}) {
    const std::string name = name_of(tensor);
    add_edited(vectors, "A1-rows-of-" + name, "a negative extent", {{Kind::kRows, tensor, -1, {}}});
    add_edited(vectors, "A2-null-" + name, "a null pointer of a tensor with elements", {{Kind::kNull, tensor, 0, {}}});
    const int64_t odd = 1 + int64_t(tensor) % 3;
    add_edited(vectors, "A2-misaligned-" + name, "a pointer off by " + std::to_string(odd) + " bytes",
               {{Kind::kByteOffset, tensor, odd, {}}});
  }
  for (const Tensor tensor : {Tensor::kBlockTable, Tensor::kTokenIndices, Tensor::kSlots}) {
    add_edited(vectors, std::string("A1-columns-of-") + name_of(tensor), "a negative extent",
               {{Kind::kColumns, tensor, kMin, {}}});
  }
  vectors.add("A2-allowed-null", "tensors without elements may be null", [](RemapCase& c) {
    set_full_call(c);
    c.block_table = OwnedMatrix::filled(2, 0, 0);
    c.prefill->workspace_starts.clear();
    c.edits = {{Kind::kNull, Tensor::kBlockTable, 0, {}}, {Kind::kNull, Tensor::kWorkspaceStarts, 0, {}}};
  });
  vectors.add("A2-allowed-misaligned", "a tensor without elements may lie anywhere", [](RemapCase& c) {
    set_full_call(c);
    c.block_table = OwnedMatrix::filled(2, 0, 0);
    c.edits = {{Kind::kByteOffset, Tensor::kBlockTable, 2, {}}};
  });
}

void add_row_counts(RemapVectors& vectors) {
  vectors.add("A3-req-id-longer", "4 requests for 2 rows", [](RemapCase& c) { set_full_call(c), c.req_id = {0, 1, 1, 0}; });
  vectors.add("A3-req-id-shorter", "1 request for 2 rows", [](RemapCase& c) { set_full_call(c), c.req_id = {0}; });
  vectors.add("A3-req-id-empty", "no request for 2 rows", [](RemapCase& c) { set_full_call(c), c.req_id.clear(); });
  vectors.add("A3-prefill-longer", "3 prefill ids for 2 rows", [](RemapCase& c) {
    set_full_call(c), c.prefill->request_ids = {-1, 0, 0};
  });
  vectors.add("A3-prefill-shorter", "1 prefill id for 2 rows",
              [](RemapCase& c) { set_full_call(c), c.prefill->request_ids = {-1}; });
  vectors.add("A3-rows-without-columns", "row counts matter where K = 0, too",
              [](RemapCase& c) { c.token_indices = OwnedMatrix::filled(2, 0, 0); });
  for (const int64_t rows : {1, 3}) {
    const std::string with_rows = "-with-" + std::to_string(rows) + "-rows";
    add_edited(vectors, "A3-slots" + with_rows, "there are 2 rows", {{Kind::kRows, Tensor::kSlots, rows, {}}});
    add_edited(vectors, "A3-valid-counts" + with_rows, "there are 2 rows", {{Kind::kRows, Tensor::kValidCounts, rows, {}}});
  }
  for (const int64_t columns : {0, 2, 4}) {
    add_edited(vectors, "A3-slots-with-" + std::to_string(columns) + "-columns", "K = 3",
               {{Kind::kColumns, Tensor::kSlots, columns, {}}});
  }
}

void add_strides(RemapVectors& vectors) {
  for (const int64_t stride : {int64_t{2}, int64_t{0}, int64_t{-3}, kMin64, (int64_t{1} << 60) + 1, kMax64}) {
    add_edited(vectors, "A4-slots-stride-" + std::to_string(stride), "T = 2, K = 3",
               {{Kind::kRowStride, Tensor::kSlots, stride, {}}});
  }
  for (const Tensor tensor : {Tensor::kBlockTable, Tensor::kTokenIndices}) {
    const std::string name = name_of(tensor);
    for (const int64_t stride : {int64_t{-1}, kMin64, (int64_t{1} << 60) + 1, kMax64}) {
      add_edited(vectors, "A4-" + name + "-stride-" + std::to_string(stride), "an input",
                 {{Kind::kRowStride, tensor, stride, {}}});
    }
    for (const int64_t stride : {0, 1}) {
      add_edited(vectors, "A4-allowed-" + name + "-stride-" + std::to_string(stride), "rows of an input may overlap",
                 {{Kind::kRowStride, tensor, stride, {}}});
    }
    vectors.add("A4-allowed-" + name + "-stride-2^60", "one row: the stride leads nowhere", [=](RemapCase& c) {
      set_single_row(c);
      c.edits = {{Kind::kRowStride, tensor, int64_t{1} << 60, {}}};
    });
  }
  for (const int64_t stride : {int64_t{0}, int64_t{2}, int64_t{-1}, int64_t{1} << 60}) {
    vectors.add("A4-allowed-one-row-stride-" + std::to_string(stride), "T = 1: the output's stride leads nowhere",
                [=](RemapCase& c) {
                  set_single_row(c);
                  c.edits = {{Kind::kRowStride, Tensor::kSlots, stride, {}}};
                });
  }
}

void add_scalars(RemapVectors& vectors) {
  const auto add_values = [&](const std::string& stem, const std::string& note, const std::vector<int64_t>& values, auto set) {
    for (const int64_t value : values) {
      vectors.add(stem + std::to_string(value), note, [&](RemapCase& c) { set_single_row(c), set(c, value); });
    }
  };
  add_values("A5-block-size-", "S < 1", {0, -1, kMin}, [](RemapCase& c, int64_t value) { c.block_size = int32_t(value); });
  add_values("A6-stride-", "L < S = 4", {3, 0, -4, kMin64, -kMax64},
             [](RemapCase& c, int64_t value) { c.block_stride_rows = value; });
  add_values("A7-num-blocks-", "negative", {-1, kMin64}, [](RemapCase& c, int64_t value) { c.num_blocks = value; });
  add_values("A7-num-workspace-rows-", "negative", {-1, kMin64}, [](RemapCase& c, int64_t value) {
    c.prefill = OwnedPrefill{{-1}, {}, value};
  });
  add_values("A8-size-", "N < 1", {0, -1, kMin}, [](RemapCase& c, int64_t value) { c.dcp = {int32_t(value), 0, 1}; });
  add_values("A9-rank-", "N = 2", {-1, 2, 3, kMin, kMax}, [](RemapCase& c, int64_t value) { c.dcp = {2, int32_t(value), 1}; });
  add_values("A9-one-rank-", "N = 1", {-1, 1}, [](RemapCase& c, int64_t value) { c.dcp = {1, int32_t(value), 1}; });
  add_values("A10-interleave-", "I < 1", {0, -1, kMin}, [](RemapCase& c, int64_t value) { c.dcp = {2, 0, int32_t(value)}; });
  add_values("A11-interleave-", "S = 4", {3, 5, 8, kMax}, [](RemapCase& c, int64_t value) { c.dcp = {2, 0, int32_t(value)}; });
  add_values("A11-one-rank-", "S = 4, and one rank is no exception", {3, 8}, [](RemapCase& c, int64_t value) {
    c.dcp = {1, 0, int32_t(value)};
  });
  add_values("A14-tile-", "K = 3", {0, -1, 2, 4, 6, kMin, kMax}, [](RemapCase& c, int64_t value) { c.tile = int32_t(value); });
  add_values("A14-allowed-tile-", "divides K = 3", {1, 3}, [](RemapCase& c, int64_t value) { c.tile = int32_t(value); });
  vectors.add("A14-allowed-without-columns", "every tile divides K = 0", [](RemapCase& c) {
    c.token_indices = OwnedMatrix::filled(1, 0, 0);
    c.tile = 5;
  });
  for (const Tensor tensor : {Tensor::kPrefillRequestId, Tensor::kWorkspaceStarts}) {
    add_edited(vectors, std::string("A12-without-") + name_of(tensor), "one without the other", {{Kind::kDrop, tensor, 0, {}}});
  }
  vectors.add("A13-prefill-under-ranks", "N = 2", [](RemapCase& c) { set_full_call(c), c.dcp.size = 2; });
  vectors.add("A13-decode-rows-only", "N = 2, and prefill ids that are all negative", [](RemapCase& c) {
    set_full_call(c), c.prefill->request_ids = {-1, -1}, c.dcp.size = 2;
  });
}

void add_overlaps(RemapVectors& vectors) {
  for (const Tensor input :
       {Tensor::kReqId, Tensor::kBlockTable, Tensor::kTokenIndices, Tensor::kPrefillRequestId, Tensor::kWorkspaceStarts}) {
    for (const Tensor output : {Tensor::kSlots, Tensor::kValidCounts}) {
      const std::string id = std::string("A15-") + name_of(output) + "-on-" + name_of(input);
      add_edited(vectors, id, "an output that shares an element with an input", {{Kind::kAlias, output, 0, input}});
    }
  }
  add_edited(vectors, "A15-counts-in-slots", "the outputs share an element",
             {{Kind::kAlias, Tensor::kValidCounts, 5, Tensor::kSlots}});
  add_edited(vectors, "A15-last-element", "slots end with the first position",
             {{Kind::kAlias, Tensor::kSlots, -5, Tensor::kTokenIndices}});
  add_edited(vectors, "A15-allowed-adjacent", "slots end where the positions begin",
             {{Kind::kAlias, Tensor::kSlots, -6, Tensor::kTokenIndices}});
  const auto interleave = [](RemapCase& c, int64_t word) {
    set_full_call(c);
    c.token_indices = OwnedMatrix::of({{0, 5, -1, 1, 1, 1, 1}, {7, 2, 3, 1, 1, 1, 1}}, 3);
    c.edits = {{Kind::kAlias, Tensor::kSlots, word, Tensor::kTokenIndices}, {Kind::kRowStride, Tensor::kSlots, 7, {}}};
  };
  for (const int64_t word : {3, 4}) {
    vectors.add("A15-allowed-gaps-" + std::to_string(word),
                "slots in the gaps of the positions: no element is shared, though the intervals overlap",
                [&](RemapCase& c) { interleave(c, word); });
  }
  for (const int64_t word : {2, 5}) {
    vectors.add("A15-gaps-" + std::to_string(word), "one word beside the gap", [&](RemapCase& c) { interleave(c, word); });
  }
}

// Which rule is cited where several are broken.
void add_precedence(RemapVectors& vectors) {
  using Break = std::function<void(RemapCase&)>;
  const auto edit = [](Kind kind, Tensor tensor, int64_t value, Tensor other = {}) -> Break {
    return [=](RemapCase& c) { c.edits.push_back({kind, tensor, value, other}); };
  };
  const std::array<Break, 15> breaks = {edit(Kind::kRows, Tensor::kBlockTable, -1),
                                        edit(Kind::kNull, Tensor::kReqId, 0),
                                        edit(Kind::kRows, Tensor::kValidCounts, 3),
                                        edit(Kind::kRowStride, Tensor::kTokenIndices, -1),
                                        [](RemapCase& c) { c.block_size = -4; },
                                        [](RemapCase& c) { c.block_stride_rows = -5; },
                                        [](RemapCase& c) { c.num_blocks = -1; },
                                        [](RemapCase& c) { c.dcp.size = 0; },
                                        [](RemapCase& c) { c.dcp.rank = -1; },
                                        [](RemapCase& c) { c.dcp.interleave = 0; },
                                        [](RemapCase& c) { c.dcp.interleave = 3; },
                                        edit(Kind::kDrop, Tensor::kWorkspaceStarts, 0),
                                        [](RemapCase& c) { c.dcp.size = 2; },
                                        [](RemapCase& c) { c.tile = 2; },
                                        edit(Kind::kAlias, Tensor::kSlots, 0, Tensor::kTokenIndices)};
  for (size_t first = 0; first + 1 < breaks.size(); ++first) {
    const std::string id = "A" + std::to_string(first + 1) + "-before-A" + std::to_string(first + 2);
    vectors.add(id, "both are broken (as far as they can be); the first is cited", [&](RemapCase& c) {
      set_full_call(c);
      breaks[first + 1](c);
      breaks[first](c);
    });
  }
  vectors.add("A6-before-R15", "a call without rows is validated all the same", [](RemapCase& c) {
    c.req_id.clear();
    c.token_indices = OwnedMatrix::filled(0, 3, 0);
    c.block_stride_rows = 3;
  });
}

}  // namespace

std::vector<Case> make_argument_vectors() {
  RemapVectors vectors;
  vectors.add("A0-full-call", "what the other cases change; nothing refuses it", set_full_call);
  add_extents(vectors);
  add_row_counts(vectors);
  add_strides(vectors);
  add_scalars(vectors);
  add_overlaps(vectors);
  add_precedence(vectors);
  return vectors.take();
}

}  // namespace slotproof::harness
