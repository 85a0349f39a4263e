// Drawn problems changed so that they meet a law's premise. What a law asks for is the decoder's business as well, but few of its
// problems would have it all at once.

#include "property_tests/harness/decoder_elements.h"
#include "property_tests/harness/laws_parts.h"

#include <slotproof/plugin.h>

#include <algorithm>
#include <set>

namespace slotproof::harness {
namespace {

constexpr int32_t kMostDensePositions = 500;

class Preparation {
 public:
  Preparation(RemapCase drawn, PhiloxChoices& choices, const BackendInfo& info) : c_(std::move(drawn)), choices_(choices), info_(info) { c_.edits.clear(); }

  RemapCase for_ranks(spec::Law law) {
    c_.prefill.reset();
    if (c_.block_size < 1) c_.block_size = 4;
    if (c_.block_size > 64) c_.block_size = 64;
    if (c_.block_stride_rows < c_.block_size) c_.block_stride_rows = c_.block_size;
    choose_ranks();
    if (!can(SLOTPROOF_CAN_BLOCK_STRIDE) || !can(SLOTPROOF_CAN_BLOCK_STRIDE_UNDER_DCP)) c_.block_stride_rows = c_.block_size;
    if (law == spec::Law::kPartition || law == spec::Law::kAlignment || law == spec::Law::kWriterAndReader) make_table_valid();
    const int64_t num_positions = num_table_positions(c_);
    if (law == spec::Law::kPartition || law == spec::Law::kAlignment) keep_below(num_positions);
    if (law == spec::Law::kDense) keep_below(kMostDensePositions);
    if (law == spec::Law::kWriterAndReader) keep_below(num_positions * c_.dcp.size + c_.block_size);
    return std::move(c_);
  }

  RemapCase as_it_is() { return std::move(c_); }

  RemapCase for_one_rank() {
    c_.dcp = {1, 0, c_.block_size};
    if (c_.block_size > 1) choose_interleave();
    if (!can(SLOTPROOF_CAN_COMPACT_WITHOUT_DCP)) c_.placement = spec::Placement::kInPlace;
    return with_stride_that_can_be_said();
  }

  // Both placements are asked for, which not every signature can say at every N.
  RemapCase for_both_placements() {
    if (c_.dcp.size == 1 && !can(SLOTPROOF_CAN_COMPACT_WITHOUT_DCP)) c_.dcp = {2, 0, 1};
    if (c_.dcp.size > 1 && !can(SLOTPROOF_CAN_IN_PLACE_UNDER_DCP)) c_.dcp = {};
    return with_stride_that_can_be_said();
  }

 private:
  bool can(uint64_t capability) const { return (info_.capabilities & capability) == capability; }

  RemapCase with_stride_that_can_be_said() {
    if (!can(c_.dcp.size > 1 ? SLOTPROOF_CAN_BLOCK_STRIDE_UNDER_DCP : SLOTPROOF_CAN_BLOCK_STRIDE)) c_.block_stride_rows = c_.block_size;
    return std::move(c_);
  }

  void choose_interleave() {
    std::vector<int32_t> divisors;
    for (int32_t divisor = 1; divisor <= std::min(c_.block_size, 64); ++divisor) {
      if (c_.block_size % divisor == 0) divisors.push_back(divisor);
    }
    c_.dcp.interleave = divisors[choices_.below(uint32_t(divisors.size()))];
  }

  void choose_ranks() {
    c_.dcp.size = pick<int32_t>(choices_, 2, 3, 1, 4, 5, 6, 7, 8, 9, 11, 13, 17, 19, 23, 29, 31);
    c_.dcp.rank = 0;  // all of them are run
    choose_interleave();
  }

  // Every entry is a block of its own in its row, and all of its slots are representable.
  void make_table_valid() {
    OwnedMatrix& table = c_.block_table;
    if (num_valid_blocks(c_) < table.columns) {
      c_.num_blocks.reset();
      c_.block_stride_rows = c_.block_size;
    }
    const int64_t limit = num_valid_blocks(c_);
    for (int32_t row = 0; row < table.rows; ++row) {
      std::set<int32_t> used;
      for (int32_t column = 0; column < table.columns; ++column) {
        int64_t block = (int64_t{table.at(row, column)} % limit + limit) % limit;
        while (!used.insert(int32_t(block)).second) block = (block + 1) % limit;
        table.at(row, column) = int32_t(block);
      }
    }
  }

  void keep_below(int64_t num_positions) {
    for (int32_t& tok : c_.token_indices.storage) {
      if (tok >= num_positions) tok = num_positions == 0 ? spec::kNone : int32_t(tok % num_positions);
    }
  }

  RemapCase c_;
  PhiloxChoices& choices_;
  const BackendInfo& info_;
};

}  // namespace

RemapCase prepared_for(spec::Law law, RemapCase drawn, PhiloxChoices& choices, const BackendInfo& info) {
  Preparation preparation(std::move(drawn), choices, info);
  switch (law) {
    case spec::Law::kPartition:
    case spec::Law::kDense:
    case spec::Law::kAlignment:
    case spec::Law::kWriterAndReader:
    case spec::Law::kThereAndBack: return preparation.for_ranks(law);
    case spec::Law::kOneRank: return preparation.for_one_rank();
    case spec::Law::kCount:
    case spec::Law::kCompaction: return preparation.for_both_placements();
    default: return preparation.as_it_is();
  }
}

}  // namespace slotproof::harness
