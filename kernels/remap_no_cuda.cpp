#include "kernels/remap_launch.h"

#include <slotproof/diagnosis.h>
#include <slotproof/remap.h>

namespace slotproof {

Status launch_remap(const RemapArgs& args, CUstream_st* stream) noexcept {
  return launch_remap_planned(args, {}, stream);
}

Status launch_remap_planned(const RemapArgs& args, const PlanOptions&, CUstream_st*) noexcept {
  if (const Status status = validate(args); !status.ok()) return status;
  return Status::make(StatusCode::kNotSupported, "this build of slotproof has no CUDA");
}

Status launch_remap_diagnose(const DiagnoseArgs& args, CUstream_st*) noexcept {
  if (const Status status = validate(args); !status.ok()) return status;
  return Status::make(StatusCode::kNotSupported, "this build of slotproof has no CUDA");
}

}  // namespace slotproof
