/* Breaks the CUDA context of its process where the block size is 3: the kernel reads positions at an address of nobody's. */

#include "kernels/cuda_plugin.h"

namespace {

int32_t remap(const slotproof_remap_arguments* arguments, const slotproof_run_options* options, void* stream, char* message,
              uint32_t message_size) {
  slotproof_remap_arguments changed = *arguments;
  if (changed.block_size == 3) changed.token_indices.data = reinterpret_cast<int32_t*>(uintptr_t{16});
  return slotproof::remap_on_cuda(&changed, options, stream, message, message_size);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const slotproof_plugin* slotproof_plugin_v1(void) {
  static slotproof_plugin plugin = slotproof::cuda_plugin_named("bad address");
  plugin.remap = remap;
  return &plugin;
}
