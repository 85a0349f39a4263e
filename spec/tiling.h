#pragma once
// The seed's choice of tile: semantics, "Tiling".

#include <cstdint>
#include <optional>

namespace slotproof::spec {

struct Tiling {
  bool single_tile = false;
  int32_t block_n = 0;        // columns of a tile
  int32_t tiles_per_row = 0;
  int32_t num_warps = 0;
  bool operator==(const Tiling&) const = default;
};

// Nothing where block_n < 1 or topk < 0: refused.
std::optional<Tiling> remap_tiling(int32_t topk, int32_t block_n, bool count_valid);

}  // namespace slotproof::spec
