#pragma once
// A plug-in and one call of it, wherever it runs: in a worker or in this process. The kernels on the GPU are a plug-in, too,
// one that is built in.

#include "property_tests/harness/backend.h"
#include "property_tests/harness/plugin_protocol.h"

#include <slotproof/plugin.h>

#include <string>

namespace slotproof::harness {

// Stands for a path where the kernels of this build are meant.
inline constexpr const char* kBuiltinCuda = "builtin:cuda";
const slotproof_plugin* builtin_cuda_plugin();

struct PluginOrReason {
  const slotproof_plugin* plugin = nullptr;
  std::string reason;
};
PluginOrReason load_plugin(const std::string& path);

// Host memory that ends at inaccessible pages, or device memory: what the plug-in asks for.
CallMemoryOrReason make_call_memory(const slotproof_plugin& plugin, Buffers buffers);

slotproof_remap_arguments c_arguments_of(const spec::RemapProblem& problem);
slotproof_run_options c_options_of(const Schedule& schedule);

// `arguments` have addresses in the arena; the arena gets what the call left behind.
protocol::Reply call_plugin(const slotproof_plugin& plugin, CallMemory& memory, const CallLayout& layout, const slotproof_remap_arguments& arguments,
                            const slotproof_run_options& options, int32_t* arena);

// `subject` begins every message: "the plug-in".
RunOutcome outcome_of(const protocol::Reply& reply, const std::string& subject);

BackendInfo info_of(const std::string& path, const std::string& name, uint32_t memory, uint32_t level, uint64_t capabilities, const std::string& where);

// A plug-in by its path, or kBuiltinCuda.
BackendOrReason make_backend_in_worker(const std::string& path, const BackendOptions& options);
BackendOrReason make_backend_in_process(const std::string& path, const BackendOptions& options);

}  // namespace slotproof::harness
