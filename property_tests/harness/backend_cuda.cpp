#include "property_tests/harness/backend.h"
#include "property_tests/harness/call_memory.h"
#include "property_tests/harness/kernel_arguments.h"

#include <slotproof/plugin.h>

#if SLOTPROOF_HAS_CUDA
#include <cuda_runtime_api.h>
#endif

namespace slotproof::harness {

#if SLOTPROOF_HAS_CUDA
namespace {

// Empty where a call went well. The error is cleared, so that it is not reported again for a later call.
std::string error_of(cudaError_t code, const std::string& what) {
  if (code == cudaSuccess) return {};
  cudaGetLastError();
  return what + " failed: " + cudaGetErrorName(code) + " (" + cudaGetErrorString(code) + ")";
}

// Why there is no device; empty where there is one. The driver's version is the cheap probe; without a driver every other call
// fails with cudaErrorInsufficientDriver for ever.
std::string reason_without_device() {
  int version = 0;
  if (cudaDriverGetVersion(&version) != cudaSuccess || version == 0) return "no CUDA driver";
  int num_devices = 0;  // is not written where the call fails
  const cudaError_t code = cudaGetDeviceCount(&num_devices);
  if (code != cudaSuccess) return error_of(code, "cudaGetDeviceCount");
  return num_devices > 0 ? "" : "no CUDA device";
}

// One cudaMalloc a piece, of its exact size. A call with edited arguments has one piece, the whole arena: nothing of it is to be
// touched, and how its tensors lie to each other stays as it is.
class DeviceMemory final : public CallMemory {
 public:
  explicit DeviceMemory(Behind behind) : behind_(behind) {}
  ~DeviceMemory() override {
    release();
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  // Not blocking: it is not ordered with the default stream, so a launch on the wrong one is not ordered by chance.
  std::string open() { return error_of(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate"); }
  void* stream() const override { return stream_; }

  std::string bring_in(const CallLayout& layout, const int32_t* arena) override {
    release();
    for (size_t i = 0; i < size_t(layout.num_pieces); ++i) {
      const Piece& piece = layout.pieces[i];
      // cudaMalloc aligns to 256 bytes; lead words before the piece keep the distance to a 16-byte boundary.
      const int64_t lead = piece.begin % 4;
      const size_t num_bytes = size_t(end_of(piece) - piece.begin) * 4;
      std::string error = error_of(cudaMalloc(&blocks_[i], num_bytes + size_t(lead) * 4), "cudaMalloc");
      if (!error.empty()) return error;
      starts_[i] = static_cast<int32_t*>(blocks_[i]) + lead;
      error = error_of(cudaMemcpyAsync(starts_[i], arena + piece.begin, num_bytes, cudaMemcpyHostToDevice, stream_), "cudaMemcpy");
      if (!error.empty()) return error;
    }
    return error_of(cudaStreamSynchronize(stream_), "copying the arguments");
  }

  std::string bring_back(const CallLayout& layout, int32_t* arena) override {
    std::string error = error_of(cudaDeviceSynchronize(), "the kernel");  // A plug-in may have used another stream.
    for (size_t i = 0; i < size_t(layout.num_pieces) && error.empty(); ++i) {
      const Piece& piece = layout.pieces[i];
      const size_t num_bytes = size_t(end_of(piece) - piece.begin) * 4;
      error = error_of(cudaMemcpy(arena + piece.begin, starts_[i], num_bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
    }
    return error;
  }

 private:
  int64_t end_of(const Piece& piece) const { return behind_ == Behind::kGuardWords ? piece.end : piece.tensor_end; }
  void release() {
    for (void*& block : blocks_) {
      cudaFree(block);
      block = nullptr;
    }
  }

  Behind behind_;
  cudaStream_t stream_ = nullptr;
  std::array<void*, kNumTensors> blocks_{};
};

class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(std::unique_ptr<CallMemory> memory) : memory_(std::move(memory)) {}
  const BackendInfo& info() const override { return info_; }

  // The schedule plays no part: the device has its own.
  RunOutcome run(Frame& frame, const Schedule&) override {
    spec::RemapProblem problem = frame.problem();
    const CallLayout layout = layout_of(frame, frame.arena(), problem);
    std::string error = memory_->bring_in(layout, frame.arena());
    if (!error.empty()) return fault(std::move(error));
    move_to_device(problem, layout);
    const Status status = launch_remap(remap_args_of(problem), static_cast<CUstream_st*>(memory_->stream()));
    error = memory_->bring_back(layout, frame.arena());
    if (!error.empty()) return fault(std::move(error));
    return outcome_of(status);
  }

 private:
  void move_to_device(spec::RemapProblem& problem, const CallLayout& layout) const {
    const auto move = [&](auto& argument) { argument.data = memory_->address_of(layout, argument.data); };
    move(problem.req_id);
    move(problem.block_table);
    move(problem.token_indices);
    if (problem.prefill_request_id) move(*problem.prefill_request_id);
    if (problem.workspace_starts) move(*problem.workspace_starts);
    move(problem.slots);
    if (problem.valid_counts) move(*problem.valid_counts);
  }

  std::unique_ptr<CallMemory> memory_;
  BackendInfo info_{"cuda", Level::kStable, SLOTPROOF_CAN_ALL, device_description()};
};

}  // namespace

CallMemoryOrReason make_device_memory(Behind behind) {
  std::string reason = reason_without_device();
  if (!reason.empty()) return {nullptr, std::move(reason)};
  auto memory = std::make_unique<DeviceMemory>(behind);
  reason = memory->open();
  if (!reason.empty()) return {nullptr, std::move(reason)};
  return {std::move(memory), {}};
}

std::string device_description() {
  int device = 0;
  cudaDeviceProp properties = {};
  if (!reason_without_device().empty() || cudaGetDevice(&device) != cudaSuccess ||
      cudaGetDeviceProperties(&properties, device) != cudaSuccess) {
    return {};
  }
  return std::string(properties.name) + " (sm_" + std::to_string(properties.major * 10 + properties.minor) + ")";
}

BackendOrReason make_cuda_backend() {
  auto [memory, reason] = make_device_memory(Behind::kGuardWords);
  if (memory == nullptr) return {nullptr, std::move(reason)};
  return {std::make_unique<CudaBackend>(std::move(memory)), {}};
}

#else

CallMemoryOrReason make_device_memory(Behind) { return {nullptr, "built without CUDA"}; }
std::string device_description() { return {}; }
BackendOrReason make_cuda_backend() { return {nullptr, "built without CUDA"}; }

#endif

}  // namespace slotproof::harness
