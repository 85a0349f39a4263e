#pragma once
// One launch's arguments as the kernels take them: plain values, with what a launch has in common worked out beforehand.

#include "kernels/rank_ownership.h"
#include "kernels/row_kernels.h"

#include <slotproof/remap.h>

namespace slotproof {

// The order is that of use: a kernel's parameters come in lines of 64 bytes, and one that is first touched behind the loads of the
// indices is waited for once more. The first two lines are all that a decode row without ranks needs, and its first two loads touch both.
struct RemapView {
  const int32_t* token_indices;  // [T, K]
  int64_t token_indices_stride;
  const int32_t* block_table;  // [R, B]
  int64_t block_table_stride;
  int32_t* slots;  // [T, K]
  int64_t slots_stride;

  const int32_t* req_id;    // [T]
  FastDivisor column_span;  // N * S, the positions that one column of the table spans, or 2^31 where it is more
  int32_t* valid_counts;    // [T]
  uint32_t table_end;       // the first position behind the table, or 2^31 where that is more
  int32_t num_requests;     // R
  uint32_t base_limit;      // a base below it has a slot of 32 bits for every offset, and is below num_blocks (R7, R9)
  uint32_t block_stride;    // L, or 2^31 where it is more: then only base 0 gives slots, as with any such L
  int32_t topk;             // K
  int32_t tile;             // columns of a pass
  bool has_prefill;
  bool has_counts;

  RankDivisors ranks;
  const int32_t* prefill_request_id;  // [T]
  const int32_t* workspace_starts;    // [P]
  int32_t num_prefills;               // P
  uint32_t workspace_limit;           // workspace rows at or above it give none (R2, R9)
  int32_t num_tokens;                 // T
  int32_t table_columns;              // B
};

// Of valid arguments. tile: columns of a pass.
RemapView make_view(const RemapArgs& args, int32_t tile) noexcept;

// No row has anything to write.
bool writes_nothing(const RemapArgs& args) noexcept;

}  // namespace slotproof
