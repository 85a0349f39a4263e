#include <slotproof/remap.h>

namespace slotproof {

Status launch_remap(const RemapArgs& args, CUstream_st*) noexcept {
  if (const Status status = validate(args); !status.ok()) return status;
  return Status::make(StatusCode::kNotSupported, "this build of slotproof has no CUDA");
}

}  // namespace slotproof
