// The kernel body on the host as a plug-in. Built together with the sources of SLOTPROOF_KERNEL_HOST_SOURCES, patched or not,
// into a shared object that needs nothing else. Link it with -Wl,-Bsymbolic and hidden visibility, so that a patched copy
// never runs the functions of the program that loads it.

#include "kernels/plugin_arguments.h"

#ifndef SLOTPROOF_PLUGIN_NAME  // A planted fault's build gives its own.
#define SLOTPROOF_PLUGIN_NAME "slotproof on the host"
#endif

namespace slotproof {
namespace {

int32_t remap(const slotproof_remap_arguments* arguments, const slotproof_run_options* options, void* /*stream*/, char* message,
              uint32_t message_size) {
  const slotproof_run_options run = known_part_of(options);
  const Status status = remap_on_host(args_of(known_part_of(arguments)),
                                      {run.team_width, run.thread_order_seed, run.cta_order_seed, run.planned_rows});
  return result_of(status, message, message_size);
}

}  // namespace
}  // namespace slotproof

extern "C" __attribute__((visibility("default"))) const slotproof_plugin* slotproof_plugin_v1(void) {
  static const slotproof_plugin plugin = {
      sizeof(slotproof_plugin), SLOTPROOF_PLUGIN_ABI, SLOTPROOF_PLUGIN_NAME, SLOTPROOF_MEMORY_HOST,
      SLOTPROOF_LEVEL_STABLE,   SLOTPROOF_CAN_ALL,    slotproof::remap};
  return &plugin;
}
