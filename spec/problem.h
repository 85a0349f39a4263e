#pragma once
// The arguments of one remap call, as a caller states them. Nothing here is validated: spec/arguments.h says which calls are
// refused, and only a call that is not refused may be read through view().

#include <Eigen/Core>

#include <cstdint>
#include <optional>

namespace slotproof::spec {

using IndexMatrix = Eigen::Matrix<int32_t, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using IndexVector = Eigen::Matrix<int32_t, Eigen::Dynamic, 1>;
using ConstMatrixView = Eigen::Map<const IndexMatrix, Eigen::Unaligned, Eigen::OuterStride<>>;
using ConstVectorView = Eigen::Map<const IndexVector>;

// What the outputs hold where there is no slot.
inline constexpr int32_t kNone = -1;

// int32[size], dense.
template <class Element>
struct VectorArgument {
  Element* data = nullptr;
  int32_t size = 0;
  ConstVectorView view() const { return {data, size}; }
};

// int32[rows, columns]; rows are row_stride elements apart and dense inside.
template <class Element>
struct MatrixArgument {
  Element* data = nullptr;
  int32_t rows = 0;
  int32_t columns = 0;
  int64_t row_stride = 0;
  ConstMatrixView view() const { return {data, rows, columns, Eigen::OuterStride<>(row_stride)}; }
};

using InputVector = VectorArgument<const int32_t>;
using InputMatrix = MatrixArgument<const int32_t>;
using OutputVector = VectorArgument<int32_t>;
using OutputMatrix = MatrixArgument<int32_t>;

// Decode context parallelism: positions are dealt to `size` ranks in groups of `interleave`.
struct RankOwnership {
  int32_t size = 1;
  int32_t rank = 0;
  int32_t interleave = 1;
  bool operator==(const RankOwnership&) const = default;
};

enum class Placement : uint8_t { kInPlace, kCompacted };
enum class Order : uint8_t { kStable, kUnspecified };

struct RemapProblem {
  InputVector req_id;          // [T]
  InputMatrix block_table;     // [R, B]
  InputMatrix token_indices;   // [T, K]
  int32_t block_size = 1;      // S, tokens
  int64_t block_stride_rows = 1;  // L, rows
  std::optional<int64_t> num_blocks;
  RankOwnership dcp;
  std::optional<InputVector> prefill_request_id;  // [T]
  std::optional<InputVector> workspace_starts;    // [P]
  std::optional<int64_t> num_workspace_rows;
  Placement placement = Placement::kInPlace;
  Order order = Order::kStable;  // of a compacted row
  std::optional<int32_t> tile;   // columns that one pass handles
  OutputMatrix slots;                       // [T, K]
  std::optional<OutputVector> valid_counts;  // [T]

  int32_t num_tokens() const { return token_indices.rows; }
  int32_t topk() const { return token_indices.columns; }
};

// The outputs of the diagnosis of a RemapProblem, whose own outputs, placement, order and tile then play no part (G1-G6).
struct DiagnosisOutputs {
  std::optional<OutputMatrix> row_counts;  // [T, kNumReasons]
  int64_t* totals = nullptr;               // [kNumReasons]
};

// A paged cache [num_blocks, block_size, head_dim] whose rows are to be addressed by one flat number.
struct FlatRowViewProblem {
  int64_t num_blocks = 0;
  int64_t block_size = 1;
  int64_t head_dim = 1;
  int64_t extents[3] = {0, 1, 1};
  int64_t strides[3] = {1, 1, 1};  // elements
  bool operator==(const FlatRowViewProblem&) const = default;
};

}  // namespace slotproof::spec
