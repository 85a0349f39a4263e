#pragma once
// The kernels on the GPU behind the plug-in interface: what the cuda back end's worker runs, and what kernels/cuda_plugin.cpp
// exports. The schedule's thread and CTA orders play no part: the device has its own.

#include "kernels/plugin_arguments.h"
#include "kernels/remap_launch.h"

namespace slotproof {

inline int32_t remap_on_cuda(const slotproof_remap_arguments* arguments, const slotproof_run_options* options, void* stream, char* message,
                             uint32_t message_size) {
  const slotproof_run_options run = known_part_of(options);
  const Status status = launch_remap_planned(args_of(known_part_of(arguments)), {run.team_width, run.planned_rows}, static_cast<CUstream_st*>(stream));
  return result_of(status, message, message_size);
}

inline slotproof_plugin cuda_plugin_named(const char* name) {
  return {sizeof(slotproof_plugin), SLOTPROOF_PLUGIN_ABI, name, SLOTPROOF_MEMORY_CUDA, SLOTPROOF_LEVEL_STABLE, SLOTPROOF_CAN_ALL, remap_on_cuda};
}

}  // namespace slotproof
