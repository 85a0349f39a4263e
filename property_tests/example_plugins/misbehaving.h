#ifndef SLOTPROOF_MISBEHAVING_H
#define SLOTPROOF_MISBEHAVING_H
/* The descriptor that the misbehaving examples share. Each defines remap(). */

#include <slotproof/plugin.h>

#define SLOTPROOF_EXAMPLE_PLUGIN(plugin_name, plugin_abi)                                                                  \
  __attribute__((visibility("default"))) const slotproof_plugin* slotproof_plugin_v1(void) {                              \
    static const slotproof_plugin plugin = {sizeof(slotproof_plugin), plugin_abi, plugin_name, SLOTPROOF_MEMORY_HOST,     \
                                            SLOTPROOF_LEVEL_CORE,     SLOTPROOF_CAN_ALL, remap};                          \
    return &plugin;                                                                                                       \
  }

#define SLOTPROOF_EXAMPLE_REMAP                                                                                            \
  static int32_t remap(const slotproof_remap_arguments* arguments, const slotproof_run_options* options, void* stream,    \
                       char* message, uint32_t message_size)

#endif
