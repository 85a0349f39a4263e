#include "property_tests/harness/decoder.h"

#include <slotproof/plugin.h>

#include <algorithm>
#include <limits>
#include <numeric>

namespace slotproof::harness {
namespace {

constexpr int32_t kIntMax = std::numeric_limits<int32_t>::max();
constexpr int32_t kIntMin = std::numeric_limits<int32_t>::min();

int32_t clamp32(int64_t value) { return int32_t(std::clamp<int64_t>(value, kIntMin, kIntMax)); }

template <class Stream>
class RemapDecoder {
 public:
  RemapDecoder(Stream& choices, const DecoderOptions& options) : choices_(choices), options_(options) {}

  RemapCase decode() {
    choose_mode();
    choose_cache();
    choose_extents();
    fill_table();
    fill_rows();
    choose_layout();
    choose_schedule();
    if (is_guarded() && one_in(12)) break_an_argument();
    else if (can(SLOTPROOF_CAN_STRIDED_OUTPUT | SLOTPROOF_CAN_STRIDED_INPUTS) && one_in(40)) interleave_output();
    return std::move(case_);
  }

 private:
  bool can(uint64_t capability) const { return (options_.capabilities & capability) == capability; }
  bool is_guarded() const { return options_.level != Level::kCore; }
  bool one_in(uint32_t n) { return choices_.below(n) == n - 1; }  // choice 0 says no
  template <class T>
  T pick(std::initializer_list<T> values) {
    return values.begin()[choices_.below(uint32_t(values.size()))];
  }
  int32_t up_to(int32_t most) { return int32_t(choices_.below(uint32_t(std::max(most, 0)) + 1)); }
  int32_t any_int32() { return int32_t(uint32_t(choices_.bits64())); }

  void choose_mode() {
    if (can(SLOTPROOF_CAN_DCP) && one_in(2)) {
      // 1000003 and 2^31 - 1 make N * I leave int32 (R4).
      case_.dcp.size = pick<int32_t>({2, 2, 3, 4, 8, 5, 7, 1000003, kIntMax});
      if (!is_guarded()) case_.dcp.size = std::min(case_.dcp.size, 8);
    }
    const bool is_dcp = case_.dcp.size > 1;
    const bool may_compact = can(SLOTPROOF_CAN_COMPACT) && (is_dcp || can(SLOTPROOF_CAN_COMPACT_WITHOUT_DCP));
    const bool may_stay = !is_dcp || can(SLOTPROOF_CAN_IN_PLACE_UNDER_DCP);
    if (may_compact && (!may_stay || one_in(2))) case_.placement = spec::Placement::kCompacted;
    if (case_.placement == spec::Placement::kCompacted && (!can(SLOTPROOF_CAN_PROMISE_ORDER) || one_in(6))) {
      case_.order = spec::Order::kUnspecified;
    }
    case_.counts = can(SLOTPROOF_CAN_COUNT) && !one_in(4);
  }

  void choose_cache() {
    case_.block_size = pick<int32_t>({4, 1, 2, 3, 8, 16, 64, 6, 12, 48});
    if (is_guarded() && one_in(24)) case_.block_size = pick<int32_t>({kIntMax, 1 << 30, 1 << 20, 1280});
    if (case_.dcp.size > 1) {
      // Interleaves that do not divide the block are refused, so only divisors come from here: the block itself, 1, and
      // what a small factor leaves.
      const int32_t factor = pick<int32_t>({1, 2, 3, 4, 16});
      case_.dcp.interleave = pick<int32_t>({1, case_.block_size, std::gcd(case_.block_size, factor)});
      case_.dcp.rank = pick<int32_t>({0, case_.dcp.size - 1, up_to(std::min(case_.dcp.size - 1, 15))});
    }
    const int64_t block_size = case_.block_size;
    case_.block_stride_rows = block_size;
    const uint64_t needed = case_.dcp.size > 1 ? SLOTPROOF_CAN_BLOCK_STRIDE_UNDER_DCP : SLOTPROOF_CAN_BLOCK_STRIDE;
    if (can(needed) && one_in(2)) {
      case_.block_stride_rows = block_size + pick<int64_t>({1, 2, block_size, 7 * block_size, 3});
      // Strides at which a small base already leaves int32, and one that leaves int64 times a base (R9).
      if (is_guarded() && one_in(6)) {
        case_.block_stride_rows = std::max(block_size, pick<int64_t>({kIntMax, int64_t{1} << 31, kIntMax / 3, kIntMax / 2 + 1, int64_t{1} << 62,
                                                                      std::numeric_limits<int64_t>::max()}));
      }
    }
  }

