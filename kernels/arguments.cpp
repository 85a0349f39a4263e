#include "kernels/storage_overlap.h"

#include <slotproof/diagnosis.h>

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
  bool is_per_token;  // a matrix of T rows, or a vector of T elements
  uintptr_t alignment = alignof(int32_t);
  bool has_elements() const { return rows > 0 && columns > 0; }
  int32_t num_tokens() const { return is_matrix ? rows : columns; }
  const char* tokens_name() const { return is_matrix ? "rows" : "size"; }
  Storage storage() const { return {reinterpret_cast<uintptr_t>(data), rows, columns, stride}; }
};

struct Tensors {
  Tensor list[7];
  int size = 0;
  const Tensor* begin() const { return list; }
  const Tensor* end() const { return list + size; }

  template <class Matrix>
  void add_matrix(const char* name, const Matrix& m, bool is_output, bool is_per_token) {
    list[size++] = {name, m.data, m.rows, m.columns, m.row_stride, true, is_output, is_per_token};
  }
  template <class Vector>
  void add_vector(const char* name, const Vector& v, bool is_output, bool is_per_token) {
    list[size++] = {name, v.data, 1, v.size, 0, false, is_output, is_per_token};
  }
};

Tensors input_tensors_of(const RemapInputs& args) {
  Tensors tensors;
  tensors.add_vector("req_id", args.req_id, false, true);
  tensors.add_matrix("block_table", args.block_table, false, false);
  tensors.add_matrix("token_indices", args.token_indices, false, true);
  if (args.prefill_request_id) tensors.add_vector("prefill_request_id", *args.prefill_request_id, false, true);
  if (args.workspace_starts) tensors.add_vector("workspace_starts", *args.workspace_starts, false, false);
  return tensors;
}

// The width of the output matrix, and what the caller knows it by.
struct Width {
  int32_t value;
  const char* name;
};

Status negative_extent(const Tensor& tensor, const char* extent, int32_t value) {
  return Status::make(StatusCode::kNegativeExtent, "A1: %s.%s is %d, a negative extent", tensor.name, extent, value);
}

Status check_extents(const Tensors& tensors) {  // A1
  for (const Tensor& tensor : tensors) {        // T
    if (tensor.is_per_token && tensor.num_tokens() < 0) return negative_extent(tensor, tensor.tokens_name(), tensor.num_tokens());
  }
  for (const Tensor& tensor : tensors) {  // K
    if (tensor.is_per_token && tensor.columns < 0) return negative_extent(tensor, "columns", tensor.columns);
  }
  for (const Tensor& tensor : tensors) {  // R, B, P
    if (tensor.rows < 0) return negative_extent(tensor, "rows", tensor.rows);
    if (tensor.columns < 0) return negative_extent(tensor, tensor.is_matrix ? "columns" : "size", tensor.columns);
  }
  return {};
}

Status check_pointers(const Tensors& tensors) {  // A2
  for (const Tensor& tensor : tensors) {
    if (!tensor.has_elements()) continue;
    const bool aligned = reinterpret_cast<uintptr_t>(tensor.data) % tensor.alignment == 0;
    if (tensor.data != nullptr && aligned) continue;
    return Status::make(StatusCode::kBadPointer, "A2: %s.data is %p, which is %s, but the tensor has elements", tensor.name,
                        static_cast<const void*>(tensor.data),
                        tensor.data == nullptr                  ? "null"
                        : tensor.alignment == alignof(int32_t) ? "no multiple of 4"
                                                               : "no multiple of 8");
  }
  return {};
}

Status check_row_counts(const Tensors& tensors, int32_t num_tokens, const Width& width) {  // A3
  for (const Tensor& tensor : tensors) {
    if (tensor.is_per_token && tensor.num_tokens() != num_tokens) {
      return Status::make(StatusCode::kRowCountMismatch, "A3: %s.%s is %d, but token_indices.rows is %d", tensor.name,
                          tensor.tokens_name(), tensor.num_tokens(), num_tokens);
    }
    if (tensor.is_output && tensor.is_matrix && tensor.columns != width.value) {
      return Status::make(StatusCode::kRowCountMismatch, "A3: %s.columns is %d, but %s is %d", tensor.name, tensor.columns,
                          width.name, width.value);
    }
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

Status check_blocks(const RemapInputs& args) {  // A5-A7
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

Status check_dcp(const RemapInputs& args) {  // A8-A11
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

Status check_prefill(const RemapInputs& args) {  // A12, A13
  const bool has_ids = args.prefill_request_id.has_value();
  if (has_ids != args.workspace_starts.has_value()) {
    return Status::make(StatusCode::kIncompletePrefill, "A12: %s is given without %s",
                        has_ids ? "prefill_request_id" : "workspace_starts",
                        has_ids ? "workspace_starts" : "prefill_request_id");
  }
  if (has_ids && args.dcp.size > 1) {
    return Status::make(StatusCode::kPrefillUnderDcp, "A13: prefill_request_id is given, but dcp.size is %d", args.dcp.size);
  }
  return {};
}

Status check_tile(const RemapArgs& args) {  // A14
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

// The first of A1-A13.
Status first_failure(const RemapInputs& inputs, const Tensors& tensors, const Width& width) {
  if (const Status status = check_extents(tensors); !status.ok()) return status;
  if (const Status status = check_pointers(tensors); !status.ok()) return status;
  if (const Status status = check_row_counts(tensors, inputs.token_indices.rows, width); !status.ok()) return status;
  if (const Status status = check_strides(tensors); !status.ok()) return status;
  if (const Status status = check_blocks(inputs); !status.ok()) return status;
  if (const Status status = check_dcp(inputs); !status.ok()) return status;
  return check_prefill(inputs);
}

}  // namespace

Status validate(const RemapArgs& args) noexcept {
  Tensors tensors = input_tensors_of(args);
  tensors.add_matrix("slots", args.slots, true, true);
  if (args.valid_counts) tensors.add_vector("valid_counts", *args.valid_counts, true, true);
  if (const Status status = first_failure(args, tensors, {args.token_indices.columns, "token_indices.columns"}); !status.ok()) return status;
  if (const Status status = check_tile(args); !status.ok()) return status;
  return check_overlap(tensors);
}

Status validate(const DiagnoseArgs& args) noexcept {
  Tensors tensors = input_tensors_of(args.inputs);
  if (args.row_counts) tensors.add_matrix("row_counts", *args.row_counts, true, true);
  // A 64-bit counter is a pair of words as far as memory goes.
  tensors.list[tensors.size++] = {"totals", reinterpret_cast<const int32_t*>(args.totals), 1, 2 * kNumReasons, 0, false, true,
                                  false, alignof(int64_t)};
  if (const Status status = first_failure(args.inputs, tensors, {kNumReasons, "kNumReasons"}); !status.ok()) return status;
  return check_overlap(tensors);
}

}  // namespace slotproof
