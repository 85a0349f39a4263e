#pragma once
// The seed's choice of tile: semantics, "Tiling".

#include <bit>
#include <cstdint>
#include <optional>

namespace slotproof::reference {

struct Tiling {
  bool single_tile = false;
  int32_t block_n = 0;        // columns of a tile
  int32_t tiles_per_row = 0;  // rounded down: the seed loses the columns behind
  int32_t num_warps = 0;
  bool operator==(const Tiling&) const = default;
};

// Nothing where block_n < 1 or topk < 0: refused. The seed's callers pass block_n = 128 unless told otherwise.
inline std::optional<Tiling> remap_tiling(int32_t topk, int32_t block_n, bool count_valid) {
  if (block_n < 1 || topk < 0) return std::nullopt;
  if (count_valid && (topk == 0 || std::has_single_bit(static_cast<uint32_t>(topk)))) return Tiling{true, topk, 1, 8};
  return Tiling{false, block_n, topk / block_n, 4};
}

}  // namespace slotproof::reference