  void choose_extents() {
    const auto extent = [&](int32_t most) { return one_in(24) ? 0 : 1 + up_to(most - 1); };
    const int32_t num_requests = is_guarded() ? extent(4) : 1 + up_to(3);
    num_requests_ = num_requests;
    num_columns_ = is_guarded() ? extent(5) : 1 + up_to(4);
    case_.token_indices.rows = is_guarded() ? extent(options_.max_num_tokens) : 1 + up_to(options_.max_num_tokens - 1);
    int32_t topk = can(SLOTPROOF_CAN_ANY_WIDTH) ? extent(9) : 128;
    if (can(SLOTPROOF_CAN_ANY_WIDTH) && one_in(12)) topk = pick<int32_t>({31, 33, 64, 100, 127, 129});
    // Wide rows cost the most and show the least: only what needs more than one tile, and the sizes in use.
    if (can(SLOTPROOF_CAN_ANY_WIDTH) && one_in(96)) topk = pick<int32_t>({512, 2048, 2051, 2176, 1025});
    if (!can(SLOTPROOF_CAN_ANY_WIDTH) && one_in(24)) topk = pick<int32_t>({256, 512, 2048});
    case_.token_indices.columns = std::min(topk, options_.max_topk);
    if (case_.topk() > 256) case_.token_indices.rows = std::min(case_.num_tokens(), 2);
    if (can(SLOTPROOF_CAN_EXPLICIT_TILE) && case_.topk() > 0 && one_in(8)) {
      const int32_t tile = std::gcd(case_.topk(), pick<int32_t>({1, 2, 3, 4, 64, 128}));
      case_.tile = pick<int32_t>({case_.topk(), tile});
    }
  }

  // Physical blocks from a small set, so that rows share blocks, with holes and ids at the bounds between them.
  void fill_table() {
    const int64_t most_base = kIntMax / case_.block_stride_rows;  // the last base whose first row has a slot
    const int32_t num_ids = clamp32(std::min<int64_t>(most_base, 12));
    if (can(SLOTPROOF_CAN_NUM_BLOCKS) && one_in(3)) {
      case_.num_blocks = is_guarded() ? pick<int64_t>({num_ids, num_ids + 1, 3, 1, 0, int64_t{1} << 40}) : num_ids + 1;
    }
    const int32_t hidden = can(SLOTPROOF_CAN_STRIDED_INPUTS) && one_in(3) ? 1 + up_to(2) : 0;
    case_.block_table = OwnedMatrix::filled(num_requests_, num_columns_, 0, num_columns_ + hidden);
    const bool has_odd_entries = is_guarded() && !one_in(3);
    for (int32_t& entry : case_.block_table.storage) {
      entry = up_to(num_ids);
      // A slot above 2^31 - 1 is outside the core contract: an offset behind the last base leaves int32.
      if (!is_guarded() && entry * case_.block_stride_rows > kIntMax - case_.block_size) entry = 0;
      if (!has_odd_entries || !one_in(6)) continue;
      entry = pick<int32_t>({-1, clamp32(case_.num_blocks.value_or(num_ids)), clamp32(case_.num_blocks.value_or(num_ids) - 1), clamp32(most_base),
                             clamp32(most_base + 1), clamp32(most_base - 1), kIntMax, kIntMin, 1 << 24, any_int32()});
    }
  }

  void fill_rows() {
    const bool is_prefill = case_.dcp.size == 1 && can(SLOTPROOF_CAN_PREFILL) && one_in(4);
    if (is_prefill) choose_workspace();
    const int32_t hidden = can(SLOTPROOF_CAN_STRIDED_INPUTS) && one_in(3) ? pick<int32_t>({1, 3, 4, 5}) : 0;
    case_.token_indices = OwnedMatrix::filled(case_.num_tokens(), case_.topk(), 0, case_.topk() + hidden);
    for (int32_t t = 0; t < case_.num_tokens(); ++t) {
      int32_t request = up_to(num_requests_ - 1);
      if (is_guarded() && one_in(12)) request = pick<int32_t>({-1, num_requests_, num_requests_ - 1, kIntMax, kIntMin, any_int32()});
      case_.req_id.push_back(request);
      if (case_.prefill) {
        const int32_t num_starts = int32_t(case_.prefill->workspace_starts.size());
        int32_t prefill_id = one_in(2) && num_starts > 0 ? up_to(num_starts - 1) : -1;
        if (is_guarded() && one_in(8)) prefill_id = pick<int32_t>({num_starts, num_starts - 1, -2, kIntMin, kIntMax, num_starts + 1});
        case_.prefill->request_ids.push_back(prefill_id);
      }
      fill_row(t);
    }
  }

