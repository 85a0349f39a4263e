// The kernel body on the host as a plug-in. Built together with the sources of SLOTPROOF_KERNEL_HOST_SOURCES, patched or not,
// into a shared object that needs nothing else. Link it with -Wl,-Bsymbolic and hidden visibility, so that a patched copy
// never runs the functions of the program that loads it.

#include <slotproof/plugin.h>
#include <slotproof/remap.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#ifndef SLOTPROOF_PLUGIN_NAME  // A planted fault's build gives its own.
#define SLOTPROOF_PLUGIN_NAME "slotproof on the host"
#endif

namespace slotproof {
namespace {

// The part of a structure that its maker knew; what it did not know is zero, that is, absent.
template <class T>
T known_part_of(const T* from) {
  T known{};
  if (from != nullptr) std::memcpy(&known, from, std::min<std::size_t>(from->struct_size, sizeof known));
  return known;
}

ConstVector input(const slotproof_vector& v) { return {v.data, v.size}; }
ConstMatrix input(const slotproof_matrix& m) { return {m.data, m.rows, m.columns, m.row_stride}; }

RemapArgs args_of(const slotproof_remap_arguments& from) {
  RemapArgs args;
  args.req_id = input(from.req_id);
  args.block_table = input(from.block_table);
  args.token_indices = input(from.token_indices);
  args.block_size = from.block_size;
  args.block_stride_rows = from.block_stride_rows;
  args.dcp = {from.dcp_size, from.dcp_rank, from.dcp_interleave};
  args.placement = from.compacted != 0 ? Placement::kCompacted : Placement::kInPlace;
  args.order = from.order_unspecified != 0 ? Order::kUnspecified : Order::kStable;
  args.slots = {from.slots.data, from.slots.rows, from.slots.columns, from.slots.row_stride};
  if (from.has_num_blocks) args.num_blocks = from.num_blocks;
  if (from.has_prefill_request_id) args.prefill_request_id = input(from.prefill_request_id);
  if (from.has_workspace_starts) args.workspace_starts = input(from.workspace_starts);
  if (from.has_num_workspace_rows) args.num_workspace_rows = from.num_workspace_rows;
  if (from.has_tile) args.tile = from.tile;
  if (from.has_valid_counts) args.valid_counts = {from.valid_counts.data, from.valid_counts.size};
  return args;
}

int32_t result_of(StatusCode code) {
  const auto value = static_cast<int32_t>(code);
  if (value >= 0 && value <= 15) return value;
  return code == StatusCode::kMemoryFault ? SLOTPROOF_RUN_MEMORY_FAULT : SLOTPROOF_RUN_FAILED;
}

int32_t remap(const slotproof_remap_arguments* arguments, const slotproof_run_options* options, void* /*stream*/, char* message,
              uint32_t message_size) {
  const slotproof_run_options run = known_part_of(options);
  const Status status = remap_on_host(args_of(known_part_of(arguments)),
                                      {run.team_width, run.thread_order_seed, run.cta_order_seed});
  if (!status.ok() && message != nullptr && message_size > 0) std::snprintf(message, message_size, "%s", status.message());
  return result_of(status.code());
}

}  // namespace
}  // namespace slotproof

extern "C" __attribute__((visibility("default"))) const slotproof_plugin* slotproof_plugin_v1(void) {
  static const slotproof_plugin plugin = {
      sizeof(slotproof_plugin), SLOTPROOF_PLUGIN_ABI, SLOTPROOF_PLUGIN_NAME, SLOTPROOF_MEMORY_HOST,
      SLOTPROOF_LEVEL_STABLE,   SLOTPROOF_CAN_ALL,    slotproof::remap};
  return &plugin;
}
