#include "property_tests/harness/decoder_shape.h"

#include "property_tests/harness/decoder_chooser.h"

#include <slotproof/plugin.h>

#include <algorithm>
#include <limits>
#include <numeric>

namespace slotproof::harness {
namespace {

int32_t largest_divisor_below(int32_t x) {
  for (int32_t factor = 2; int64_t{factor} * factor <= x; ++factor) {
    if (x % factor == 0) return x / factor;
  }
  return 1;
}

class ShapeDecoder : private Chooser {
 public:
  using Chooser::Chooser;

  RemapShape small() {
    choose_mode();
    choose_cache(pick<int32_t>({4, 1, 2, 3, 8, 16, 64, 6, 12, 48}));
    choose_extents();
    const int64_t most_base = last_base_of(shape_);
    choose_table(clamp32(std::min<int64_t>(most_base, 12)), /*most_hidden=*/3);
    if (may_prefill()) choose_prefill(3);
    choose_layout();
    if (can(SLOTPROOF_CAN_ANY_WIDTH) && is_guarded() && one_in(160)) become_nearly_full();
    if (shape_.topk > 0 && shape_.topk % 512 == 0 && below(4) != 0) become_tuned();
    return shape_;
  }

  RemapShape bulk(const BulkScale& scale) {
    choose_mode();
    choose_cache(pick<int32_t>({64, 64, 64, 128, 16, 1, 48, 12, 256, 3}));
    shape_.num_requests = 1 + up_to(pick<int32_t>({255, 3, 31, 0}));
    // Contexts of up to 128 thousand positions at the block size in use, or a few blocks, whose edges are met all the time.
    shape_.table_columns = 1 + up_to(pick<int32_t>({2047, 2047, 31, 3}));
    shape_.topk = scale.topk > 0 ? scale.topk : bulk_width();
    const int64_t most_base = last_base_of(shape_);
    const auto most_id = pick<int64_t>({shape_.num_requests * int64_t{shape_.table_columns}, 12, int64_t{1} << 20, most_base});
    choose_table(clamp32(std::min(most_base, most_id)), /*most_hidden=*/8);
    if (may_prefill()) choose_prefill(31);
    choose_layout();
    if (one_in(12)) become_nearly_full(scale.topk);
    const int64_t widest = std::max({shape_.indices_storage_columns, shape_.slots_storage_columns, 1});
    const int64_t most_rows = std::clamp<int64_t>(scale.max_indices / widest, 1, scale.max_rows);
    shape_.num_tokens = int32_t(most_rows - std::min<int64_t>(up_to(31), most_rows - 1));  // no multiple of anything
    return shape_;
  }

 private:
  void choose_mode() {
    shape_.is_guarded = is_guarded();
    if (can(SLOTPROOF_CAN_DCP) && one_in(2)) {
      // 1000003 and 2^31 - 1 make N * I leave int32 (R4).
      shape_.dcp_size = pick<int32_t>({2, 2, 3, 4, 8, 5, 7, 1000003, kInt32Max});
      if (!is_guarded()) shape_.dcp_size = std::min(shape_.dcp_size, 8);
    }
    const bool is_dcp = shape_.dcp_size > 1;
    const bool may_stay = !is_dcp || can(SLOTPROOF_CAN_IN_PLACE_UNDER_DCP);
    shape_.is_compacted = may_compact() && (!may_stay || one_in(2));
    shape_.is_any_order = shape_.is_compacted && (!can(SLOTPROOF_CAN_PROMISE_ORDER) || one_in(6));
    shape_.has_counts = can(SLOTPROOF_CAN_COUNT) && !one_in(4);
  }

  bool may_compact() const { return can(SLOTPROOF_CAN_COMPACT) && (shape_.dcp_size > 1 || can(SLOTPROOF_CAN_COMPACT_WITHOUT_DCP)); }

