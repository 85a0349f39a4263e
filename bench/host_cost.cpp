// What a call of launch_remap() costs the host: its parts, which need no GPU, and the whole beside a bare launch, which does.
//
// A launch is timed in batches that the stream's queue holds, with the stream empty before each batch and waited for outside of
// the timing. Batches of launch_remap() and of bare launches, with the same grid and as many bytes of parameters, take turns.
// The time of "launch" is that of one launch_remap(); bare_ns is the bare one, more_ns the difference. Goal: below 1000.

#include "kernels/remap_view.h"
#include "kernels/tiling.h"

#include <benchmark/benchmark.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#ifdef SLOTPROOF_HAS_CUDA
#include "bench/bare_kernel.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#endif

namespace slotproof {
namespace {

constexpr int32_t kTopk = 2048;
constexpr int32_t kTableColumns = 2048;
constexpr int32_t kNumRequests = 128;
constexpr int32_t kMostTokens = 128;
constexpr size_t kNumWords = kMostTokens + size_t{kNumRequests} * kTableColumns + 2 * size_t{kMostTokens} * kTopk + kMostTokens;

enum class Mode { kPlain, kCounts, kDcp };
constexpr const char* kModeNames[] = {"plain", "counts", "dcp"};

// A call whose tensors lie one behind the other in kNumWords words.
RemapArgs args_of(Mode mode, int32_t num_tokens, int32_t* words) {
  RemapArgs args;
  const auto take = [&words](size_t size) {
    int32_t* const begin = words;
    words += size;
    return begin;
  };
  args.req_id = {take(kMostTokens), num_tokens};
  args.block_table = {take(size_t{kNumRequests} * kTableColumns), kNumRequests, kTableColumns, kTableColumns};
  args.token_indices = {take(size_t{kMostTokens} * kTopk), num_tokens, kTopk, kTopk};
  args.slots = {take(size_t{kMostTokens} * kTopk), num_tokens, kTopk, kTopk};
  if (mode != Mode::kPlain) args.valid_counts = MutableVector{take(kMostTokens), num_tokens};
  if (mode == Mode::kDcp) {
    args.dcp = {4, 0, 1};
    args.placement = Placement::kCompacted;
  }
  return args;
}

int32_t* host_words() {
  static std::vector<int32_t> words(kNumWords);
  return words.data();
}

// Indices and slots in turns in one storage: what A15 takes longest to tell apart.
RemapArgs interleaved_args() {
  RemapArgs args = args_of(Mode::kCounts, kMostTokens, host_words());
  args.token_indices.row_stride = args.slots.row_stride = 2 * kTopk;
  args.slots.data = const_cast<int32_t*>(args.token_indices.data) + kTopk;
  return args;
}

void add_part(const std::string& name, const RemapArgs& args, const std::function<void(const RemapArgs&)>& part) {
  benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
    if (const Status status = validate(args); !status.ok()) return state.SkipWithError(status.message());
    RemapArgs given = args;
    for (auto _ : state) {
      benchmark::DoNotOptimize(given);
      part(given);
    }
  });
}

void add_parts() {
  const auto check = [](const RemapArgs& args) {
    Status status = validate(args);
    benchmark::DoNotOptimize(status);
  };
  for (const Mode mode : {Mode::kPlain, Mode::kCounts, Mode::kDcp}) {
    const RemapArgs args = args_of(mode, kMostTokens, host_words());
    const std::string of_mode = std::string("/") + kModeNames[int(mode)];
    add_part("validate" + of_mode, args, check);
    add_part("plan_tiles" + of_mode, args, [](const RemapArgs& given) {
      TilePlan plan = plan_tiles(given, {});
      benchmark::DoNotOptimize(plan);
    });
    add_part("make_view" + of_mode, args, [plan = plan_tiles(args, {})](const RemapArgs& given) {
      RemapView view = make_view(given, plan.tile);
      benchmark::DoNotOptimize(view);
    });
  }
  add_part("validate/interleaved", interleaved_args(), check);
}

