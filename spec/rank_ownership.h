#pragma once
// Decode context parallelism from the writer's side: positions 0, 1, 2, ... are dealt to the ranks in groups of
// `interleave`, and each rank lays its share into its blocks one after another.

#include "spec/problem.h"

#include <optional>

namespace slotproof::spec {

// Which rank got a position, and how many positions that rank had got before it.
struct Share {
  int32_t rank = 0;
  int64_t local = 0;
};

// Deals positions one at a time: the definition. Costs a step a position.
class Writer {
 public:
  explicit Writer(const RankOwnership& dcp) : dcp_(dcp) {}
  Share deal();  // the share of the next position

 private:
  RankOwnership dcp_;
  int64_t rounds_ = 0;    // whole rounds dealt: each gave every rank `interleave` positions
  int32_t rank_ = 0;      // whose turn it is
  int32_t in_group_ = 0;  // positions of the present group already dealt
};

// The share of position tok >= 0: the writer again, but whole rounds, and blocks of rounds, are skipped at once, because
// a round leaves the writer where it was and every rank `interleave` positions richer. Some sixty additions.
Share share_of(const RankOwnership& dcp, int32_t tok);

// The position that a rank got as its `local`-th, the inverse of share_of. Above 2^31 - 1 where there is no such position.
int64_t position_of(const RankOwnership& dcp, const Share& share);

// How many of the positions 0 ... length - 1 the rank gets; nothing for a negative length, or a dcp against A8-A10.       (P2)
std::optional<int32_t> local_length(const RankOwnership& dcp, int32_t length);

// Where the local position lies when a share fills blocks of block_size rows one after another.
struct BlockPlace {
  int64_t column = 0;
  int32_t offset = 0;
};
BlockPlace block_place_of(int64_t local, int32_t block_size);

}  // namespace slotproof::spec
