#pragma once
// One launch's arguments as the kernels take them: plain values, with what a launch has in common worked out beforehand.

#include "kernels/rank_ownership.h"
#include "kernels/tiling.h"

#include <slotproof/remap.h>

namespace slotproof {

struct RemapView {
  const int32_t* req_id;              // [T]
  const int32_t* block_table;         // [R, B]
  const int32_t* token_indices;       // [T, K]
  const int32_t* prefill_request_id;  // [T]
  const int32_t* workspace_starts;    // [P]
  int32_t* slots;                     // [T, K]
  int32_t* valid_counts;              // [T]
  int64_t block_table_stride;
  int64_t token_indices_stride;
  int64_t slots_stride;
  int32_t num_tokens;         // T
  int32_t topk;               // K
  int32_t num_requests;       // R
  int32_t table_columns;      // B
  int32_t num_prefills;       // P
  int32_t tile;               // columns of a pass
  FastDivisor block_size;     // S
  uint32_t block_stride;      // L, or 2^31 where it is more: then only base 0 gives slots, as with any such L
  uint32_t base_limit;        // a base below it has a slot of 32 bits for every offset, and is below num_blocks (R7, R9)
  uint32_t workspace_limit;   // workspace rows at or above it give none (R2, R9)
  RankDivisors ranks;
  bool has_prefill;
  bool has_counts;
};

// The arguments are valid.
RemapView make_view(const RemapArgs& args, const TilePlan& plan) noexcept;

// No row has anything to write.
bool writes_nothing(const RemapArgs& args) noexcept;

}  // namespace slotproof