  void choose_cache(int32_t block_size) {
    shape_.block_size = block_size;
    if (is_guarded() && one_in(24)) shape_.block_size = pick<int32_t>({kInt32Max, 1 << 30, 1 << 20, 1280});
    if (shape_.dcp_size > 1) {
      // Interleaves that do not divide the block are refused, so only divisors come from here: the block itself, 1, and
      // what a small factor leaves.
      const int32_t factor = pick<int32_t>({1, 2, 3, 4, 16});
      shape_.dcp_interleave = pick<int32_t>({1, shape_.block_size, std::gcd(shape_.block_size, factor)});
      shape_.dcp_rank = pick<int32_t>({0, shape_.dcp_size - 1, up_to(std::min(shape_.dcp_size - 1, 15))});
    } else if (can(SLOTPROOF_CAN_DCP) && one_in(12)) {  // must not matter
      shape_.dcp_interleave = pick<int32_t>({shape_.block_size, std::gcd(shape_.block_size, 4)});
    }
    const int64_t size = shape_.block_size;
    shape_.block_stride_rows = size;
    const uint64_t needed = shape_.dcp_size > 1 ? SLOTPROOF_CAN_BLOCK_STRIDE_UNDER_DCP : SLOTPROOF_CAN_BLOCK_STRIDE;
    if (!can(needed) || !one_in(2)) return;
    shape_.block_stride_rows = size + pick<int64_t>({1, 2, size, 7 * size, 3});
    if (!is_guarded()) return;
    // Strides at which a small base already leaves int32, and one that leaves int64 times a base (R9).
    if (one_in(6)) {
      shape_.block_stride_rows =
          std::max(size, pick<int64_t>({kInt32Max, int64_t{1} << 31, kInt32Max / 3, kInt32Max / 2 + 1, int64_t{1} << 62, std::numeric_limits<int64_t>::max()}));
    } else if (one_in(5)) {
      // R9 by the offset alone: a base whose first row has a slot, and the last representable row inside or at the end of its block.
      const int64_t offset = pick<int64_t>({size / 2, size - 1, size - 2, size, 0});
      shape_.block_stride_rows = std::max(size, (kInt32Max - offset) / pick<int64_t>({1, 2, 3, 7, 12, 11}));
    }
  }

  void choose_extents() {
    const auto extent = [&](int32_t most) { return one_in(24) ? 0 : 1 + up_to(most - 1); };
    shape_.num_requests = is_guarded() ? extent(4) : 1 + up_to(3);
    shape_.table_columns = is_guarded() ? extent(5) : 1 + up_to(4);
    shape_.num_tokens = is_guarded() ? extent(options_.max_num_tokens) : 1 + up_to(options_.max_num_tokens - 1);
    int32_t topk = can(SLOTPROOF_CAN_ANY_WIDTH) ? extent(9) : 128;
    if (can(SLOTPROOF_CAN_ANY_WIDTH) && one_in(12)) topk = pick<int32_t>({31, 33, 64, 100, 127, 129});
    // Wide rows cost the most and show the least: only what needs more than one tile, and the sizes in use.
    if (can(SLOTPROOF_CAN_ANY_WIDTH) && one_in(options_.one_wide_in)) topk = pick<int32_t>({512, 2048, 2051, 2176, 1025, 1024, 512, 4096});
    if (!can(SLOTPROOF_CAN_ANY_WIDTH) && one_in(24)) topk = pick<int32_t>({256, 512, 2048});
    shape_.topk = std::min(topk, options_.max_topk);
    if (shape_.topk > 256) shape_.num_tokens = std::min(shape_.num_tokens, 2);
  }

  int32_t bulk_width() {
    switch (below(16)) {
      case 8: return pick<int32_t>({512, 128, 4096, 8192});
      case 9: return 1024;
      case 10: return 2051;
      case 11: return 2176;
      case 12: return 1 + up_to(4199);
      case 13: return 1 + up_to(63);
      default: return 2048;
    }
  }

  // Physical blocks from a small set, so that rows share blocks, with holes and ids at the bounds between them.
  void choose_table(int32_t most_id, int32_t most_hidden) {
    shape_.most_id = most_id;
    if (can(SLOTPROOF_CAN_NUM_BLOCKS) && one_in(3)) {
      shape_.num_blocks = is_guarded() ? pick<int64_t>({most_id, int64_t{most_id} + 1, 3, 1, 0, int64_t{1} << 40}) : int64_t{most_id} + 1;
    }
    const int32_t hidden = can(SLOTPROOF_CAN_STRIDED_INPUTS) && one_in(3) ? 1 + up_to(most_hidden - 1) : 0;
    shape_.table_storage_columns = shape_.table_columns + hidden;
    // Wide rows look up a copy of the table's row where that begins on a 16-byte boundary, which few do by chance.
    if (shape_.topk >= 1024 && can(SLOTPROOF_CAN_STRIDED_INPUTS) && !one_in(3)) shape_.table_storage_columns = (shape_.table_storage_columns + 3) / 4 * 4;
    shape_.has_odd_entries = is_guarded() && !one_in(3);
  }

