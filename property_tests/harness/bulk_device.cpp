#include "property_tests/harness/bulk_device.h"

#include "property_tests/harness/call_memory.h"

#if SLOTPROOF_HAS_CUDA
#include "property_tests/device/bulk_kernels.h"

#include <cuda_runtime_api.h>
#endif

namespace slotproof::harness {

#if SLOTPROOF_HAS_CUDA
namespace {

std::string error_of(cudaError_t code, const std::string& what) {
  if (code == cudaSuccess) return {};
  cudaGetLastError();  // so that it is not reported again for a later call
  return what + " failed: " + cudaGetErrorName(code) + " (" + cudaGetErrorString(code) + ")";
}

using Stream = std::shared_ptr<CUstream_st>;

class DeviceSlot final : public BulkSlot {
 public:
  explicit DeviceSlot(Stream stream) : stream_(std::move(stream)) {}
  ~DeviceSlot() override {
    cudaStreamSynchronize(stream_.get());  // Nothing enqueued may outlive its memory.
    cudaFree(arena_);
    cudaFree(verdict_);
    cudaFreeHost(verdict_on_host_);
    if (begin_ != nullptr) cudaEventDestroy(begin_);
    if (end_ != nullptr) cudaEventDestroy(end_);
  }
  DeviceSlot(const DeviceSlot&) = delete;
  DeviceSlot& operator=(const DeviceSlot&) = delete;

  std::string open(int64_t num_words) {
    num_words_ = num_words;
    std::string error =
        error_of(cudaMalloc(&arena_, size_t(num_words) * sizeof(int32_t)), "cudaMalloc of " + std::to_string(num_words >> 18) + " MiB for a batch");
    if (error.empty()) error = error_of(cudaMalloc(&verdict_, sizeof(BulkVerdict)), "cudaMalloc of a verdict");
    if (error.empty()) error = error_of(cudaMallocHost(&verdict_on_host_, sizeof(BulkVerdict)), "cudaMallocHost of a verdict");
    if (error.empty()) error = error_of(cudaEventCreate(&begin_), "cudaEventCreate");
    if (error.empty()) error = error_of(cudaEventCreate(&end_), "cudaEventCreate");
    return error;
  }

  std::string make(const BulkView& batch) override {
    view_ = batch;
    set_arena(view_, static_cast<int32_t*>(arena_));
    if (view_.layout.num_words > num_words_) {
      return "batch " + std::to_string(batch.batch) + " takes " + std::to_string(view_.layout.num_words) + " words, but its memory has " +
             std::to_string(num_words_);
    }
    std::string error = error_of(cudaEventRecord(begin_, stream_.get()), "cudaEventRecord");
    return error.empty() ? launch_make(view_, stream_.get()) : error;
  }

  std::string run() override {
    const Status status = launch_remap(view_.args, stream_.get());
    return status.ok() ? "" : std::string("launch_remap: ") + status.message();
  }

  std::string check() override {
    auto* verdict = static_cast<BulkVerdict*>(verdict_);
    std::string error = error_of(cudaMemsetAsync(verdict, 0, sizeof(BulkVerdict), stream_.get()), "cudaMemsetAsync");
    if (error.empty()) error = error_of(cudaMemsetAsync(&verdict->first, 0xff, sizeof(verdict->first), stream_.get()), "cudaMemsetAsync");
    if (error.empty()) error = launch_check(view_, verdict, stream_.get());
    if (error.empty())
      error = error_of(cudaMemcpyAsync(verdict_on_host_, verdict, sizeof(BulkVerdict), cudaMemcpyDeviceToHost, stream_.get()), "cudaMemcpyAsync");
    return error.empty() ? error_of(cudaEventRecord(end_, stream_.get()), "cudaEventRecord") : error;
  }

  std::string wait(BulkVerdict& verdict, double& seconds) override {
    std::string error = error_of(cudaEventSynchronize(end_), "batch " + std::to_string(view_.batch));
    float milliseconds = 0;
    if (error.empty()) error = error_of(cudaEventElapsedTime(&milliseconds, begin_, end_), "cudaEventElapsedTime");
    if (!error.empty()) return error;
    verdict = *static_cast<const BulkVerdict*>(verdict_on_host_);
    seconds = double(milliseconds) / 1000;
    return {};
  }

  std::string read(int64_t word, int64_t num_words, int32_t* to) override {
    std::string error = error_of(cudaStreamSynchronize(stream_.get()), "reading batch " + std::to_string(view_.batch));
    if (!error.empty()) return error;
    return error_of(cudaMemcpy(to, view_.arena + word, size_t(num_words) * sizeof(int32_t), cudaMemcpyDeviceToHost), "cudaMemcpy from a batch");
  }

  std::string write(int64_t word, int32_t value) override {
    std::string error = error_of(cudaStreamSynchronize(stream_.get()), "writing to batch " + std::to_string(view_.batch));
    if (!error.empty()) return error;
    return error_of(cudaMemcpy(view_.arena + word, &value, sizeof(value), cudaMemcpyHostToDevice), "cudaMemcpy to a batch");
  }

  std::string reference_entries(const std::vector<int32_t>& positions, std::vector<int32_t>& entries) override {
    const size_t num_bytes = positions.size() * sizeof(int32_t);
    entries.resize(positions.size());
    void* memory = nullptr;
    std::string error = error_of(cudaMalloc(&memory, 2 * num_bytes), "cudaMalloc");
    if (!error.empty()) return error;
    auto* asked = static_cast<int32_t*>(memory);
    error = error_of(cudaMemcpy(asked, positions.data(), num_bytes, cudaMemcpyHostToDevice), "cudaMemcpy of positions");
    if (error.empty()) error = launch_reference_entries(view_.args, asked, int64_t(positions.size()), asked + positions.size(), stream_.get());
    if (error.empty()) error = error_of(cudaStreamSynchronize(stream_.get()), "reference_entries");
    if (error.empty()) error = error_of(cudaMemcpy(entries.data(), asked + positions.size(), num_bytes, cudaMemcpyDeviceToHost), "cudaMemcpy of entries");
    cudaFree(memory);
    return error;
  }

 private:
  Stream stream_;
  int64_t num_words_ = 0;
  void *arena_ = nullptr, *verdict_ = nullptr, *verdict_on_host_ = nullptr;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

}  // namespace

BulkSlotsOrReason make_bulk_slots(int num_slots, const BulkScale& scale) {
  BulkSlotsOrReason made;
  made.reason = make_device_memory(Buffers::kExact).reason;
  if (!made.reason.empty()) return made;
  cudaStream_t bare = nullptr;
  made.reason = error_of(cudaStreamCreateWithFlags(&bare, cudaStreamNonBlocking), "cudaStreamCreate");
  if (!made.reason.empty()) return made;
  const Stream stream(bare, [](cudaStream_t s) { cudaStreamDestroy(s); });
  for (int i = 0; i < num_slots; ++i) {
    auto slot = std::make_unique<DeviceSlot>(stream);
    made.reason = slot->open(most_bulk_words(scale));
    if (!made.reason.empty()) return {{}, made.reason};
    made.slots.push_back(std::move(slot));
  }
  return made;
}

#else

BulkSlotsOrReason make_bulk_slots(int, const BulkScale&) {
  return {{}, "built without CUDA"};
}

#endif

}  // namespace slotproof::harness
