#pragma once
// For tests that use the GPU from this process: memory, streams, and errors as exceptions, which GoogleTest reports.

#include "property_tests/harness/call_memory.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace slotproof {

inline void check(cudaError_t code, const char* what) {
  if (code != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorName(code) + ": " + cudaGetErrorString(code));
}
#define SLOTPROOF_CUDA(call) ::slotproof::check(call, #call)

class DeviceWords {
 public:
  explicit DeviceWords(size_t size) : size_(size) { SLOTPROOF_CUDA(cudaMalloc(&data_, size * sizeof(int32_t))); }
  explicit DeviceWords(std::span<const int32_t> words) : DeviceWords(words.size()) {
    SLOTPROOF_CUDA(cudaMemcpy(data_, words.data(), words.size_bytes(), cudaMemcpyHostToDevice));
  }
  ~DeviceWords() { cudaFree(data_); }
  DeviceWords(const DeviceWords&) = delete;
  DeviceWords& operator=(const DeviceWords&) = delete;

  int32_t* data() const { return static_cast<int32_t*>(data_); }
  size_t size_bytes() const { return size_ * sizeof(int32_t); }
  std::vector<int32_t> words() const {
    std::vector<int32_t> copy(size_);
    SLOTPROOF_CUDA(cudaMemcpy(copy.data(), data_, size_bytes(), cudaMemcpyDeviceToHost));
    return copy;
  }

 private:
  size_t size_;
  void* data_ = nullptr;
};

class Stream {
 public:
  Stream() { SLOTPROOF_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const { return stream_; }
  void synchronize() const { SLOTPROOF_CUDA(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
};

// Skips with the reason where there is no device.
class DeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    static const std::string reason = harness::make_device_memory(harness::Buffers::kGuarded).reason;
    if (!reason.empty()) GTEST_SKIP() << reason;
  }
};

}  // namespace slotproof
