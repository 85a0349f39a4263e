// Plug-ins run in a child process: whatever they do is a finding, and the next call works again.

#include "property_tests/call_cases.h"
#include "property_tests/harness/backend.h"
#include "property_tests/harness/decoder.h"
#include "property_tests/harness/plugin_worker.h"
#include "property_tests/places.h"

#include <slotproof/plugin.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

namespace slotproof::harness {
namespace {

const std::filesystem::path kExamples = example_plugin_dir();
const std::filesystem::path kFaults = fault_dir();

std::unique_ptr<Backend> example(const std::string& name, const BackendOptions& options = {}) {
  auto [backend, reason] = make_plugin_backend(kExamples / (name + ".so"), options);
  EXPECT_NE(backend, nullptr) << reason;
  return std::move(backend);
}

std::string reason_of(const std::filesystem::path& path) { return make_plugin_backend(path).reason; }

bool is_changed(const spec::MemoryRegion& region) {
  return std::memcmp(region.before, region.after, size_t(region.num_words) * sizeof(int32_t)) != 0;
}

std::string output_of(const std::string& command) {
  std::string output;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return output;
  char buffer[4096];
  while (const size_t num_bytes = fread(buffer, 1, sizeof buffer, pipe)) output.append(buffer, num_bytes);
  EXPECT_EQ(pclose(pipe), 0) << command;
  return output;
}

int64_t num_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return std::distance(begin(all), end(all));
}

TEST(Backends, HostAgreesWithTheReference) { expect_agreement(*make_host_backend().backend); }

TEST(Plugins, ARightOneAgreesWithTheReference) {
  const auto backend = example("right_scalar");
  ASSERT_TRUE(backend != nullptr && backend->may_crash());
  EXPECT_EQ(backend->info().level, Level::kStable);
  EXPECT_EQ(backend->info().capabilities, SLOTPROOF_CAN_ALL);
  expect_agreement(*backend);
}

TEST(Plugins, OneOfLevelCoreWithoutCapabilitiesIsAskedNothingElse) {
  const auto backend = example("core_scalar");
  ASSERT_NE(backend, nullptr);
  EXPECT_EQ(backend->info().level, Level::kCore);
  EXPECT_EQ(backend->info().capabilities, 0u);
  const DecoderOptions drawn{.level = backend->info().level, .capabilities = backend->info().capabilities};
  for (uint64_t i = 0; i < 500; ++i) ASSERT_EQ(disagreement(*backend, draw_remap(2, i, drawn)), "") << "case " << i;
}

TEST(Plugins, ACallLargerThanAnyBeforeStillFits) {
  const auto backend = example("right_scalar");
  ASSERT_NE(backend, nullptr);
  RemapCase large = small_case();
  large.req_id.assign(300, 1);
  large.token_indices = OwnedMatrix::filled(300, 513, 5, 700);
  for (const RemapCase& value : {small_case(), large, small_case()}) EXPECT_EQ(disagreement(*backend, value), "");
}

TEST(Plugins, ACrashIsAFaultThatNamesTheSignalAndWhatWasPrintedLast) {
  const auto backend = example("crash");
  ASSERT_NE(backend, nullptr);
  const RunOutcome outcome = run(*backend, with_block_size(3));
  expect_fault(outcome, "the plug-in died with SIGABRT");
  expect_fault(outcome, "its stderr ends with: about to give up");
}

TEST(Plugins, TheCallAfterACrashWorks) {
  const auto backend = example("crash");
  ASSERT_NE(backend, nullptr);
  for (int round = 0; round < 3; ++round) {
    expect_fault(run(*backend, with_block_size(3)), "SIGABRT");
    const RunOutcome outcome = run(*backend, with_block_size(4));
    EXPECT_EQ(outcome.kind, RunOutcome::Kind::kDone) << outcome.message;
  }
}

TEST(Plugins, ACallThatDoesNotReturnIsAFaultAtTheTimeLimit) {
  const auto backend = example("hang", {.time_limit_s = 0.25});
  ASSERT_NE(backend, nullptr);
  const auto begin = std::chrono::steady_clock::now();
  expect_fault(run(*backend, with_block_size(3)), "the plug-in did not return within 0.25 s");
  const auto took = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(took, std::chrono::milliseconds(250));
  EXPECT_LT(took, std::chrono::seconds(5)) << "that is the default";
  EXPECT_EQ(run(*backend, with_block_size(4)).kind, RunOutcome::Kind::kDone);
}

TEST(Plugins, EndingTheProcessIsAFault) {
  const auto backend = example("ends_process");
  ASSERT_NE(backend, nullptr);
  expect_fault(run(*backend, small_case()), "the plug-in ended its process with exit code 7");
}

TEST(Plugins, AReadBehindATensorIsAFaultThatNamesIt) {
  const auto backend = example("reads_past_table");
  ASSERT_NE(backend, nullptr);
  RemapCase value = small_case();
  value.block_table = OwnedMatrix::filled(2, 4, 1);  // ends on a 16-byte boundary
  const RunOutcome outcome = run(*backend, value);
  expect_fault(outcome, "the plug-in died with SIGSEGV");
  expect_fault(outcome, "12 bytes behind the end of block_table");
}

TEST(Plugins, AWriteToAnInputShowsInTheFrame) {
  const auto backend = example("writes_input");
  ASSERT_NE(backend, nullptr);
  Frame frame(small_case(), 3);
  const RunOutcome outcome = backend->run(frame, {});
  EXPECT_EQ(outcome.kind, RunOutcome::Kind::kDone) << outcome.message;
  for (const spec::MemoryRegion& region : frame.memory()) EXPECT_EQ(is_changed(region), region.name == "req_id") << region.name;
}

TEST(Plugins, WhatCannotBeLoadedHasAReason) {
  EXPECT_NE(reason_of(kExamples / "wrong_abi.so").find("it was made for ABI 2, not 1"), std::string::npos);
  EXPECT_NE(reason_of(kExamples / "no_symbol.so").find("it does not export slotproof_plugin_v1"), std::string::npos);
  EXPECT_NE(reason_of("/proc/self/status").find("it does not load"), std::string::npos);
  EXPECT_NE(reason_of(kExamples / "not there.so").find("No such file"), std::string::npos);
  EXPECT_NE(make_backend("plugins:x").reason.find("no back end is called"), std::string::npos);
}

TEST(Plugins, ThousandsOfCallsAndManyCrashesLeaveNothingOpen) {
  const int64_t before = num_descriptors();
  {
    const auto backend = example("crash");
    ASSERT_NE(backend, nullptr);
    const int64_t with_worker = num_descriptors();
    constexpr int kCalls = 5000;
    Frame frame(with_block_size(4), 3);
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kCalls; ++i) ASSERT_EQ(backend->run(frame, {}).kind, RunOutcome::Kind::kDone);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    RecordProperty("calls_per_second", int(kCalls / took.count()));
    for (int crash = 0; crash < 10; ++crash) expect_fault(run(*backend, with_block_size(3)), "SIGABRT");
    EXPECT_EQ(run(*backend, with_block_size(4)).kind, RunOutcome::Kind::kDone);
    EXPECT_EQ(num_descriptors(), with_worker);
  }
  EXPECT_EQ(num_descriptors(), before);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD) << "a child is left";
}

