#include <slotproof/diagnosis.h>

namespace slotproof {

Status launch_remap(const RemapArgs& args, CUstream_st*) noexcept {
  if (const Status status = validate(args); !status.ok()) return status;
  return Status::make(StatusCode::kNotSupported, "this build of slotproof has no CUDA");
}

Status launch_remap_diagnose(const DiagnoseArgs& args, CUstream_st*) noexcept {
  if (const Status status = validate(args); !status.ok()) return status;
  return Status::make(StatusCode::kNotSupported, "this build of slotproof has no CUDA");
}

}  // namespace slotproof
