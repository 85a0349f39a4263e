// R2: rows of the prefill workspace.

#include "property_tests/harness/vectors_parts.h"

namespace slotproof::harness {
namespace {

// Rows that all select the same positions; req_id is 0 for each.
void set_rows(RemapCase& c, std::vector<int32_t> request_ids, std::vector<int32_t> starts,
              const std::vector<int32_t>& positions) {
  c.req_id.assign(request_ids.size(), 0);
  c.token_indices = OwnedMatrix::of(std::vector(request_ids.size(), positions));
  c.prefill = OwnedPrefill{std::move(request_ids), std::move(starts), std::nullopt};
}

void add_requests(RemapVectors& vectors) {
  vectors.add("R2-request-bounds", "P = 2: prefill ids at P - 1, P, P + 1 and 2^31 - 1", [](RemapCase& c) {
    set_rows(c, {0, 1, 2, 3, kMax}, {100, 200}, {0, 5, -1, 9});
  });
  vectors.add("R2-decode-rows", "every negative prefill id is a decode row, not only -1", [](RemapCase& c) {
    set_rows(c, {-1, 0, -2, kMin}, {100}, {0, 5, 8});
  });
  vectors.add("R2-no-requests", "P = 0: every prefill row is none", [](RemapCase& c) { set_rows(c, {0, -1, 1}, {}, {0, 5}); });
  vectors.add("R2-table-not-consulted", "req_id, table width and num_blocks play no part", [](RemapCase& c) {
    set_rows(c, {0, 1, 0, 1}, {100, 200}, {0, 8, 1000});
    c.req_id = {-1, 1, kMax, kMin};
    c.num_blocks = 0;
  });
  vectors.add("R2-no-table", "R = B = 0, and workspace rows all the same", [](RemapCase& c) {
    set_rows(c, {0, -1}, {100}, {0, 8});
    c.block_table = {};
  });
  vectors.add("R2-padding", "negative positions are none, however large the start", [](RemapCase& c) {
    set_rows(c, {0, 1}, {kMax, 0}, {-1, kMin, -100, 0});
  });
  vectors.add("R2-interleave-plays-no-part", "one rank owns everything", [](RemapCase& c) {
    set_rows(c, {0, -1}, {100}, {0, 1, 2, 3, 5});
    c.dcp.interleave = 2;
  });
  vectors.add("R2-compacted", "workspace rows and decode rows are compacted alike", [](RemapCase& c) {
    set_rows(c, {0, -1, 1, 2}, {100, 1000}, {9, -1, 7, 8, -2, 0, 4});
    c.prefill->num_workspace_rows = 1008;
    c.placement = spec::Placement::kCompacted;
  });
}

void add_starts_and_rows(RemapVectors& vectors) {
  vectors.add("R2-negative-start", "no row of such a request exists, not even where start + tok is one", [](RemapCase& c) {
    set_rows(c, {0, 1, 2}, {-1, kMin, 0}, {0, 1, 5, kMax});
  });
  vectors.add("R2-start-edge", "row 2^31 - 1 is the last; 2^31 and 2^32 - 2 wrap", [](RemapCase& c) {
    set_rows(c, {0, 1, 2}, {kMax, kMax - 5, 0}, {0, 1, 5, 6, kMax});
  });
  for (const int64_t num_rows : {int64_t{0}, int64_t{10}, int64_t{kMax}, int64_t{1} << 31, int64_t{1} << 32, kMax64}) {
    vectors.add("R2-workspace-rows-" + std::to_string(num_rows), "num_workspace_rows is an int64 and bounds start + tok",
                [=](RemapCase& c) {
                  set_rows(c, {0, 1, -1}, {8, kMax - 2}, {0, 1, 2, 3});
                  c.prefill->num_workspace_rows = num_rows;
                });
  }
}

}  // namespace

std::vector<Case> make_workspace_vectors() {
  RemapVectors vectors;
  add_requests(vectors);
  add_starts_and_rows(vectors);
  return vectors.take();
}

}  // namespace slotproof::harness