  bool may_prefill() { return shape_.dcp_size == 1 && can(SLOTPROOF_CAN_PREFILL) && one_in(3); }

  void choose_prefill(int32_t most_starts) {
    shape_.has_prefill = true;
    shape_.num_starts = is_guarded() && one_in(12) ? 0 : 1 + up_to(most_starts - 1);
    if (is_guarded() && one_in(2)) shape_.num_workspace_rows = pick<int64_t>({100, 0, 7, int64_t{kInt32Max} + 1, int64_t{1} << 40});
  }

  void choose_layout() {
    const int32_t topk = shape_.topk;
    const int32_t hidden = can(SLOTPROOF_CAN_STRIDED_INPUTS) && one_in(3) ? pick<int32_t>({1, 3, 4, 5}) : 0;
    shape_.indices_storage_columns = topk + hidden;
    shape_.slots_storage_columns = topk;
    if (can(SLOTPROOF_CAN_STRIDED_OUTPUT) && one_in(4)) shape_.slots_storage_columns += pick<int32_t>({1, 2, 3, 4, 5});
    if (can(SLOTPROOF_CAN_EXPLICIT_TILE) && topk > 0 && one_in(8)) {
      // The largest tile of several passes is often odd and holds vectors, so that a pass begins anywhere in one.
      const int32_t tile = std::gcd(topk, pick<int32_t>({1, 2, 3, 4, 64, 128}));
      shape_.tile = pick<int32_t>({topk, tile, largest_divisor_below(topk)});
    }
    if (!one_in(3)) return;
    for (uint8_t& words : shape_.misalignment) words = uint8_t(below(4));
  }

  // A compacted row that all but fills the register tile of a team of one or two warps, written off a 16-byte boundary: what
  // is staged then lies up to three words behind its own place.
  void become_nearly_full(int32_t topk = 0) {
    if (topk == 0) {
      topk = pick<int32_t>({512, 1024});
      topk -= up_to(3);
    }
    shape_.topk = std::min(topk, options_.max_topk);
    shape_.num_tokens = std::clamp(shape_.num_tokens, 1, 2);
    shape_.indices_storage_columns = shape_.topk;
    shape_.slots_storage_columns = shape_.topk;
    shape_.tile.reset();
    shape_.misalignment[size_t(Tensor::kSlots)] = uint8_t(1 + up_to(2));
    shape_.is_compacted = may_compact();
    shape_.is_any_order &= shape_.is_compacted;
    shape_.num_requests = std::max(shape_.num_requests, 1);
    shape_.table_columns = std::max(shape_.table_columns, 1);
    shape_.table_storage_columns = std::max(shape_.table_storage_columns, shape_.table_columns);
    shape_.num_blocks.reset();
    shape_.has_odd_entries = false;
    shape_.is_nearly_full = true;
  }

  // Rows as the tuned kernels take them: decode rows on 16-byte boundaries without an explicit tile, and, where nothing is counted,
  // few enough to be dealt out over several teams.
  void become_tuned() {
    shape_.has_prefill = false;
    shape_.tile.reset();
    const auto up_to_a_vector = [](int32_t columns) { return (columns + 3) / 4 * 4; };
    shape_.indices_storage_columns = up_to_a_vector(shape_.indices_storage_columns);
    shape_.slots_storage_columns = up_to_a_vector(shape_.slots_storage_columns);
    for (const Tensor tensor : {Tensor::kBlockTable, Tensor::kTokenIndices, Tensor::kSlots}) shape_.misalignment[size_t(tensor)] = 0;
    if (!shape_.is_compacted && shape_.dcp_size == 1 && below(2) == 0) shape_.has_counts = false;
  }

  RemapShape shape_;
};

}  // namespace

template <class Stream>
RemapShape choose_shape(Stream& choices, const DecoderOptions& options) {
  return ShapeDecoder(choices, options).small();
}
template RemapShape choose_shape(PhiloxChoices&, const DecoderOptions&);
template RemapShape choose_shape(ByteChoices&, const DecoderOptions&);

RemapShape choose_bulk_shape(PhiloxChoices& choices, const BulkScale& scale) {
  const DecoderOptions options{.max_topk = kInt32Max};
  return ShapeDecoder(choices, options).bulk(scale);
}

}  // namespace slotproof::harness