TEST(PlantedFaults, TheControlAgreesWithTheReference) {
  const auto [backend, reason] = make_plugin_backend(kFaults / "slotproof_host.so");
  ASSERT_NE(backend, nullptr) << reason;
  expect_agreement(*backend);
}

TEST(PlantedFaults, SayTheirNames) {
  std::ifstream list(source_dir() / "property_tests/faults/faults.json");
  const auto faults = nlohmann::json::parse(list).at("faults");
  for (const auto& fault : faults) {
    const auto name = fault.at("name").get<std::string>();
    const auto [backend, reason] = make_plugin_backend(kFaults / (name + ".so"));
    ASSERT_NE(backend, nullptr) << reason;
    EXPECT_TRUE(backend->info().description.starts_with(name + ",")) << backend->info().description;
  }
}

TEST(PlantedFaults, ExportOneSymbolAndUseNoLibraryOfTheTests) {
  int num_plugins = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kFaults)) {
    if (entry.path().extension() != ".so") continue;
    SCOPED_TRACE(entry.path());
    ++num_plugins;
    const std::string exported = output_of("nm -D --defined-only '" + entry.path().string() + "'");
    EXPECT_EQ(std::count(exported.begin(), exported.end(), '\n'), 1) << exported;
    EXPECT_NE(exported.find(" slotproof_plugin_v1\n"), std::string::npos) << exported;
    const std::string all = output_of("nm -DC '" + entry.path().string() + "'");
    for (const char* library : {"Eigen::", "testing::", "rc::"}) EXPECT_EQ(all.find(library), std::string::npos) << all;
  }
  EXPECT_GT(num_plugins, 9);
}

}  // namespace
}  // namespace slotproof::harness
