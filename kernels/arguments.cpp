#include "kernels/storage_overlap.h"

#include <slotproof/remap.h>

// Each check_ function is one of A1-A15, or a run of neighbours; validate() puts them in order.
namespace slotproof {
namespace {

constexpr int64_t kMaxStride = int64_t{1} << 60;

long long shown(int64_t x) { return x; }

// A tensor as the checks see it; a vector is a row.
struct Tensor {
  const char* name;
  const int32_t* data;
  int32_t rows;
  int32_t columns;
  int64_t stride;
  bool is_matrix;
  bool is_output;
  bool has_elements() const { return rows > 0 && columns > 0; }
  Storage storage() const { return {reinterpret_cast<uintptr_t>(data), rows, columns, stride}; }
};

struct Tensors {
  Tensor list[7];
  int size = 0;
  const Tensor* begin() const { return list; }
  const Tensor* end() const { return list + size; }

  template <class Matrix>
  void add_matrix(const char* name, const Matrix& m, bool is_output) {
    list[size++] = {name, m.data, m.rows, m.columns, m.row_stride, true, is_output};
  }
  template <class Vector>
  void add_vector(const char* name, const Vector& v, bool is_output) {
    list[size++] = {name, v.data, 1, v.size, 0, false, is_output};
  }
};

Tensors tensors_of(const RemapArgs& args) {
  Tensors tensors;
  tensors.add_vector("req_id", args.req_id, false);
  tensors.add_matrix("block_table", args.block_table, false);
  tensors.add_matrix("token_indices", args.token_indices, false);
  if (args.prefill_request_id) tensors.add_vector("prefill_request_id", *args.prefill_request_id, false);
  if (args.workspace_starts) tensors.add_vector("workspace_starts", *args.workspace_starts, false);
  tensors.add_matrix("slots", args.slots, true);
  if (args.valid_counts) tensors.add_vector("valid_counts", *args.valid_counts, true);
  return tensors;
}

struct Extent {
  const char* name;
  int32_t value;
};

Status check_extents(const RemapArgs& args) {  // A1
  const Extent extents[] = {
      {"req_id.size (T)", args.req_id.size},
      {"token_indices.rows (T)", args.token_indices.rows},
      {"prefill_request_id.size (T)", args.prefill_request_id ? args.prefill_request_id->size : 0},
      {"slots.rows (T)", args.slots.rows},
      {"valid_counts.size (T)", args.valid_counts ? args.valid_counts->size : 0},
      {"token_indices.columns (K)", args.token_indices.columns},
      {"slots.columns (K)", args.slots.columns},
      {"block_table.rows (R)", args.block_table.rows},
      {"block_table.columns (B)", args.block_table.columns},
      {"workspace_starts.size (P)", args.workspace_starts ? args.workspace_starts->size : 0},
  };
  for (const Extent& extent : extents) {
    if (extent.value < 0) {
      return Status::make(StatusCode::kNegativeExtent, "A1: %s is %d, a negative extent", extent.name, extent.value);
    }
  }
  return {};
}

Status check_pointers(const Tensors& tensors) {  // A2
  for (const Tensor& tensor : tensors) {
    if (!tensor.has_elements()) continue;
    const bool aligned = reinterpret_cast<uintptr_t>(tensor.data) % alignof(int32_t) == 0;
    if (tensor.data != nullptr && aligned) continue;
    return Status::make(StatusCode::kBadPointer, "A2: %s.data is %p, which is %s, but the tensor has elements", tensor.name,
                        static_cast<const void*>(tensor.data), tensor.data == nullptr ? "null" : "no multiple of 4");
  }
  return {};
}

Status check_row_counts(const RemapArgs& args) {  // A3
  const int32_t num_tokens = args.token_indices.rows;
  const Extent rows[] = {
      {"req_id.size", args.req_id.size},
      {"prefill_request_id.size", args.prefill_request_id ? args.prefill_request_id->size : num_tokens},
      {"slots.rows", args.slots.rows},
      {"valid_counts.size", args.valid_counts ? args.valid_counts->size : num_tokens},
  };
  for (const Extent& extent : rows) {
    if (extent.value != num_tokens) {
      return Status::make(StatusCode::kRowCountMismatch, "A3: %s is %d, but token_indices.rows is %d", extent.name,
                          extent.value, num_tokens);
    }
  }
  if (args.slots.columns != args.token_indices.columns) {
    return Status::make(StatusCode::kRowCountMismatch, "A3: slots.columns is %d, but token_indices.columns is %d",
                        args.slots.columns, args.token_indices.columns);
  }
  return {};
}

Status check_strides(const Tensors& tensors) {  // A4
  for (const Tensor& tensor : tensors) {
    if (!tensor.is_matrix) continue;
    const bool too_small = tensor.is_output ? tensor.rows > 1 && tensor.stride < tensor.columns : tensor.stride < 0;
    if (!too_small && tensor.stride <= kMaxStride) continue;
    return Status::make(StatusCode::kBadStride, "A4: %s.row_stride is %lld with %d rows of %d columns: %s", tensor.name,
                        shown(tensor.stride), tensor.rows, tensor.columns,
                        !too_small         ? "it is beyond 2^60"
                        : tensor.is_output ? "output rows overlap"
                                           : "it is negative");
  }
  return {};
}

Status check_blocks(const RemapArgs& args) {  // A5-A7
  if (args.block_size < 1) return Status::make(StatusCode::kBadBlockSize, "A5: block_size is %d, below 1", args.block_size);
  if (args.block_stride_rows < args.block_size) {
    return Status::make(StatusCode::kBadBlockStride, "A6: block_stride_rows is %lld, below block_size %d",
                        shown(args.block_stride_rows), args.block_size);
  }
  if (args.num_blocks && *args.num_blocks < 0) {
    return Status::make(StatusCode::kNegativeLimit, "A7: num_blocks is %lld, negative", shown(*args.num_blocks));
  }
  if (args.num_workspace_rows && *args.num_workspace_rows < 0) {
    return Status::make(StatusCode::kNegativeLimit, "A7: num_workspace_rows is %lld, negative",
                        shown(*args.num_workspace_rows));
  }
  return {};
}

Status check_dcp(const RemapArgs& args) {  // A8-A11
  const RankOwnership& dcp = args.dcp;
  if (dcp.size < 1) return Status::make(StatusCode::kBadDcpSize, "A8: dcp.size is %d, below 1", dcp.size);
  if (dcp.rank < 0 || dcp.rank >= dcp.size) {
    return Status::make(StatusCode::kBadDcpRank, "A9: dcp.rank is %d, outside [0, %d)", dcp.rank, dcp.size);
  }
  if (dcp.interleave < 1) {
    return Status::make(StatusCode::kBadInterleave, "A10: dcp.interleave is %d, below 1", dcp.interleave);
  }
  if (args.block_size % dcp.interleave != 0) {
    return Status::make(StatusCode::kInterleaveDoesNotDivideBlock, "A11: dcp.interleave %d does not divide block_size %d",
                        dcp.interleave, args.block_size);
  }
  return {};
}

Status check_prefill_and_tile(const RemapArgs& args) {  // A12-A14
  const bool has_ids = args.prefill_request_id.has_value();
  if (has_ids != args.workspace_starts.has_value()) {
    return Status::make(StatusCode::kIncompletePrefill, "A12: %s is given without %s",
                        has_ids ? "prefill_request_id" : "workspace_starts",
                        has_ids ? "workspace_starts" : "prefill_request_id");
  }
  if (has_ids && args.dcp.size > 1) {
    return Status::make(StatusCode::kPrefillUnderDcp, "A13: prefill_request_id is given, but dcp.size is %d", args.dcp.size);
  }
  const int32_t topk = args.token_indices.columns;
  if (args.tile && (*args.tile < 1 || topk % *args.tile != 0)) {
    return Status::make(StatusCode::kBadTile, "A14: tile is %d, which does not divide token_indices.columns %d", *args.tile,
                        topk);
  }
  return {};
}

Status check_overlap(const Tensors& tensors) {  // A15
  for (const Tensor& output : tensors) {
    if (!output.is_output) continue;
    for (const Tensor& other : tensors) {
      if (&other == &output || !shares_element(output.storage(), other.storage())) continue;
      return Status::make(StatusCode::kOutputOverlap,
                          "A15: %s (%p, %d x %d, stride %lld) shares elements with %s (%p, %d x %d, stride %lld)", output.name,
                          static_cast<const void*>(output.data), output.rows, output.columns, shown(output.stride), other.name,
                          static_cast<const void*>(other.data), other.rows, other.columns, shown(other.stride));
    }
  }
  return {};
}

}  // namespace

Status validate(const RemapArgs& args) noexcept {
  const Tensors tensors = tensors_of(args);
  Status status = check_extents(args);
  if (status.ok()) status = check_pointers(tensors);
  if (status.ok()) status = check_row_counts(args);
  if (status.ok()) status = check_strides(tensors);
  if (status.ok()) status = check_blocks(args);
  if (status.ok()) status = check_dcp(args);
  if (status.ok()) status = check_prefill_and_tile(args);
  if (status.ok()) status = check_overlap(tensors);
  return status;
}

}  // namespace slotproof
