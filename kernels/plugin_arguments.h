#pragma once
// The plug-in interface's arguments as those of the kernels' public interface, and a status as a plug-in's result.

#include <slotproof/plugin.h>
#include <slotproof/remap.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>

namespace slotproof {

// The part of a structure that its maker knew; what it did not know is zero, that is, absent.
template <class T>
T known_part_of(const T* from) {
  T known{};
  if (from != nullptr) std::memcpy(&known, from, std::min<std::size_t>(from->struct_size, sizeof known));
  return known;
}

// As RemapArgs, or any other structure with its members.
template <class Args = RemapArgs>
Args args_of(const slotproof_remap_arguments& from) {
  Args args;
  const auto vector = [](const slotproof_vector& v) { return decltype(args.req_id){v.data, v.size}; };
  const auto matrix = [](const slotproof_matrix& m) { return decltype(args.block_table){m.data, m.rows, m.columns, m.row_stride}; };
  args.req_id = vector(from.req_id);
  args.block_table = matrix(from.block_table);
  args.token_indices = matrix(from.token_indices);
  args.block_size = from.block_size;
  args.block_stride_rows = from.block_stride_rows;
  args.dcp = {from.dcp_size, from.dcp_rank, from.dcp_interleave};
  using Placements = decltype(args.placement);
  using Orders = decltype(args.order);
  args.placement = from.compacted != 0 ? Placements::kCompacted : Placements::kInPlace;
  args.order = from.order_unspecified != 0 ? Orders::kUnspecified : Orders::kStable;
  args.slots = {from.slots.data, from.slots.rows, from.slots.columns, from.slots.row_stride};
  if (from.has_num_blocks) args.num_blocks = from.num_blocks;
  if (from.has_prefill_request_id) args.prefill_request_id = vector(from.prefill_request_id);
  if (from.has_workspace_starts) args.workspace_starts = vector(from.workspace_starts);
  if (from.has_num_workspace_rows) args.num_workspace_rows = from.num_workspace_rows;
  if (from.has_tile) args.tile = from.tile;
  if (from.has_valid_counts) args.valid_counts = {from.valid_counts.data, from.valid_counts.size};
  return args;
}

// Writes the message where there is one to write and a place for it.
inline int32_t result_of(const Status& status, char* message, uint32_t message_size) {
  if (!status.ok() && message != nullptr && message_size > 0) std::snprintf(message, message_size, "%s", status.message());
  const auto value = static_cast<int32_t>(status.code());
  if (value >= 0 && value <= 15) return value;
  return status.code() == StatusCode::kMemoryFault ? SLOTPROOF_RUN_MEMORY_FAULT : SLOTPROOF_RUN_FAILED;
}

}  // namespace slotproof
