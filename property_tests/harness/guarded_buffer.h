#pragma once
// Host memory whose end lies right before pages that cannot be accessed, so that the first access behind it is a signal.

#include "property_tests/harness/call_memory.h"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace slotproof::harness {

// [begin, end) in pages of its own. Up to a page before `begin`, and less than 16 bytes behind `end` that alignment may cost,
// can be accessed too: they hold poison, and is_poison_intact() says whether it was written to.
class GuardedBuffer {
 public:
  GuardedBuffer() = default;
  ~GuardedBuffer();
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;

  // Makes room for num_bytes whose begin lies `misalignment` bytes (0 ... 15) behind a 16-byte boundary. The contents are
  // lost. Returns false where the system has no memory left.
  [[nodiscard]] bool fit(size_t num_bytes, size_t misalignment);

  std::byte* begin() const { return begin_; }
  std::byte* end() const { return end_; }
  bool is_poison_intact() const;

  // Where an address lies in the guard pages: bytes from `end` (>= 0), or from `begin` (< 0). For a signal handler.
  std::optional<int64_t> distance_into_guard(const void* address) const;

 private:
  void unmap();

  std::byte* mapping_ = nullptr;
  size_t mapping_bytes_ = 0;
  std::byte* accessible_begin_ = nullptr;
  std::byte* accessible_end_ = nullptr;
  std::byte* begin_ = nullptr;
  std::byte* end_ = nullptr;
};

// One guarded buffer a piece. An access behind a tensor's storage, or far before it, is a SIGSEGV.
class GuardedMemory final : public CallMemory {
 public:
  std::string bring_in(const CallLayout& layout, const int32_t* arena) override;
  std::string bring_back(const CallLayout& layout, int32_t* arena) override;

  struct Place {
    int32_t piece = 0;
    int64_t distance = 0;  // bytes: from the end of the storage (>= 0), or from its begin (< 0)
  };
  std::optional<Place> place_in_guards(const void* address) const;  // for a signal handler

 private:
  std::array<GuardedBuffer, kNumTensors> buffers_;
  std::array<int64_t, kNumTensors> overrun_bytes_{};  // guard words that can be accessed behind each storage
};

}  // namespace slotproof::harness
