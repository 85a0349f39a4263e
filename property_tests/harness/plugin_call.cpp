#include "property_tests/harness/plugin_call.h"

#include "property_tests/harness/guarded_buffer.h"
#include "property_tests/harness/kernel_arguments.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>

namespace slotproof::harness {
namespace {

template <size_t size>
void copy_text(char (&target)[size], const std::string& text) {
  const size_t length = std::min(size - 1, text.size());
  std::memcpy(target, text.data(), length);
  target[length] = '\0';
}

// What a plug-in wrote, whatever it wrote.
template <size_t size>
std::string text_of(const char (&text)[size]) {
  return std::string(text, strnlen(text, size));
}

std::string joined(std::string first, const std::string& second) {
  return second.empty() ? first : first + ": " + second;
}

slotproof_remap_arguments translated(slotproof_remap_arguments arguments, const CallLayout& layout, const CallMemory& memory) {
  for (slotproof_vector* vector : {&arguments.req_id, &arguments.prefill_request_id, &arguments.workspace_starts, &arguments.valid_counts}) {
    vector->data = memory.address_of(layout, vector->data);
  }
  for (slotproof_matrix* matrix : {&arguments.block_table, &arguments.token_indices, &arguments.slots}) {
    matrix->data = memory.address_of(layout, matrix->data);
  }
  return arguments;
}

slotproof_vector c_vector_of(const spec::InputVector& vector) {
  return {const_cast<int32_t*>(vector.data), vector.size};
}
slotproof_vector c_vector_of(const spec::OutputVector& vector) {
  return {vector.data, vector.size};
}
slotproof_matrix c_matrix_of(const spec::InputMatrix& matrix) {
  return {const_cast<int32_t*>(matrix.data), matrix.rows, matrix.columns, matrix.row_stride};
}
slotproof_matrix c_matrix_of(const spec::OutputMatrix& matrix) {
  return {matrix.data, matrix.rows, matrix.columns, matrix.row_stride};
}

}  // namespace

slotproof_remap_arguments c_arguments_of(const spec::RemapProblem& problem) {
  slotproof_remap_arguments arguments = {};
  arguments.struct_size = sizeof arguments;
  arguments.compacted = problem.placement == spec::Placement::kCompacted;
  arguments.order_unspecified = problem.order == spec::Order::kUnspecified;
  arguments.block_size = problem.block_size;
  arguments.block_stride_rows = problem.block_stride_rows;
  arguments.dcp_size = problem.dcp.size;
  arguments.dcp_rank = problem.dcp.rank;
  arguments.dcp_interleave = problem.dcp.interleave;
  arguments.req_id = c_vector_of(problem.req_id);
  arguments.block_table = c_matrix_of(problem.block_table);
  arguments.token_indices = c_matrix_of(problem.token_indices);
  arguments.slots = c_matrix_of(problem.slots);
  const auto set_if_given = [](const auto& given, uint32_t& has, auto& target, auto convert) {
    has = given.has_value();
    if (given) target = convert(*given);
  };
  const auto same = [](auto value) { return value; };
  const auto vector = [](const auto& value) { return c_vector_of(value); };
  set_if_given(problem.num_blocks, arguments.has_num_blocks, arguments.num_blocks, same);
  set_if_given(problem.prefill_request_id, arguments.has_prefill_request_id, arguments.prefill_request_id, vector);
  set_if_given(problem.workspace_starts, arguments.has_workspace_starts, arguments.workspace_starts, vector);
  set_if_given(problem.num_workspace_rows, arguments.has_num_workspace_rows, arguments.num_workspace_rows, same);
  set_if_given(problem.tile, arguments.has_tile, arguments.tile, same);
  set_if_given(problem.valid_counts, arguments.has_valid_counts, arguments.valid_counts, vector);
  return arguments;
}

slotproof_run_options c_options_of(const Schedule& schedule) {
  return {sizeof(slotproof_run_options), schedule.team_width, schedule.thread_order_seed, schedule.cta_order_seed, schedule.planned_rows};
}

PluginOrReason load_plugin(const std::string& path) {
  if (path == kBuiltinCuda) return {builtin_cuda_plugin(), {}};
  void* object = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (object == nullptr) return {nullptr, "it does not load: " + std::string(dlerror())};
  void* symbol = dlsym(object, "slotproof_plugin_v1");
  if (symbol == nullptr) return {nullptr, "it does not export slotproof_plugin_v1"};
  const slotproof_plugin* plugin = reinterpret_cast<const slotproof_plugin* (*)()>(symbol)();
  if (plugin == nullptr) return {nullptr, "slotproof_plugin_v1() returned null"};
  if (plugin->abi != SLOTPROOF_PLUGIN_ABI) {
    return {nullptr, "it was made for ABI " + std::to_string(plugin->abi) + ", not " + std::to_string(SLOTPROOF_PLUGIN_ABI)};
  }
  if (plugin->struct_size < sizeof(slotproof_plugin)) {
    return {nullptr, "its descriptor says struct_size " + std::to_string(plugin->struct_size) + ", less than the " + std::to_string(sizeof(slotproof_plugin)) +
                         " of ABI " + std::to_string(SLOTPROOF_PLUGIN_ABI)};
  }
  if (plugin->memory > SLOTPROOF_MEMORY_CUDA) return {nullptr, "it asks for memory " + std::to_string(plugin->memory)};
  if (plugin->level > SLOTPROOF_LEVEL_STABLE) return {nullptr, "it claims level " + std::to_string(plugin->level)};
  if (plugin->remap == nullptr) return {nullptr, "its remap is null"};
  return {plugin, {}};
}

CallMemoryOrReason make_call_memory(const slotproof_plugin& plugin, Buffers buffers) {
  if (plugin.memory == SLOTPROOF_MEMORY_CUDA) return make_device_memory(buffers);
  return {std::make_unique<GuardedMemory>(), {}};
}

protocol::Reply call_plugin(const slotproof_plugin& plugin, CallMemory& memory, const CallLayout& layout, const slotproof_remap_arguments& arguments,
                            const slotproof_run_options& options, int32_t* arena) {
  protocol::Reply reply = {};
  reply.code = SLOTPROOF_RUN_FAILED;
  std::string misuse = memory.bring_in(layout, arena);
  if (misuse.empty()) {
    const slotproof_remap_arguments own_arguments = translated(arguments, layout, memory);
    const slotproof_run_options own_options = options;
    reply.code = plugin.remap(&own_arguments, &own_options, memory.stream(), reply.message, sizeof reply.message);
    misuse = memory.bring_back(layout, arena);
  }
  // What goes wrong on the device stays wrong: no later call of this process would tell anything.
  const bool has_failed = !misuse.empty() || reply.code < 0 || reply.code > 15;
  reply.is_worker_lost = has_failed && plugin.memory == SLOTPROOF_MEMORY_CUDA;
  copy_text(reply.misuse, misuse);
  return reply;
}

RunOutcome outcome_of(const protocol::Reply& reply, const std::string& subject) {
  if (reply.misuse[0] != '\0') return fault(subject + "'s call went wrong: " + text_of(reply.misuse));
  if (reply.code == SLOTPROOF_RUN_OK) return {};
  std::string message = text_of(reply.message);
  if (reply.code >= 1 && reply.code <= 15) return {RunOutcome::Kind::kRefused, spec::argument_rule_of(reply.code), std::move(message)};
  return fault(
      joined(subject + (reply.code == SLOTPROOF_RUN_MEMORY_FAULT ? " reports a memory fault" : " failed with code " + std::to_string(reply.code)), message));
}

BackendInfo info_of(const std::string& path, const std::string& name, uint32_t memory, uint32_t level, uint64_t capabilities, const std::string& where) {
  BackendInfo info;
  info.name = "plugin:" + path;
  info.level = level == SLOTPROOF_LEVEL_STABLE ? Level::kStable : level == SLOTPROOF_LEVEL_GUARDED ? Level::kGuarded : Level::kCore;
  info.capabilities = capabilities & SLOTPROOF_CAN_ALL;
  info.description = name + (memory == SLOTPROOF_MEMORY_CUDA ? ", CUDA memory, " : ", host memory, ") + where;
  return info;
}

}  // namespace slotproof::harness
