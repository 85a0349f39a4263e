// The cuda back end: where it is absent it says why in one line, and where it is present nothing that happens on the device ends
// more than one call.

#include "property_tests/call_cases.h"
#include "property_tests/harness/backend.h"
#include "property_tests/harness/kernel_paths.h"
#include "property_tests/places.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>

namespace slotproof::harness {
namespace {

struct Mode {
  const char* name;
  Buffers buffers;
  bool is_in_process;
};
constexpr Mode kModes[] = {{"guarded, in a worker", Buffers::kGuarded, false},
                           {"exact, in a worker", Buffers::kExact, false},
                           {"guarded, in this process", Buffers::kGuarded, true},
                           {"exact, in this process", Buffers::kExact, true}};

BackendOrReason cuda(const Mode& mode) {
  return make_cuda_backend({.buffers = mode.buffers, .is_in_process = mode.is_in_process});
}

TEST(Cuda, IsPresentOrSaysWhyNotInOneLine) {
  for (const Mode& mode : kModes) {
    const auto [backend, reason] = cuda(mode);
    EXPECT_NE(backend == nullptr, reason.empty());
    EXPECT_EQ(reason.find('\n'), std::string::npos) << reason;
    const auto first_word_is = [&](const char* words) { return reason.starts_with(words); };
    EXPECT_TRUE(reason.empty() || first_word_is("no CUDA") || first_word_is("built without CUDA") || first_word_is("cuda")) << reason;
  }
}

TEST(Cuda, AgreesWithTheReferenceInEveryMode) {
  for (const Mode& mode : kModes) {
    SCOPED_TRACE(mode.name);
    const auto [backend, reason] = cuda(mode);
    if (backend == nullptr) GTEST_SKIP() << reason;
    EXPECT_TRUE(backend->may_crash());
    expect_agreement(*backend);
  }
}

TEST(Cuda, AgreesWithTheReferenceOnEveryPathOfTheKernels) {
  const auto [backend, reason] = cuda(kModes[1]);
  if (backend == nullptr) GTEST_SKIP() << reason;
  for (int i = 0; i < kNumKernelPaths; ++i) EXPECT_EQ(disagreement(*backend, case_of(kernel_path_of(i))), "") << name_of(kernel_path_of(i));
  EXPECT_EQ(backend->kernel_paths()->missing(), std::vector<std::string>{});
}

TEST(Cuda, TalliesWhatItLaunchedAndNothingElse) {
  const auto [backend, reason] = cuda(kModes[0]);
  if (backend == nullptr) GTEST_SKIP() << reason;
  RemapCase refused = case_of(kernel_path_of(3));
  refused.dcp = {0, 0, 1};
  EXPECT_EQ(run(*backend, refused).kind, RunOutcome::Kind::kRefused);
  EXPECT_EQ(backend->kernel_paths()->missing().size(), size_t(kNumKernelPaths));
  run(*backend, case_of(kernel_path_of(3)));
  EXPECT_EQ(backend->kernel_paths()->num_launches[3], 1);
  EXPECT_EQ(backend->kernel_paths()->missing().size(), size_t(kNumKernelPaths - 1));
}

#if SLOTPROOF_HAS_CUDA
TEST(Cuda, ABrokenContextEndsOneCallAndTheNextOneWorks) {
  if (const auto [present, reason] = cuda(kModes[0]); present == nullptr) GTEST_SKIP() << reason;
  const auto [backend, reason] = make_plugin_backend(example_plugin_dir() / "cuda_bad_address.so");
  ASSERT_NE(backend, nullptr) << reason;
  for (int round = 0; round < 2; ++round) {
    expect_fault(run(*backend, with_block_size(3)), "the kernel failed: cudaErrorIllegalAddress");
    const RunOutcome outcome = run(*backend, with_block_size(4));
    EXPECT_EQ(outcome.kind, RunOutcome::Kind::kDone) << outcome.message;
  }
}

TEST(Cuda, APlugInWithCudaMemoryAgreesWithTheReference) {
  if (const auto [present, reason] = cuda(kModes[0]); present == nullptr) GTEST_SKIP() << reason;
  for (const Mode& mode : kModes) {
    SCOPED_TRACE(mode.name);
    const auto [backend, reason] = make_plugin_backend(fault_dir() / "cuda/slotproof_cuda.so", {.buffers = mode.buffers, .is_in_process = mode.is_in_process});
    ASSERT_NE(backend, nullptr) << reason;
    expect_agreement(*backend);
  }
}
// Without a device they get as far as asking for its memory.
TEST(PlantedCudaFaults, LoadAndAskForCudaMemory) {
  std::ifstream list(source_dir() / "property_tests/faults/cuda.json");
  const auto faults = nlohmann::json::parse(list).at("faults");
  EXPECT_EQ(faults.size(), 4u);
  for (const auto& fault : faults) {
    const auto name = fault.at("name").get<std::string>();
    const auto [backend, reason] = make_plugin_backend(fault_dir() / "cuda" / (name + ".so"));
    EXPECT_TRUE(backend != nullptr ? backend->info().description.starts_with(name) : reason.find("it needs CUDA memory") != std::string::npos) << reason;
  }
}
#endif

// What compute-sanitizer is to see the edge of: no guard words, and not the gap of the last row either.
TEST(CallLayout, ElementsEndBeforeTheGapOfTheLastRow) {
  RemapCase value = small_case();  // slots are 2 rows of 5 columns, 7 apart
  Frame frame(value, 1);
  const CallLayout layout = layout_of(frame, frame.arena(), frame.problem());
  for (size_t i = 0; i < size_t(layout.num_pieces); ++i) {
    const Piece& piece = layout.pieces[i];
    const int64_t gap = layout.tensors[i] == Tensor::kSlots ? 2 : 0;
    EXPECT_EQ(piece.elements_end, piece.tensor_end - gap) << name_of(layout.tensors[i]);
  }
  value.edits.push_back({ArgumentEdit::Kind::kRowStride, Tensor::kSlots, 4});
  Frame refused(value, 1);
  const CallLayout edited = layout_of(refused, refused.arena(), refused.problem());
  for (size_t i = 0; i < size_t(edited.num_pieces); ++i) EXPECT_LE(edited.pieces[i].elements_end, edited.pieces[i].tensor_end);
}

TEST(InProcess, APlugInAgreesWithTheReference) {
  const auto [backend, reason] = make_plugin_backend(example_plugin_dir() / "right_scalar.so", {.is_in_process = true});
  ASSERT_NE(backend, nullptr) << reason;
  EXPECT_NE(backend->info().description.find("in this process"), std::string::npos) << backend->info().description;
  expect_agreement(*backend);
}

TEST(InProcess, AFaultIsSeenThereToo) {
  const auto [backend, reason] = make_plugin_backend(fault_dir() / "tail-unwritten.so", {.is_in_process = true});
  ASSERT_NE(backend, nullptr) << reason;
  const std::vector<RemapCase> all = cases();
  EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&, &made = backend](const RemapCase& value) { return !disagreement(*made, value).empty(); }));
}

TEST(InProcess, WhatCannotBeLoadedHasAReason) {
  EXPECT_NE(make_plugin_backend(example_plugin_dir() / "wrong_abi.so", {.is_in_process = true}).reason.find("it was made for ABI 2, not 1"), std::string::npos);
}

}  // namespace
}  // namespace slotproof::harness
