// Plug-ins run in a child process: whatever they do is a finding, and the next call works again.

#include "property_tests/harness/backend.h"
#include "property_tests/harness/plugin_worker.h"

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

const std::filesystem::path kExamples = SLOTPROOF_EXAMPLE_PLUGIN_DIR;
const std::filesystem::path kFaults = SLOTPROOF_FAULT_DIR;

std::unique_ptr<Backend> example(const std::string& name, const PluginOptions& options = {}) {
  auto [backend, reason] = make_plugin_backend(kExamples / (name + ".so"), options);
  EXPECT_NE(backend, nullptr) << reason;
  return std::move(backend);
}

std::string reason_of(const std::filesystem::path& path) { return make_plugin_backend(path).reason; }

// Two rows over two requests, with a position that has no block, a padding entry and a stride of its own in every matrix.
RemapCase small_case() {
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
RemapCase wide_case() {
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
std::vector<RemapCase> cases() {
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

bool is_changed(const spec::MemoryRegion& region) {
  return std::memcmp(region.before, region.after, size_t(region.num_words) * sizeof(int32_t)) != 0;
}

// Runs both on equal frames; everything that they leave behind must be equal. Returns what is not, or nothing.
std::string disagreement(Backend& backend, const RemapCase& value) {
  Frame expected(value, 17), got(value, 17);
  const RunOutcome right = make_reference_backend().backend->run(expected, value.schedule);
  const RunOutcome outcome = backend.run(got, value.schedule);
  if (outcome.kind != right.kind || outcome.refused != right.refused) return "outcome: " + outcome.message + " / " + right.message;
  for (int64_t word = 0; word < got.num_words(); ++word) {
    if (got.arena()[word] != expected.arena()[word]) return "word " + std::to_string(word) + " of the arena";
  }
  return {};
}

void expect_agreement(Backend& backend) {
  int number = 0;
  for (const RemapCase& value : cases()) EXPECT_EQ(disagreement(backend, value), "") << "case " << number++;
}

void expect_fault(const RunOutcome& outcome, const std::string& part) {
  EXPECT_EQ(outcome.kind, RunOutcome::Kind::kFault);
  EXPECT_NE(outcome.message.find(part), std::string::npos) << outcome.message;
}

RemapCase with_block_size(int32_t block_size) {
  RemapCase value = small_case();
  value.block_size = block_size;
  return value;
}

RunOutcome run(Backend& backend, const RemapCase& value) {
  Frame frame(value, 3);
  return backend.run(frame, {});
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

TEST(Backends, DeviceAgreesWithTheReference) {
  const auto [backend, reason] = make_cuda_backend();
  if (backend == nullptr) GTEST_SKIP() << reason;
  expect_agreement(*backend);
}

TEST(Plugins, ARightOneAgreesWithTheReference) {
  const auto backend = example("right_scalar");
  ASSERT_TRUE(backend != nullptr && backend->may_crash());
  EXPECT_EQ(backend->info().level, Level::kStable);
  EXPECT_EQ(backend->info().capabilities, SLOTPROOF_CAN_ALL);
  expect_agreement(*backend);
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

TEST(PlantedFaults, EachShowsInSomeCaseMadeByHand) {
  std::ifstream list(SLOTPROOF_SOURCE_DIR "/property_tests/faults/faults.json");
  const auto faults = nlohmann::json::parse(list).at("faults");
  for (const auto& fault : faults) {
    const auto name = fault.at("name").get<std::string>();
    const auto [backend, reason] = make_plugin_backend(kFaults / (name + ".so"));
    ASSERT_NE(backend, nullptr) << reason;
    EXPECT_TRUE(backend->info().description.starts_with(name + ",")) << backend->info().description;
    for (const auto& rule : fault.at("rules")) EXPECT_TRUE(spec::rule_of(rule.get<std::string>())) << name << ": " << rule;
    std::string found;
    for (const RemapCase& value : cases()) {
      if (found.empty()) found = disagreement(*backend, value);
    }
    EXPECT_NE(found, "") << name << " agrees with the reference everywhere";
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
