#include "fuzz/follow.h"
#include "property_tests/harness/plugin_call.h"

#if SLOTPROOF_HAS_CUDA
#include <cuda_runtime_api.h>

#include <cstring>
#endif

namespace slotproof::fuzz {

#if SLOTPROOF_HAS_CUDA
namespace {

constexpr size_t kArenaAlignment = 64;  // words

class CudaBatch final : public DeviceBatch {
 public:
  explicit CudaBatch(const slotproof_plugin& plugin) : plugin_(plugin) {}
  ~CudaBatch() override {
    cudaFree(device_);
    cudaFreeHost(host_);
  }
  CudaBatch(const CudaBatch&) = delete;
  CudaBatch& operator=(const CudaBatch&) = delete;

  std::string open() { return error_of(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate"); }

  std::string run(std::vector<FollowedCall>& calls) override {
    std::vector<size_t> begins;
    size_t num_words = 0;
    for (FollowedCall& call : calls) {
      begins.push_back(num_words);
      num_words += (size_t(call.frame.num_words()) + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
    }
    if (std::string error = make_room(num_words); !error.empty()) return error;
    for (size_t i = 0; i < calls.size(); ++i) std::memcpy(host_ + begins[i], calls[i].frame.arena(), size_t(calls[i].frame.num_words()) * sizeof(int32_t));
    std::string error =
        error_of(cudaMemcpyAsync(device_, host_, num_words * sizeof(int32_t), cudaMemcpyHostToDevice, stream_), "copying the batch to the device");
    for (size_t i = 0; i < calls.size() && error.empty(); ++i) launch(calls[i], device_ + begins[i]);
    if (error.empty()) error = error_of(cudaPeekAtLastError(), "a launch");
    if (error.empty())
      error = error_of(cudaMemcpyAsync(host_, device_, num_words * sizeof(int32_t), cudaMemcpyDeviceToHost, stream_), "copying the batch back");
    if (error.empty()) error = error_of(cudaDeviceSynchronize(), "a kernel");  // a plug-in may have used another stream
    if (!error.empty()) return error;
    for (size_t i = 0; i < calls.size(); ++i) std::memcpy(calls[i].frame.arena(), host_ + begins[i], size_t(calls[i].frame.num_words()) * sizeof(int32_t));
    return {};
  }

 private:
  static std::string error_of(cudaError_t code, const char* what) {
    return code == cudaSuccess ? std::string() : std::string(what) + " failed: " + cudaGetErrorName(code);
  }

  std::string make_room(size_t num_words) {
    if (num_words <= capacity_) return {};
    cudaFree(device_);
    cudaFreeHost(host_);
    device_ = host_ = nullptr;
    capacity_ = num_words * 2;
    std::string error = error_of(cudaMalloc(reinterpret_cast<void**>(&device_), capacity_ * sizeof(int32_t)), "cudaMalloc");
    return error.empty() ? error_of(cudaMallocHost(reinterpret_cast<void**>(&host_), capacity_ * sizeof(int32_t)), "cudaMallocHost") : error;
  }

  void launch(FollowedCall& call, int32_t* arena) {
    const slotproof_remap_arguments arguments = harness::c_arguments_of(call.frame.problem_at(arena));
    const slotproof_run_options options = harness::c_options_of(call.remap_case.schedule);
    char message[256];
    call.code = plugin_.remap(&arguments, &options, stream_, message, sizeof message);
  }

  const slotproof_plugin& plugin_;
  cudaStream_t stream_ = nullptr;
  int32_t* device_ = nullptr;
  int32_t* host_ = nullptr;
  size_t capacity_ = 0;  // words
};

}  // namespace

DeviceBatchOrReason make_device_batch(const std::string& backend) {
  if (std::string reason = harness::reason_without_driver(); !reason.empty()) return {nullptr, std::move(reason)};
  const auto [plugin, reason] = harness::load_plugin(backend == "cuda" ? harness::kBuiltinCuda : backend.substr(backend.find(':') + 1));
  if (plugin == nullptr) return {nullptr, reason};
  if (plugin->memory != SLOTPROOF_MEMORY_CUDA) return {nullptr, "it works on host memory"};
  auto batch = std::make_unique<CudaBatch>(*plugin);
  std::string error = batch->open();
  if (!error.empty()) return {nullptr, std::move(error)};
  return {std::move(batch), {}};
}

#else

DeviceBatchOrReason make_device_batch(const std::string&) {
  return {nullptr, "built without CUDA"};
}

#endif

}  // namespace slotproof::fuzz
