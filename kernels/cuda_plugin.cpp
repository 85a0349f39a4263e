// The kernels on the GPU as a plug-in, patched or not. Link it with -Wl,-Bsymbolic and hidden visibility, so that a patched
// copy never runs the functions of the program that loads it.

#include "kernels/cuda_plugin.h"

#ifndef SLOTPROOF_PLUGIN_NAME  // A planted fault's build gives its own.
#define SLOTPROOF_PLUGIN_NAME "slotproof on the GPU"
#endif

extern "C" __attribute__((visibility("default"))) const slotproof_plugin* slotproof_plugin_v1(void) {
  static const slotproof_plugin plugin = slotproof::cuda_plugin_named(SLOTPROOF_PLUGIN_NAME);
  return &plugin;
}
