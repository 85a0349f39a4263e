#include "reference/flat_row_view.h"

#include <algorithm>

namespace slotproof::reference {

using spec::Rule;

Result<FlatRowView> flat_kv_row_view(const spec::FlatRowViewProblem& problem) {
  const auto& [num_blocks, S, head_dim, extents, strides] = problem;
  if (std::min({num_blocks, extents[0], extents[1], extents[2]}) < 0)
    return refuse(Rule::VA1, "num_blocks = ", num_blocks, ", extents = ", extents[0], ", ", extents[1], ", ", extents[2], ": negative");
  if (head_dim < 1 || S < 1) return refuse(Rule::VA2, "head_dim = ", head_dim, " or block_size = ", S, " is below 1");
  if (extents[0] != num_blocks || extents[1] != S || extents[2] != head_dim)  // V3
    return refuse(Rule::VA3, "extents = ", extents[0], ", ", extents[1], ", ", extents[2], " are not num_blocks = ", num_blocks,
                  ", block_size = ", S, ", head_dim = ", head_dim);
  if ((S > 1 && strides[1] != head_dim) || (head_dim > 1 && strides[2] != 1))  // V3: an extent of 1 never takes its stride
    return refuse(Rule::VA3, "strides[1], [2] = ", strides[1], ", ", strides[2], " are not head_dim = ", head_dim, ", 1");
  if (strides[0] % head_dim != 0) return refuse(Rule::VA4, "head_dim = ", head_dim, " does not divide strides[0] = ", strides[0]);
  const int64_t L = strides[0] / head_dim;  // V1
  if (num_blocks > 1 && L < S) return refuse(Rule::VA5, "L = ", L, " is below block_size = ", S);  // V4
  if (num_blocks == 0) return FlatRowView{0, L, head_dim};  // V2
  if (S > INT32_MAX || (num_blocks > 1 && L > (INT32_MAX - S) / (num_blocks - 1)))  // V2, in a form that cannot overflow
    return refuse(Rule::VA6, "num_blocks = ", num_blocks, ", block_size = ", S, ", L = ", L, ": more than 2^31 - 1 rows");
  return FlatRowView{(num_blocks - 1) * L + S, L, head_dim};  // V2, V5: it ends with the last block's content
}

}  // namespace slotproof::reference
