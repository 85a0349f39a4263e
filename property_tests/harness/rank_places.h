#pragma once
// Where the writer model, the reference and the kernels each put a position: for the tests and for the fuzz target.

#include "kernels/rank_ownership.h"
#include "reference/rank_ownership.h"
#include "spec/rank_ownership.h"

#include <bit>

namespace slotproof::harness {

struct Places {
  spec::Share spec, reference;
  OwnedPosition kernels;  // for the spec's rank; not owned where the arithmetic for powers of two differs from that for any sizes
};

inline Places places_of(const spec::RankOwnership& dcp, int32_t tok) {
  const spec::Share share = spec::share_of(dcp, tok);
  const RankDivisors divisors = rank_divisors(dcp.size, share.rank, dcp.interleave);
  OwnedPosition owned = owned_position_of(divisors, uint32_t(tok));
  if (std::has_single_bit(uint32_t(dcp.size)) && std::has_single_bit(uint32_t(dcp.interleave))) {
    const OwnedPosition shifted = owned_position_of<Sizes::kPowersOfTwo>(divisors, uint32_t(tok));
    if (shifted.local != owned.local || shifted.owned != owned.owned) owned = {shifted.local, false};
  }
  return {share, {reference::owner_of(dcp, tok), reference::local_of(dcp, tok)}, owned};
}
inline bool agree(const Places& p) {
  return p.spec.rank == p.reference.rank && p.spec.local == p.reference.local && p.kernels.owned && int64_t{p.kernels.local} == p.spec.local;
}

}  // namespace slotproof::harness