  void choose_workspace() {
    OwnedPrefill prefill;
    const int32_t num_starts = is_guarded() && one_in(12) ? 0 : 1 + up_to(2);
    for (int32_t p = 0; p < num_starts; ++p) {
      int32_t start = up_to(100);
      if (is_guarded() && one_in(6)) start = pick<int32_t>({-1, kIntMin, kIntMax, kIntMax - 5});
      prefill.workspace_starts.push_back(start);
    }
    if (is_guarded() && one_in(2)) prefill.num_workspace_rows = pick<int64_t>({100, 0, 7, int64_t{kIntMax} + 1, int64_t{1} << 40});
    case_.prefill = prefill;
  }

  // The position at a local place of this rank: what the rules at the table's edges are reached through.
  int64_t position_of(int64_t local) const {
    const int64_t interleave = case_.dcp.interleave;
    const __int128_t position = __int128_t(local / interleave) * case_.dcp.size * interleave + int64_t{case_.dcp.rank} * interleave + local % interleave;
    return position > kIntMax ? kIntMax : int64_t(position);
  }

  void fill_row(int32_t t) {
    enum Style { kOwn, kAny, kRun, kHoles, kFew, kNone, kEdges, kBackwards };
    const Style style = pick<Style>({kOwn, kAny, kRun, kHoles, kFew, kNone, kEdges, kBackwards, kOwn, kHoles});
    const int64_t num_local = int64_t{num_columns_} * case_.block_size;  // that this rank's table can hold
    const int32_t own_most = clamp32(std::max<int64_t>(num_local - 1, 0));
    const int32_t any_most = clamp32(num_local > kIntMax / case_.dcp.size ? kIntMax : num_local * case_.dcp.size);
    const int64_t first = position_of(up_to(std::min(own_most, 8)));
    for (int32_t k = 0; k < case_.token_indices.storage_columns; ++k) {
      int64_t tok = 0;
      switch (style) {
        case kOwn: tok = position_of(up_to(own_most)); break;
        case kAny: tok = up_to(any_most); break;
        case kRun: tok = first + k; break;
        case kHoles: tok = one_in(3) ? -1 : one_in(4) ? up_to(any_most) : position_of(up_to(own_most)); break;
        case kFew: tok = one_in(16) ? up_to(any_most) : -1; break;
        case kNone: tok = -1; break;
        case kEdges: tok = edge_position(num_local); break;
        case kBackwards: tok = std::max<int64_t>(first + case_.topk() - k, 0); break;
      }
      if (style != kNone && one_in(16)) tok = edge_position(num_local);
      if (one_in(16)) tok = is_guarded() ? pick<int32_t>({-1, -2, kIntMin, -case_.block_size, any_int32()}) : -1;
      case_.token_indices.at(t, k) = clamp32(tok);
    }
  }

  // One of the positions at which some rule changes its mind.
  int64_t edge_position(int64_t num_local) {
    const int64_t block = case_.block_size;
    const int64_t local = pick<int64_t>({num_local - 1, num_local, num_local - block, block - 1, block, 0, num_local + block});
    const int64_t tok = position_of(std::max<int64_t>(local, 0));
    switch (choices_.below(8)) {
      case 0: return tok + 1;
      case 1: return tok - 1;
      case 2: return is_guarded() ? kIntMax : tok;
      case 3: return is_guarded() && case_.prefill && case_.prefill->num_workspace_rows && !case_.prefill->workspace_starts.empty()
                         ? *case_.prefill->num_workspace_rows - case_.prefill->workspace_starts[0] - up_to(1) : tok;
      default: return tok;
    }
  }

  void choose_layout() {
    if (can(SLOTPROOF_CAN_STRIDED_OUTPUT) && one_in(4)) case_.layout.slots_storage_columns = case_.topk() + pick<int32_t>({1, 2, 3, 4, 5});
    if (!one_in(3)) return;
    for (uint8_t& words : case_.layout.misalignment) words = uint8_t(choices_.below(4));
  }

  void choose_schedule() {
    // Two warps show all that happens between warps; wider teams are only slower to execute here.
    case_.schedule.team_width = pick<int32_t>({64, 32, 64, 32, 64, 32, 128, 256});
    case_.schedule.thread_order_seed = choices_.below(4) == 0 ? 0 : choices_.bits64();
    case_.schedule.cta_order_seed = choices_.below(4) == 0 ? 0 : choices_.bits64();
  }

  void break_an_argument();

