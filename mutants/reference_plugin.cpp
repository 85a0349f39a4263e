// The reference as a plug-in, for its mutants: what is planted in it is judged by the spec as any kernel is.

#include "kernels/plugin_arguments.h"
#include "reference/remap.h"

namespace {

using namespace slotproof;

int32_t remap(const slotproof_remap_arguments* arguments, const slotproof_run_options*, void*, char* message, uint32_t message_size) {
  const auto refusal = reference::remap(args_of<spec::RemapProblem>(known_part_of(arguments)));
  if (!refusal) return 0;
  std::snprintf(message, message_size, "%s", refusal->message.c_str());
  return int32_t(refusal->rule) - int32_t(spec::Rule::A1) + 1;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const slotproof_plugin* slotproof_plugin_v1(void) {
  static const slotproof_plugin plugin = {
      sizeof(slotproof_plugin), SLOTPROOF_PLUGIN_ABI, "the reference", SLOTPROOF_MEMORY_HOST, SLOTPROOF_LEVEL_STABLE, SLOTPROOF_CAN_ALL, remap};
  return &plugin;
}