#ifdef SLOTPROOF_HAS_CUDA

constexpr int64_t kBatch = 256;  // launches; a stream's queue holds 1024

class Device {
 public:
  Device() {
    if (cudaStreamCreate(&stream_) == cudaSuccess && cudaMalloc(&memory_, kNumWords * sizeof(int32_t)) == cudaSuccess) {
      // Position 0 of request 0, whose block is 0: slot 0 everywhere, and no slot is 0 before.
      cudaMemset(memory_, 0, kNumWords * sizeof(int32_t));
    }
  }
  ~Device() {
    cudaFree(memory_);
    cudaStreamDestroy(stream_);
  }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  int32_t* words() const { return static_cast<int32_t*>(memory_); }
  cudaStream_t stream() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
  void* memory_ = nullptr;
};

// Seconds of kBatch launches.
double seconds_of(cudaStream_t stream, const std::function<bool()>& launch, bool& is_done) {
  cudaStreamSynchronize(stream);
  const auto begin = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < kBatch; ++i) is_done &= launch();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  is_done &= cudaStreamSynchronize(stream) == cudaSuccess;
  return seconds.count();
}

void measure_launch(benchmark::State& state, Mode mode, int32_t num_tokens) {
  int num_devices = 0;
  if (cudaGetDeviceCount(&num_devices) != cudaSuccess || num_devices == 0) return state.SkipWithError("no CUDA device");
  const Device device;
  if (device.words() == nullptr) return state.SkipWithError("no CUDA memory");
  const RemapArgs args = args_of(mode, num_tokens, device.words());
  cudaMemset(args.slots.data, 0xff, size_t(num_tokens) * kTopk * sizeof(int32_t));
  const TilePlan plan = plan_tiles(args, {});
  RemapView view = make_view(args, plan.tile);
  void* parameters[] = {&view};
  const std::function<bool()> ours = [&] { return launch_remap(args, device.stream()).ok(); };
  const std::function<bool()> bare = [&] {
    return cudaLaunchKernel(bench::bare_kernel(), dim3(unsigned(num_tokens)), dim3(unsigned(kernel_of(plan).team.width)), parameters, 0, device.stream()) ==
           cudaSuccess;
  };
  bool is_done = true;
  seconds_of(device.stream(), ours, is_done);  // loads the kernels
  seconds_of(device.stream(), bare, is_done);
  double of_ours = 0, of_bare = 0;
  while (state.KeepRunningBatch(kBatch)) {
    const double seconds = seconds_of(device.stream(), ours, is_done);
    state.SetIterationTime(seconds);
    of_ours += seconds;
    of_bare += seconds_of(device.stream(), bare, is_done);
  }
  int32_t last_slot = -2;
  cudaMemcpy(&last_slot, args.slots.data + int64_t{num_tokens} * kTopk - 1, sizeof(last_slot), cudaMemcpyDeviceToHost);
  if (!is_done || last_slot != 0) return state.SkipWithError("a launch failed, or wrote other slots than 0");
  const double launches = double(state.iterations());
  state.counters["bare_ns"] = of_bare / launches * 1e9;
  state.counters["more_ns"] = (of_ours - of_bare) / launches * 1e9;
}

#else

void measure_launch(benchmark::State& state, Mode, int32_t) {
  state.SkipWithError("no CUDA in this build");
}

#endif

void add_launches() {
  for (const Mode mode : {Mode::kPlain, Mode::kCounts, Mode::kDcp}) {
    for (const int32_t num_tokens : {1, kMostTokens}) {
      const std::string name = std::string("launch/") + kModeNames[int(mode)] + "/T:" + std::to_string(num_tokens);
      benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) { measure_launch(state, mode, num_tokens); })->UseManualTime()->MinTime(0.1);
    }
  }
}

}  // namespace
}  // namespace slotproof

int main(int argc, char** argv) {
  slotproof::add_parts();
  slotproof::add_launches();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
