// What a launch promises besides its result: it shares the device with others, allocates nothing, waits for nothing, and leaves
// the caller's errors alone.

#include "kernels/remap_launch.h"
#include "property_tests/device_batch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace slotproof {
namespace {

// Launches one batch again and again on a stream of its own; returns how often the outputs were not those expected.
int num_wrong_launches(const Batch& batch, const Kind& kind, const std::vector<int32_t>& expected, int num_launches) {
  Stream stream;
  const Pinned outputs;
  int num_wrong = 0;
  for (int i = 0; i < num_launches; ++i) {
    SLOTPROOF_CUDA(cudaMemsetAsync(batch.outputs.data(), i & 0xff, batch.outputs.size_bytes(), stream));
    launch(batch.args(kind), stream);
    SLOTPROOF_CUDA(cudaMemcpyAsync(outputs.data, batch.outputs.data(), batch.outputs.size_bytes(), cudaMemcpyDeviceToHost, stream));
    stream.synchronize();
    num_wrong += std::memcmp(outputs.data, expected.data(), batch.outputs.size_bytes()) != 0;
  }
  return num_wrong;
}

using DeviceLaunch = DeviceTest;

TEST_F(DeviceLaunch, TwoStreamsAtOnceDoNotDisturbEachOther) {
  const HostInputs inputs[] = {inputs_of(2, kTokens), inputs_of(3, kTokens / 2)};
  const Batch batches[] = {Batch(inputs[0]), Batch(inputs[1])};
  const Kind& first = kKinds[2];
  const Kind& second = kKinds[1];
  Stream streams[2];
  for (int round = 0; round < 500; ++round) {
    for (int i = 0; i < 2; ++i) {
      SLOTPROOF_CUDA(cudaMemsetAsync(batches[i].outputs.data(), round & 0xff, batches[i].outputs.size_bytes(), streams[i]));
      launch(batches[i].args(i == 0 ? first : second), streams[i]);
    }
  }
  for (const Stream& stream : streams) stream.synchronize();
  EXPECT_EQ(batches[0].outputs.words(), expected_of(first, inputs[0]));
  EXPECT_EQ(batches[1].outputs.words(), expected_of(second, inputs[1]));
}

TEST_F(DeviceLaunch, TwoHostThreadsMayLaunchAtOnce) {
  constexpr int kLaunches = 500;
  int num_wrong[2] = {-1, -1};
  std::string errors[2];
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] {
      try {
        const Kind& kind = kKinds[i == 0 ? 3 : 0];
        const HostInputs inputs = inputs_of(uint32_t(10 + i), kTokens);
        num_wrong[i] = num_wrong_launches(Batch(inputs), kind, expected_of(kind, inputs), kLaunches);
      } catch (const std::exception& error) {
        errors[i] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < 2; ++i) EXPECT_EQ(num_wrong[i], 0) << "thread " << i << " " << errors[i];
}

TEST_F(DeviceLaunch, LeavesTheDevicesMemoryAsItWas) {
  const Batch batch(inputs_of(4, kTokens));
  Stream stream;
  const auto launch_all = [&] {
    for (const Kind& kind : kKinds) launch(batch.args(kind), stream);
    stream.synchronize();
  };
  launch_all();  // The first launch of a kernel loads its code.
  size_t before = 0, after = 0, total = 0;
  SLOTPROOF_CUDA(cudaMemGetInfo(&before, &total));
  for (int i = 0; i < 500; ++i) launch_all();
  SLOTPROOF_CUDA(cudaMemGetInfo(&after, &total));
  EXPECT_EQ(before, after);
}

// The stream stands still until the flag is set, and the flag is set once the launches have returned.
TEST_F(DeviceLaunch, WaitsForNothing) {
  const Batch batch(inputs_of(5, kTokens));
  Stream stream;
  launch(batch.args(kKinds[2]), stream);  // loads the code, which may wait
  stream.synchronize();
  std::atomic<bool> may_go_on{false}, has_waited{false};
  struct Gate {
    std::atomic<bool>&may_go_on, &has_waited;
  } gate{may_go_on, has_waited};
  SLOTPROOF_CUDA(cudaLaunchHostFunc(
      stream,
      [](void* data) {
        const auto& held = *static_cast<Gate*>(data);
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
        while (!held.may_go_on && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
        held.has_waited = !held.may_go_on;
      },
      &gate));
  for (int i = 0; i < 20; ++i) launch(batch.args(kKinds[2]), stream);
  may_go_on = true;
  stream.synchronize();
  EXPECT_FALSE(has_waited) << "launch_remap returned only after the stream had gone on";
}

TEST_F(DeviceLaunch, LeavesAnEarlierErrorOfTheCallersAlone) {
  const HostInputs inputs = inputs_of(6, kTokens);
  const Batch batch(inputs);
  Stream stream;
  ASSERT_EQ(cudaSetDevice(1 << 20), cudaErrorInvalidDevice);  // It stays the last error until somebody takes it.
  EXPECT_TRUE(launch_remap(batch.args(kKinds[2]), stream).ok());
  RemapArgs refused = batch.args(kKinds[2]);
  refused.block_size = 0;
  EXPECT_EQ(launch_remap(refused, stream).code(), StatusCode::kBadBlockSize);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  stream.synchronize();
  EXPECT_EQ(batch.outputs.words(), expected_of(kKinds[2], inputs));
}

// In a process of its own, for the error stays until its end.
[[noreturn]] void launch_into_a_broken_context() {
  const Batch batch(inputs_of(7, kTokens));
  Stream stream;
  RemapArgs bad = batch.args(kKinds[0]);
  bad.token_indices.data = reinterpret_cast<const int32_t*>(uintptr_t{16});
  launch(bad, stream);
  const cudaError_t broken = cudaStreamSynchronize(stream);
  const Status status = launch_remap(batch.args(kKinds[0]), stream);
  const bool is_reported = status.code() == StatusCode::kCudaError && status.cuda_error() == int32_t(broken);
  std::fprintf(stderr, "the kernel: %s; the next launch: %s; afterwards: %s\n", cudaGetErrorName(broken), status.message(),
               cudaGetErrorName(cudaPeekAtLastError()));
  std::_Exit(broken == cudaErrorIllegalAddress && is_reported && cudaPeekAtLastError() == broken ? 42 : 1);
}

TEST_F(DeviceLaunch, ReportsAStickyErrorAndKeepsIt) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(launch_into_a_broken_context(), testing::ExitedWithCode(42), "");
}

TEST_F(DeviceLaunch, TakesTheWidthThatItIsGivenAndRefusesOthers) {
  const HostInputs inputs = inputs_of(8, kTokens);
  const Batch batch(inputs);
  Stream stream;
  for (const Kind& kind : kKinds) {
    const std::vector<int32_t> expected = expected_of(kind, inputs);
    for (const int32_t width : {0, 32, 64, 128, 256}) {
      SLOTPROOF_CUDA(cudaMemsetAsync(batch.outputs.data(), 0x33, batch.outputs.size_bytes(), stream));
      const Status status = launch_remap_planned(batch.args(kind), {width, 0}, stream);
      ASSERT_TRUE(status.ok()) << status.message();
      stream.synchronize();
      EXPECT_EQ(batch.outputs.words(), expected) << "width " << width;
    }
    EXPECT_EQ(launch_remap_planned(batch.args(kind), {48, 0}, stream).code(), StatusCode::kNotSupported);
    EXPECT_EQ(launch_remap_planned(batch.args(kind), {0, -1}, stream).code(), StatusCode::kNotSupported);
  }
}

}  // namespace
}  // namespace slotproof
