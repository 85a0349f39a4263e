#include "spec/tiling.h"

namespace slotproof::spec {

std::optional<Tiling> remap_tiling(int32_t topk, int32_t block_n, bool count_valid) {
  if (block_n < 1 || topk < 0) return std::nullopt;
  int64_t power = topk == 0 ? 0 : 1;
  while (power < topk) power += power;
  if (count_valid && power == topk) return Tiling{true, topk, 1, 8};
  int32_t whole_tiles = 0;
  for (int64_t end = block_n; end <= topk; end += block_n) ++whole_tiles;
  return Tiling{false, block_n, whole_tiles, 4};
}

}  // namespace slotproof::spec
