// Corners: a quick run reaches all of them, they stand at the edges of the rules and for the public reports, and they are read off a
// problem rightly.

#include "property_tests/harness/corners.h"

#include "property_tests/harness/backend.h"
#include "property_tests/harness/case_file.h"
#include "property_tests/harness/decoder.h"
#include "property_tests/harness/judge.h"
#include "property_tests/places.h"
#include "spec/arguments.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <sstream>

namespace slotproof::harness {
namespace {

constexpr uint64_t kQuickCases = 4000;

CornerSet corners_of(const RemapCase& remap_case) {
  Frame frame(remap_case, 1);
  return harness::corners_of(frame.problem(), !remap_case.edits.empty());
}

// The quick form is whatever `slotproof check --cases 4000` draws; with one seed it could be luck.
TEST(Corners, AreAllReachedInAQuickRunOfAnySeed) {
  const auto reference = make_reference_backend().backend;
  for (const uint64_t seed : {1u, 2u, 3u}) {
    std::array<int, kNumCorners> num_cases{};
    for (uint64_t index = 0; index < kQuickCases; ++index) {
      const CornerSet reached = judge(*reference, draw_remap(seed, index, {}), {1, false}).corners;
      for (size_t i = 0; i < kNumCorners; ++i) num_cases[i] += reached.test(i);
    }
    for (const CornerText& corner : corners()) EXPECT_GE(num_cases[size_t(corner.corner)], 3) << corner.id << " (" << corner.what << "), seed " << seed;
  }
}

TEST(Corners, HaveEachArgumentRuleBrokenAndAlmostBroken) {
  for (int number = 1; number <= 15; ++number) {
    const spec::Rule rule = spec::argument_rule_of(number);
    int num_refused = 0, num_accepted = 0;
    for (const CornerText& corner : corners()) {
      const auto rules = corner.rules.all();
      if (std::find(rules.begin(), rules.end(), rule) == rules.end() || corner.corner == Corner::kRefused) continue;
      ++(corner.id.starts_with("refused") ? num_refused : num_accepted);
    }
    EXPECT_EQ(num_refused, 1) << spec::id_of(rule);
    EXPECT_GE(num_accepted, 1) << spec::id_of(rule);
  }
}

TEST(Corners, HaveBothSidesOfEachRuleOfTheRemap) {
  std::map<spec::Rule, int> num_corners;
  for (const CornerText& corner : corners()) {
    EXPECT_FALSE(corner.rules.all().empty()) << corner.id;
    for (const spec::Rule rule : corner.rules.all()) ++num_corners[rule];
  }
  for (int rule = 0; rule <= int(spec::Rule::R15); ++rule) EXPECT_GE(num_corners[spec::Rule(rule)], 2) << spec::id_of(spec::Rule(rule));
  for (const auto rule : {spec::Rule::P1, spec::Rule::P3, spec::Rule::P4, spec::Rule::V5}) EXPECT_GE(num_corners[rule], 2) << spec::id_of(rule);
}

TEST(Corners, HaveIdsOfTheirOwn) {
  std::set<std::string_view> ids;
  for (const CornerText& corner : corners()) {
    EXPECT_TRUE(ids.insert(corner.id).second) << corner.id;
    EXPECT_EQ(corner_of(corner.id), corner.corner);
  }
  EXPECT_FALSE(corner_of("no_such"));
}

// A corner that stands for the kind of a report is one that the report's case has, and each report of a remap has such a corner.
TEST(Corners, StandForThePublicReports) {
  const CaseFile file = read_cases(source_dir() / "property_tests/vectors/public-reports.json");
  ASSERT_EQ(file.error, "");
  std::map<std::string, const Case*> cases;
  for (const Case& value : file.cases) {
    cases[value.id] = &value;
    EXPECT_EQ(report_kind_of(value.id), value.kind) << value.id;
  }
  std::set<std::string> stood_for;
  for (const CornerText& corner : corners()) {
    std::istringstream ids{std::string(corner.reports)};
    for (std::string id; ids >> id;) {
      ASSERT_TRUE(cases.contains(id)) << corner.id << " stands for " << id;
      const auto* remap_case = std::get_if<RemapCase>(&cases[id]->problem);
      ASSERT_TRUE(remap_case) << id;
      EXPECT_TRUE(corners_of(*remap_case).test(size_t(corner.corner))) << corner.id << " stands for " << id << ", which has no such corner";
      stood_for.insert(id);
    }
  }
  for (const auto& [id, value] : cases) {
    const bool is_remap = std::holds_alternative<RemapCase>(value->problem);
    EXPECT_TRUE(!is_remap || stood_for.contains(id)) << "no corner stands for the kind of " << id;
  }
}

// ---- Read off a problem: each of these has the corner by one change, and by another, which comes close, it has not.

// One request of two blocks of four tokens, six rows apart; one row.
RemapCase plain() {
  RemapCase c;
  c.req_id = {0};
  c.block_table = OwnedMatrix::of({{7, 3}});
  c.token_indices = OwnedMatrix::of({{0, 5, 2}});
  c.block_size = 4;
  c.block_stride_rows = 6;
  return c;
}
RemapCase two_rows() {
  RemapCase c = plain();
  c.req_id = {0, 1};
  c.block_table = OwnedMatrix::of({{7, 3}, {2, 9}});
  c.token_indices = OwnedMatrix::of({{0, 5, 2}, {1, -1, 4}});
  return c;
}
RemapCase workspace() {
  RemapCase c = plain();
  c.prefill = OwnedPrefill{{0}, {10}, 13};
  return c;
}
RemapCase ranks() {
  RemapCase c = plain();
  c.dcp = {2, 0, 2};
  return c;
}
RemapCase compacted() {
  RemapCase c = ranks();
  c.placement = spec::Placement::kCompacted;
  return c;
}

struct Example {
  const char* corner;
  RemapCase (*from)();
  std::function<void(RemapCase&)> has, has_not;
};
void set(RemapCase& c, std::vector<int32_t> positions) {
  c.token_indices = OwnedMatrix::of({std::move(positions)});
}
std::function<void(RemapCase&)> positions(std::vector<int32_t> row) {
  return [row](RemapCase& c) { set(c, row); };
}
std::function<void(RemapCase&)> table(std::vector<std::vector<int32_t>> rows) {
  return [rows](RemapCase& c) { c.block_table = OwnedMatrix::of(rows); };
}
std::function<void(RemapCase&)> stride(int64_t rows) {
  return [rows](RemapCase& c) { c.block_stride_rows = rows; };
}
void as_it_is(RemapCase&) {}

const Example kExamples[] = {
    {"minus_one", plain, positions({-1}), positions({-2})},
    {"other_negative", plain, positions({-2}), positions({-1})},
    {"position_zero", plain, positions({0}), positions({1})},
    {"workspace_last_row", workspace, positions({2}), positions({1})},
    {"workspace_row_one_beyond", workspace, positions({3}), positions({4})},
    {"workspace_row_beyond", workspace, positions({3}), positions({2})},
    {"workspace_past_table_width", workspace,
     [](RemapCase& c) {
       c.prefill->num_workspace_rows = 30;
       set(c, {8});
     },
     positions({2})},
    {"prefill_id_beyond", workspace, [](RemapCase& c) { c.prefill->request_ids = {1}; }, as_it_is},
    {"workspace_without_request", workspace, [](RemapCase& c) { c.req_id = {-1}; }, as_it_is},
    {"foreign", ranks, positions({2}), positions({1, 4})},
    {"owned", ranks, positions({4}), positions({2, 3})},
    {"rank_owns_nothing", ranks, positions({2, 3}), positions({2, 3, 4})},
    {"group_edge", ranks, positions({5}), positions({4})},
    {"group_first", ranks, positions({4}), positions({0, 5})},
    {"group_at_block_begin", ranks, positions({8}), positions({0, 9})},
    {"group_at_block_end", ranks, positions({5}), positions({1})},
    {"block_of_several_groups", ranks, positions({4}), positions({1, 8})},
    {"interleave_with_one_rank", plain, [](RemapCase& c) { c.dcp.interleave = 2; }, as_it_is},
    {"last_rank", ranks, [](RemapCase& c) { c.dcp.rank = 1; }, as_it_is},
    {"round_int_max", ranks, [](RemapCase& c) { c.dcp = {2147483647, 0, 1}; }, [](RemapCase& c) { c.dcp = {2147483646, 0, 1}; }},
    {"round_beyond_int32", ranks, [](RemapCase& c) { c.dcp = {1073741824, 0, 2}; }, [](RemapCase& c) { c.dcp = {2147483647, 0, 1}; }},
    {"request_one_beyond", plain, [](RemapCase& c) { c.req_id = {1}; }, [](RemapCase& c) { c.req_id = {2}; }},
    {"graph_padding_row", two_rows, [](RemapCase& c) { c.req_id = {0, -1}; }, [](RemapCase& c) { c.req_id = {-1, 0}; }},
    {"padding_row", two_rows, [](RemapCase& c) { c.token_indices = OwnedMatrix::of({{0}, {-1}}); },
     [](RemapCase& c) { c.token_indices = OwnedMatrix::of({{-1}, {0}}); }},
    {"speculative_rows", two_rows, [](RemapCase& c) { c.req_id = {1, 1}; }, as_it_is},
    {"several_requests", two_rows, as_it_is, [](RemapCase& c) { c.req_id = {1, 1}; }},
    {"column_last", plain, positions({4}), positions({3})},
    {"column_one_beyond", plain, positions({8}), positions({9})},
    {"column_beyond", plain, positions({9}), positions({7})},
    {"base_last", plain, [](RemapCase& c) { c.num_blocks = 8; }, [](RemapCase& c) { c.num_blocks = 9; }},
    {"base_one_beyond", plain, [](RemapCase& c) { c.num_blocks = 7; }, [](RemapCase& c) { c.num_blocks = 6; }},
    {"base_negative", plain, table({{-1, 3}}), table({{0, 3}})},
    {"table_hole", plain,
     [](RemapCase& c) {
       c.block_table = OwnedMatrix::of({{7, -1, 3}});
       set(c, {0, 5, 9});
     },
     [](RemapCase& c) {
       c.block_table = OwnedMatrix::of({{7, 3, -1}});
       set(c, {0, 5, 9});
     }},
    {"shared_block", two_rows, table({{7, 3}, {3, 9}}), as_it_is},
    {"shared_prefix", two_rows, table({{7, 3}, {7, 9}}), table({{7, 3}, {3, 9}})},
    {"block_first_offset", plain, positions({4}), positions({0, 5})},
    {"block_inner_offset", plain, positions({5}), positions({4, 7, 1})},
    {"block_last_offset", plain, positions({7}), positions({4, 6})},
    {"stride_is_block", plain, stride(4), as_it_is},
    {"stride_above_block", plain, as_it_is, stride(4)},
    {"stride_above_block_under_dcp", ranks, as_it_is, stride(4)},
    {"base_above_24_bits", plain, table({{(1 << 24) + 1, 3}}), table({{1 << 24, 3}})},
    {"base_near_limit", plain, table({{357913941, 3}}), table({{357913940, 3}})},
    {"base_beyond_limit", plain, table({{357913942, 3}}), table({{357913941, 3}})},
    {"slot_zero", plain, table({{0, 3}}), table({{1, 3}})},
    {"slot_int_max", plain,
     [](RemapCase& c) {
       c.block_table = OwnedMatrix::of({{357913941, 3}});
       set(c, {1});
     },
     [](RemapCase& c) {
       c.block_table = OwnedMatrix::of({{357913941, 3}});
       set(c, {0});
     }},
    {"slot_one_too_large", plain,
     [](RemapCase& c) {
       c.block_table = OwnedMatrix::of({{357913941, 3}});
       set(c, {2});
     },
     [](RemapCase& c) {
       c.block_table = OwnedMatrix::of({{357913941, 3}});
       set(c, {3});
     }},
    {"duplicates", plain, positions({5, 0, 5}), positions({-1, 0, -1})},
    {"ascending", plain, positions({0, 1, 7}), positions({0, 1, 1})},
    {"descending", plain, positions({7, 1, 0}), positions({7, 1, 1})},
    {"unsorted", plain, positions({0, 5, 2}), positions({0, 5, -1})},
    {"leading_none", plain, positions({-1, 0}), positions({0, -1})},
    {"trailing_none", plain, positions({0, -1}), positions({-1, 0})},
    {"inner_none", plain, positions({0, -1, 1}), positions({-1, 0, 1, -1})},
    {"count_zero", plain, positions({-1}), positions({0})},
    {"count_full", plain, positions({0, 1}), positions({0, -1})},
    {"inner_holes_under_dcp", compacted, positions({0, 1, 2, 4}), positions({0, 1, 4, 2})},
    {"duplicates_compacted", compacted, positions({0, 0}), positions({0, 2, 2})},
    {"output_stride_of_one_row", plain, [](RemapCase& c) { c.edits = {{ArgumentEdit::Kind::kRowStride, Tensor::kSlots, 0, {}}}; }, as_it_is},
    {"input_head", plain,
     [](RemapCase& c) {
       set(c, {0, 1, 2, 3, 4});
       c.layout.misalignment[2] = 3;
     },
     [](RemapCase& c) {
       set(c, {0, 1, 2, 3, 4});
       c.layout.misalignment[2] = 2;
     }},
    {"output_tail", plain, positions({0, 1, 2, 3, 4}), positions({0, 1, 2, 3})},
    {"heads_differ", plain,
     [](RemapCase& c) {
       set(c, {0, 1, 2, 3, 4, 5, 6});
       c.layout.misalignment[5] = 1;
     },
     positions({0, 1, 2, 3, 4, 5, 6})},
};

TEST(Corners, AreReadOffTheProblem) {
  for (const Example& example : kExamples) {
    const auto corner = corner_of(example.corner);
    ASSERT_TRUE(corner) << example.corner;
    RemapCase with = example.from(), without = example.from();
    example.has(with);
    example.has_not(without);
    EXPECT_TRUE(corners_of(with).test(size_t(*corner))) << example.corner;
    EXPECT_FALSE(corners_of(without).test(size_t(*corner))) << example.corner;
  }
}

TEST(Corners, OfARefusedCallAreTheRefusalAlone) {
  RemapCase c = plain();
  c.block_size = 0;
  const CornerSet found = corners_of(c);
  EXPECT_EQ(found.count(), 2u);
  EXPECT_TRUE(found.test(size_t(Corner::kRefused)) && found.test(size_t(Corner::kRefusedA5)));
}

}  // namespace
}  // namespace slotproof::harness
