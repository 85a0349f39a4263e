#include <slotproof/status.h>

#include <cstdarg>
#include <cstdio>
#include <type_traits>

namespace slotproof {

static_assert(std::is_trivially_copyable_v<Status>);

Status Status::make(StatusCode code, const char* format, ...) noexcept {
  Status status;
  status.code_ = code;
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(status.message_, sizeof status.message_, format, arguments);
  va_end(arguments);
  return status;
}

Status Status::cuda(int32_t cuda_error, const char* what, const char* cuda_message) noexcept {
  Status status = make(StatusCode::kCudaError, "%s failed with CUDA error %d: %s", what, cuda_error, cuda_message);
  status.cuda_error_ = cuda_error;
  return status;
}

}  // namespace slotproof
