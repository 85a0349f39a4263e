// The reference as a plug-in, for its mutants: what is planted in it is judged by the spec as any kernel is.

#include "reference/remap.h"

#include <slotproof/plugin.h>

#include <algorithm>
#include <cstring>

namespace {

using namespace slotproof;

spec::InputVector vector_of(const slotproof_vector& v) { return {v.data, v.size}; }
spec::InputMatrix matrix_of(const slotproof_matrix& m) { return {m.data, m.rows, m.columns, m.row_stride}; }

int32_t remap(const slotproof_remap_arguments* arguments, const slotproof_run_options*, void*, char* message, uint32_t message_size) {
  const slotproof_remap_arguments& from = *arguments;
  spec::RemapProblem problem;
  problem.req_id = vector_of(from.req_id);
  problem.block_table = matrix_of(from.block_table);
  problem.token_indices = matrix_of(from.token_indices);
  problem.block_size = from.block_size;
  problem.block_stride_rows = from.block_stride_rows;
  problem.dcp = {from.dcp_size, from.dcp_rank, from.dcp_interleave};
  if (from.compacted) problem.placement = spec::Placement::kCompacted;
  if (from.order_unspecified) problem.order = spec::Order::kUnspecified;
  problem.slots = {from.slots.data, from.slots.rows, from.slots.columns, from.slots.row_stride};
  if (from.has_num_blocks) problem.num_blocks = from.num_blocks;
  if (from.has_prefill_request_id) problem.prefill_request_id = vector_of(from.prefill_request_id);
  if (from.has_workspace_starts) problem.workspace_starts = vector_of(from.workspace_starts);
  if (from.has_num_workspace_rows) problem.num_workspace_rows = from.num_workspace_rows;
  if (from.has_tile) problem.tile = from.tile;
  if (from.has_valid_counts) problem.valid_counts = {from.valid_counts.data, from.valid_counts.size};
  const auto refusal = reference::remap(problem);
  if (!refusal) return 0;
  if (message_size > 0) {
    const size_t size = std::min<size_t>(refusal->message.size(), message_size - 1);
    std::memcpy(message, refusal->message.data(), size);
    message[size] = '\0';
  }
  return int32_t(refusal->rule) - int32_t(spec::Rule::A1) + 1;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const slotproof_plugin* slotproof_plugin_v1(void) {
  static const slotproof_plugin plugin = {
      sizeof(slotproof_plugin), SLOTPROOF_PLUGIN_ABI, "the reference", SLOTPROOF_MEMORY_HOST, SLOTPROOF_LEVEL_STABLE, SLOTPROOF_CAN_ALL, remap};
  return &plugin;
}
