// Every path that the launcher can pick has a case that takes it, and no other.

#include "property_tests/harness/kernel_paths.h"

#include "property_tests/harness/backend.h"
#include "property_tests/harness/judge.h"
#include "property_tests/harness/kernel_arguments.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace slotproof::harness {
namespace {

TEST(KernelPaths, HaveNumbersAndNamesOfTheirOwn) {
  std::set<std::string> names;
  for (int i = 0; i < kNumKernelPaths; ++i) {
    EXPECT_EQ(index_of(kernel_path_of(i)), i);
    EXPECT_TRUE(names.insert(name_of(kernel_path_of(i))).second) << name_of(kernel_path_of(i));
  }
}

TEST(KernelPaths, EachHasACaseThatTakesItAndNoOther) {
  for (int i = 0; i < kNumKernelPaths; ++i) {
    const RemapCase c = case_of(kernel_path_of(i));
    Frame frame(c, 1);
    const RemapArgs args = remap_args_of(frame.problem());
    ASSERT_TRUE(validate(args).ok()) << validate(args).message();
    EXPECT_EQ(kernel_paths_of(args, {0, c.schedule.planned_rows}), KernelPathSet().set(size_t(i))) << name_of(kernel_path_of(i));
  }
}

TEST(KernelPaths, AForcedWidthIsTheOneThatCounts) {
  Frame frame(case_of(kernel_path_of(0)), 1);
  const RemapArgs args = remap_args_of(frame.problem());
  for (const int32_t width : kTeamWidths) {
    const KernelPathSet paths = kernel_paths_of(args, {width, 0});
    ASSERT_EQ(paths.count(), 1u);
    for (int i = 0; i < kNumKernelPaths; ++i) {
      if (paths[size_t(i)]) {
        EXPECT_EQ(kRowKernels[size_t(kernel_path_of(i).kernel)].team, general_team(width));
      }
    }
  }
}

TEST(KernelPaths, RowsOfOneLaunchMayTakeSeveral) {
  RemapCase c;
  c.req_id = {0, 0, 0, 0, 0};
  c.block_table = OwnedMatrix::filled(1, 4, 1);
  c.token_indices = OwnedMatrix::filled(5, 9, 3);  // rows 9 words apart: each of four begins elsewhere
  c.layout.slots_storage_columns = 12;
  Frame frame(c, 1);
  const KernelPathSet paths = kernel_paths_of(remap_args_of(frame.problem()), {});
  EXPECT_EQ(paths.count(), 2u);  // in place: aligned to aligned, misaligned to misaligned
}

TEST(KernelPaths, ALaunchWithoutAWholeVectorOrWithoutRowsTakesNone) {
  RemapCase c;
  c.req_id = {0};
  c.block_table = OwnedMatrix::filled(1, 4, 1);
  c.token_indices = OwnedMatrix::filled(1, 6, 3);
  Frame narrow(c, 1);
  EXPECT_TRUE(kernel_paths_of(remap_args_of(narrow.problem()), {}).none());
  Frame empty(RemapCase{}, 1);
  EXPECT_TRUE(kernel_paths_of(remap_args_of(empty.problem()), {}).none());
}

// A case that has an answer of one kind only would pass on a kernel that does nothing.
TEST(KernelPaths, TheCasesHaveSlotsAndHolesInEveryPass) {
  const auto reference = make_reference_backend();
  for (int i = 0; i < kNumKernelPaths; ++i) {
    Frame frame(case_of(kernel_path_of(i)), 1);
    ASSERT_EQ(reference.backend->run(frame, {}).kind, RunOutcome::Kind::kDone);
    const spec::RemapProblem problem = frame.problem();
    for (int32_t t = 0; t < problem.num_tokens(); ++t) {
      int32_t count = 0;
      for (int32_t k = 0; k < problem.topk(); ++k) count += problem.slots.view()(t, k) >= 0;
      EXPECT_GT(count, problem.topk() / 8) << name_of(kernel_path_of(i)) << " row " << t;
      EXPECT_LT(count, problem.topk()) << name_of(kernel_path_of(i)) << " row " << t;
    }
  }
}

}  // namespace
}  // namespace slotproof::harness
