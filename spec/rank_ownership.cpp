#include "spec/rank_ownership.h"

namespace slotproof::spec {
namespace {

// Takes `step` off `amount` as often as it goes, largest doublings first: calls take(n) for n steps at once.
template <class Take>
void take_off(int64_t& amount, int64_t step, Take take) {
  int doublings = 0;
  while (amount >> (doublings + 1) >= step) ++doublings;
  for (; doublings >= 0; --doublings) {
    if (amount >= step << doublings) {
      amount -= step << doublings;
      take(int64_t{1} << doublings);
    }
  }
}

}  // namespace

Share Writer::deal() {
  const Share share{rank_, rounds_ * dcp_.interleave + in_group_};
  if (++in_group_ == dcp_.interleave) {
    in_group_ = 0;
    if (++rank_ == dcp_.size) {
      rank_ = 0;
      ++rounds_;
    }
  }
  return share;
}

Share share_of(const RankOwnership& dcp, int32_t tok) {
  const int64_t round = int64_t{dcp.size} * dcp.interleave;  // positions that a round deals
  int64_t left = tok;
  Share share;
  take_off(left, round, [&](int64_t rounds) { share.local += rounds * dcp.interleave; });
  take_off(left, dcp.interleave, [&](int64_t groups) { share.rank += int32_t(groups); });  // less than a round: each rank once
  share.local += left;
  return share;
}

int64_t position_of(const RankOwnership& dcp, const Share& share) {
  int64_t position = int64_t{share.rank} * dcp.interleave;
  int64_t left = share.local;
  take_off(left, dcp.interleave, [&](int64_t groups) { position += groups * dcp.interleave * dcp.size; });  // one group a round
  return position + left;
}

std::optional<int32_t> local_length(const RankOwnership& dcp, int32_t length) {
  if (length < 0 || dcp.size < 1 || dcp.rank < 0 || dcp.rank >= dcp.size || dcp.interleave < 1) return std::nullopt;
  // The position that comes next tells how far the deal has got: ranks before its owner have had their group of this
  // round, its owner a part of it, ranks behind it nothing yet.
  const Share next = share_of(dcp, length);
  int64_t whole_rounds_share = 0;
  int64_t left = length;
  take_off(left, int64_t{dcp.size} * dcp.interleave, [&](int64_t rounds) { whole_rounds_share += rounds * dcp.interleave; });
  if (dcp.rank < next.rank) return int32_t(whole_rounds_share + dcp.interleave);
  if (dcp.rank == next.rank) return int32_t(next.local);
  return int32_t(whole_rounds_share);
}

BlockPlace block_place_of(int64_t local, int32_t block_size) {
  BlockPlace place;
  take_off(local, block_size, [&](int64_t blocks) { place.column += blocks; });
  place.offset = int32_t(local);
  return place;
}

}  // namespace slotproof::spec
