#include <slotproof/rank_ownership.h>

#include <algorithm>

namespace slotproof {

std::optional<int32_t> dcp_local_length(int32_t length, const RankOwnership& ownership) noexcept {
  const bool valid = ownership.size >= 1 && ownership.interleave >= 1 && ownership.rank >= 0 && ownership.rank < ownership.size;
  if (length < 0 || !valid) return std::nullopt;
  const int64_t interleave = ownership.interleave;
  const int64_t round_size = ownership.size * interleave;
  const int64_t whole_rounds = length / round_size;
  const int64_t in_last_round = length % round_size - ownership.rank * interleave;
  return static_cast<int32_t>(whole_rounds * interleave + std::clamp<int64_t>(in_last_round, 0, interleave));
}

}  // namespace slotproof
