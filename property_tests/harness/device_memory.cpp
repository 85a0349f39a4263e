#include "property_tests/harness/call_memory.h"

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

// One cudaMalloc a piece, of its exact size. A call with edited arguments has one piece, the whole arena: nothing of it is to be
// touched, and how its tensors lie to each other stays as it is.
class DeviceMemory final : public CallMemory {
 public:
  explicit DeviceMemory(Buffers buffers) : buffers_(buffers) {}
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
      // cudaMalloc aligns to 256 bytes; lead words before the copy keep the distance to a 16-byte boundary.
      const int64_t begin = begin_of(piece), lead = begin % 4;
      const size_t num_bytes = size_t(end_of(piece) - begin) * 4;
      const std::string name = name_of_piece(layout, int32_t(i));
      std::string error = error_of(cudaMalloc(&blocks_[i], num_bytes + size_t(lead) * 4), "cudaMalloc for " + name);
      if (!error.empty()) return error;
      copies_[i] = static_cast<int32_t*>(blocks_[i]) + lead;
      // Through an integer: the piece's own begin may lie before the allocation.
      starts_[i] = reinterpret_cast<int32_t*>(reinterpret_cast<uintptr_t>(copies_[i]) - uintptr_t(begin - piece.begin) * 4);
      if (num_bytes == 0) continue;
      error = error_of(cudaMemcpyAsync(copies_[i], arena + begin, num_bytes, cudaMemcpyHostToDevice, stream_), "copying " + name + " to the device");
      if (!error.empty()) return error;
    }
    return error_of(cudaStreamSynchronize(stream_), "copying the arguments to the device");
  }

  std::string bring_back(const CallLayout& layout, int32_t* arena) override {
    std::string error = error_of(cudaPeekAtLastError(), "the launch");
    if (error.empty()) error = error_of(cudaDeviceSynchronize(), "the kernel");  // A plug-in may have used another stream.
    for (size_t i = 0; i < size_t(layout.num_pieces) && error.empty(); ++i) {
      const Piece& piece = layout.pieces[i];
      const size_t num_bytes = size_t(end_of(piece) - begin_of(piece)) * 4;
      if (num_bytes == 0) continue;
      error = error_of(cudaMemcpy(arena + begin_of(piece), copies_[i], num_bytes, cudaMemcpyDeviceToHost),
                       "copying " + name_of_piece(layout, int32_t(i)) + " back");
    }
    return error;
  }

 private:
  int64_t begin_of(const Piece& piece) const { return buffers_ == Buffers::kGuarded ? piece.begin : piece.tensor_begin; }
  int64_t end_of(const Piece& piece) const { return buffers_ == Buffers::kGuarded ? piece.end : piece.elements_end; }
  void release() {
    for (void*& block : blocks_) {
      cudaFree(block);
      block = nullptr;
    }
  }

  Buffers buffers_;
  cudaStream_t stream_ = nullptr;
  std::array<void*, kNumTensors> blocks_{};
  std::array<int32_t*, kNumTensors> copies_{};
};

}  // namespace

std::string reason_without_driver() {
  int version = 0;
  return cudaDriverGetVersion(&version) != cudaSuccess || version == 0 ? "no CUDA driver" : "";
}

CallMemoryOrReason make_device_memory(Buffers buffers) {
  std::string reason = reason_without_driver();
  if (!reason.empty()) return {nullptr, std::move(reason)};
  int num_devices = 0;  // is not written where the call fails
  const cudaError_t code = cudaGetDeviceCount(&num_devices);
  if (code == cudaErrorNoDevice || (code == cudaSuccess && num_devices == 0)) return {nullptr, "no CUDA device"};
  reason = error_of(code, "cudaGetDeviceCount");
  auto memory = std::make_unique<DeviceMemory>(buffers);
  if (reason.empty()) reason = memory->open();
  if (!reason.empty()) return {nullptr, std::move(reason)};
  return {std::move(memory), {}};
}

std::string device_description() {
  int device = 0;
  cudaDeviceProp properties = {};
  if (cudaGetDevice(&device) != cudaSuccess || cudaGetDeviceProperties(&properties, device) != cudaSuccess) return {};
  return std::string(properties.name) + " (sm_" + std::to_string(properties.major * 10 + properties.minor) + ")";
}

#else

std::string reason_without_driver() {
  return "built without CUDA";
}
CallMemoryOrReason make_device_memory(Buffers) {
  return {nullptr, "built without CUDA"};
}
std::string device_description() {
  return {};
}

#endif

}  // namespace slotproof::harness