  // The output lies between the rows of its own input: no element is shared (A15), though the intervals overlap. One word
  // nearer, and one is.
  void interleave_output() {
    const int32_t topk = case_.topk();
    const OwnedMatrix positions = case_.token_indices;
    case_.token_indices = OwnedMatrix::filled(positions.rows, topk, 0, 2 * topk + 1);
    for (int32_t t = 0; t < positions.rows; ++t) {
      for (int32_t k = 0; k < topk; ++k) case_.token_indices.at(t, k) = positions.at(t, k);
    }
    const int32_t begin = is_guarded() && one_in(3) ? topk - 1 : topk + up_to(1);
    if (begin < 0) return;
    case_.edits.push_back({ArgumentEdit::Kind::kAlias, Tensor::kSlots, begin, Tensor::kTokenIndices});
    case_.edits.push_back({ArgumentEdit::Kind::kRowStride, Tensor::kSlots, 2 * topk + 1, Tensor::kReqId});
  }

  Stream& choices_;
  const DecoderOptions& options_;
  RemapCase case_;
  int32_t num_requests_ = 0;
  int32_t num_columns_ = 0;
};

// Breaks one of A1-A15, or comes close: some of these change nothing that matters (a null pointer of an empty tensor, a
// stride of the only row), and the call must then be accepted.
template <class Stream>
void RemapDecoder<Stream>::break_an_argument() {
  using Kind = ArgumentEdit::Kind;
  const Tensor tensor = Tensor(choices_.below(kNumTensors));
  const auto edit = [&](Kind kind, Tensor which, int64_t value = 0, Tensor other = Tensor::kReqId) {
    case_.edits.push_back({kind, which, value, other});
  };
  switch (choices_.below(15) + 1) {
    case 1: edit(pick<Kind>({Kind::kRows, Kind::kColumns}), tensor, pick<int64_t>({-1, kIntMin})); break;
    case 2: edit(pick<Kind>({Kind::kNull, Kind::kByteOffset}), tensor, 1 + up_to(2)); break;
    case 3:
      edit(Kind::kRows, pick<Tensor>({Tensor::kReqId, Tensor::kPrefillRequestId, Tensor::kSlots, Tensor::kValidCounts}),
           case_.num_tokens() + pick<int64_t>({1, -1}));
      break;
    case 4:
      if (one_in(2)) edit(Kind::kRowStride, Tensor::kSlots, pick<int64_t>({case_.topk() - 1, 0, (int64_t{1} << 60) + 1}));
      else edit(Kind::kRowStride, pick<Tensor>({Tensor::kTokenIndices, Tensor::kBlockTable}), pick<int64_t>({-1, (int64_t{1} << 60) + 1, 0}));
      break;
    case 5: case_.block_size = pick<int32_t>({0, -1, kIntMin}); break;
    case 6: case_.block_stride_rows = pick<int64_t>({int64_t{case_.block_size} - 1, 0, -1}); break;
    case 7:
      if (case_.prefill && one_in(2)) case_.prefill->num_workspace_rows = -1;
      else case_.num_blocks = pick<int64_t>({-1, std::numeric_limits<int64_t>::min()});
      break;
    case 8: case_.dcp.size = pick<int32_t>({0, -1}); break;
    case 9: case_.dcp.rank = pick<int32_t>({case_.dcp.size, -1, kIntMax}); break;
    case 10: case_.dcp.interleave = pick<int32_t>({0, -1}); break;
    case 11: case_.dcp.interleave = pick<int32_t>({case_.block_size + 1 > 0 ? case_.block_size + 1 : 2, 5, 3}); break;
    case 12: edit(Kind::kDrop, pick<Tensor>({Tensor::kWorkspaceStarts, Tensor::kPrefillRequestId})); break;
    case 13:
      if (case_.prefill) case_.dcp.size = 2;
      break;
    case 14: case_.tile = pick<int32_t>({0, -1, case_.topk() + 1, 7}); break;
    case 15:
      edit(Kind::kAlias, pick<Tensor>({Tensor::kSlots, Tensor::kValidCounts}), up_to(2),
           pick<Tensor>({Tensor::kTokenIndices, Tensor::kReqId, Tensor::kBlockTable, Tensor::kSlots, Tensor::kValidCounts}));
      break;
  }
}

}  // namespace

template <class Stream>
RemapCase decode_remap(Stream& choices, const DecoderOptions& options) {
  return RemapDecoder<Stream>(choices, options).decode();
}
template RemapCase decode_remap(PhiloxChoices&, const DecoderOptions&);
template RemapCase decode_remap(ByteChoices&, const DecoderOptions&);

RemapCase draw_remap(uint64_t seed, uint64_t index, const DecoderOptions& options) {
  PhiloxChoices choices(seed, index);
  return decode_remap(choices, options);
}

}  // namespace slotproof::harness
