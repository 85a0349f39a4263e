#pragma once
// Errors are values: nothing in this library prints, aborts or throws across its interface.

#include <cstdint>

namespace slotproof {

// 1 ... 15 are the argument rules A1 ... A15 of docs/spec (`slotproof rules A11` prints one).
enum class StatusCode : int32_t {
  kOk = 0,
  kNegativeExtent = 1,
  kBadPointer = 2,
  kRowCountMismatch = 3,
  kBadStride = 4,
  kBadBlockSize = 5,
  kBadBlockStride = 6,
  kNegativeLimit = 7,
  kBadDcpSize = 8,
  kBadDcpRank = 9,
  kBadInterleave = 10,
  kInterleaveDoesNotDivideBlock = 11,
  kIncompletePrefill = 12,
  kPrefillUnderDcp = 13,
  kBadTile = 14,
  kOutputOverlap = 15,
  // The flat row view: VA1 ... VA6.
  kViewNegativeExtent = 21,
  kViewBadSize = 22,
  kViewNotDense = 23,
  kViewSplitRow = 24,
  kViewOverlap = 25,
  kViewTooManyRows = 26,
  // Not about the arguments.
  kNotSupported = 40,   // this build has no CUDA, or the option is not one that a host run knows
  kCudaError = 41,      // cuda_error() says which
  kMemoryFault = 42,    // the host's checked memory found an overrun, a stale read, a misaligned access or a race
};

// A code with a message that names the arguments and their values. Trivially copyable; makes no allocation.
class Status {
 public:
  Status() noexcept { message_[0] = '\0'; }
  // The message is formatted as by printf and cut at the capacity.
  [[gnu::format(printf, 2, 3)]] static Status make(StatusCode code, const char* format, ...) noexcept;
  static Status cuda(int32_t cuda_error, const char* what, const char* cuda_message) noexcept;

  bool ok() const noexcept { return code_ == StatusCode::kOk; }
  StatusCode code() const noexcept { return code_; }
  int32_t cuda_error() const noexcept { return cuda_error_; }  // a cudaError_t, 0 where the code is not kCudaError
  const char* message() const noexcept { return message_; }    // empty where ok

 private:
  static constexpr int kMessageCapacity = 256;
  StatusCode code_ = StatusCode::kOk;
  int32_t cuda_error_ = 0;
  char message_[kMessageCapacity];  // written up to its end mark: a call makes a dozen statuses, and nearly all are ok
};

}  // namespace slotproof
