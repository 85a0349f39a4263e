#include "property_tests/harness/decoder.h"

#include "property_tests/harness/decoder_chooser.h"
#include "property_tests/harness/decoder_shape.h"

#include <slotproof/plugin.h>

#include <algorithm>
#include <limits>

namespace slotproof::harness {
namespace {

template <class Stream>
class RemapDecoder : private Chooser {
 public:
  RemapDecoder(Stream& choices, const DecoderOptions& options) : Chooser(choices, options), choices_(choices) {}

  RemapCase decode() {
    shape_ = choose_shape(choices_, options_);
    case_ = case_of(shape_);
    for (int32_t& entry : case_.block_table.storage) entry = table_entry_of(shape_, choices_);
    if (case_.prefill) {
      for (int32_t& start : case_.prefill->workspace_starts) start = workspace_start_of(shape_, choices_);
    }
    for (int32_t t = 0; t < case_.num_tokens(); ++t) fill_row(t);
    choose_schedule();
    if (is_guarded() && one_in(12)) {
      break_an_argument();
      if (choices_.below(4) == 3) break_an_argument();  // The rule that comes first has the word.
    } else if (can(SLOTPROOF_CAN_STRIDED_OUTPUT | SLOTPROOF_CAN_STRIDED_INPUTS) && one_in(40)) {
      interleave_output();
    }
    return std::move(case_);
  }

 private:
  void fill_row(int32_t t) {
    case_.req_id[size_t(t)] = request_of(shape_, choices_);
    int64_t workspace_edge = 0;
    if (case_.prefill) {
      const int32_t prefill_id = prefill_id_of(shape_, choices_);
      case_.prefill->request_ids[size_t(t)] = prefill_id;
      if (prefill_id >= 0 && prefill_id < shape_.num_starts) workspace_edge = workspace_edge_of(shape_, case_.prefill->workspace_starts[size_t(prefill_id)]);
    }
    const RowStyle row = row_style_of(shape_, workspace_edge, choices_);
    for (int32_t k = 0; k < shape_.indices_storage_columns; ++k) case_.token_indices.at(t, k) = position_of(shape_, row, k, choices_);
  }

  void choose_schedule() {
    // Two warps show all that happens between warps; wider teams are only slower to execute here.
    // Of wide rows the wide teams run bodies of their own.
    case_.schedule.team_width = case_.topk() >= 1024 ? pick<int32_t>({128, 256, 128, 256, 64, 32}) : pick<int32_t>({64, 32, 64, 32, 64, 32, 128, 256});
    if (case_.schedule.team_width > options_.max_team_width) case_.schedule.team_width = 32;
    if (case_.topk() > 0 && case_.topk() % 512 == 0 && choices_.below(4) != 0) {  // The planner has kernels for such rows.
      case_.schedule.team_width = 0;
      case_.schedule.planned_rows = pick<int32_t>({0, 32, 128, 512, 2048, 8192});
    }
    case_.schedule.thread_order_seed = choices_.below(4) == 0 ? 0 : choices_.bits64();
    case_.schedule.cta_order_seed = choices_.below(4) == 0 ? 0 : choices_.bits64();
  }

  void break_an_argument();

  static bool is_matrix(Tensor tensor) { return tensor == Tensor::kBlockTable || tensor == Tensor::kTokenIndices || tensor == Tensor::kSlots; }
  Tensor present_tensor() {
    const Tensor tensor = Tensor(choices_.below(kNumTensors));
    const bool is_of_prefill = tensor == Tensor::kPrefillRequestId || tensor == Tensor::kWorkspaceStarts;
    return (is_of_prefill && !case_.prefill) || (tensor == Tensor::kValidCounts && !case_.counts) ? Tensor::kSlots : tensor;
  }
  // Gives a case without prefill rows a pair of tensors that have none, where the signature can say so.
  bool has_prefill() {
    if (!case_.prefill && can(SLOTPROOF_CAN_PREFILL)) case_.prefill = OwnedPrefill{std::vector<int32_t>(size_t(case_.num_tokens()), -1), std::vector<int32_t>(1), {}};
    return case_.prefill.has_value();
  }
  static void keep_one_row(OwnedMatrix& matrix) {
    matrix.rows = std::min(matrix.rows, 1);
    keep_first(matrix.storage, matrix.storage_columns);
  }
  static void keep_first(std::vector<int32_t>& values, std::ptrdiff_t most) { values.erase(values.begin() + std::min(most, std::ssize(values)), values.end()); }

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
  RemapShape shape_;
  RemapCase case_;
};

// Breaks one of A1-A15, or comes close: some of these change nothing that matters (a null pointer of an empty tensor, a
// stride of the only row), and the call must then be accepted.
template <class Stream>
void RemapDecoder<Stream>::break_an_argument() {
  using Kind = ArgumentEdit::Kind;
  const Tensor tensor = present_tensor();
  const auto edit = [&](Kind kind, Tensor which, int64_t value = 0, Tensor other = Tensor::kReqId) { case_.edits.push_back({kind, which, value, other}); };
  const int64_t largest_stride = int64_t{1} << 60;
  switch (choices_.below(17) + 1) {
    case 1: {
      const auto extent = pick<int64_t>({-1, kInt32Min});
      edit(is_matrix(tensor) ? pick<Kind>({Kind::kRows, Kind::kColumns}) : Kind::kRows, tensor, extent);
      break;
    }
    case 2: {
      const int32_t num_bytes = 1 + up_to(2);
      edit(pick<Kind>({Kind::kNull, Kind::kByteOffset}), tensor, num_bytes);
      break;
    }
    case 3: {
      const int64_t rows = case_.num_tokens() + pick<int64_t>({1, -1});
      edit(Kind::kRows, pick<Tensor>({Tensor::kReqId, Tensor::kPrefillRequestId, Tensor::kSlots, Tensor::kValidCounts}), rows);
      break;
    }
    case 4:
      if (one_in(2)) {
        edit(Kind::kRowStride, Tensor::kSlots, pick<int64_t>({case_.topk() - 1, 0, largest_stride + 1}));
      } else {
        const auto stride = pick<int64_t>({-1, largest_stride + 1, 0});
        edit(Kind::kRowStride, pick<Tensor>({Tensor::kTokenIndices, Tensor::kBlockTable}), stride);
      }
      break;
    case 5: case_.block_size = pick<int32_t>({0, -1, kInt32Min}); break;
    case 6: case_.block_stride_rows = pick<int64_t>({int64_t{case_.block_size} - 1, 0, -1}); break;
    case 7:
      if (case_.prefill && one_in(2)) case_.prefill->num_workspace_rows = -1;
      else case_.num_blocks = pick<int64_t>({-1, std::numeric_limits<int64_t>::min()});
      break;
    case 8: case_.dcp.size = pick<int32_t>({0, -1}); break;
    case 9: case_.dcp.rank = pick<int32_t>({case_.dcp.size, -1, kInt32Max}); break;
    case 10: case_.dcp.interleave = pick<int32_t>({0, -1}); break;
    case 11: case_.dcp.interleave = pick<int32_t>({case_.block_size < kInt32Max ? case_.block_size + 1 : 2, 5, 3}); break;
    case 12:
      if (has_prefill()) edit(Kind::kDrop, pick<Tensor>({Tensor::kWorkspaceStarts, Tensor::kPrefillRequestId}));
      break;
    case 13:
      if (can(SLOTPROOF_CAN_DCP) && has_prefill()) case_.dcp.size = std::max(case_.dcp.size, 2);
      break;
    case 14: case_.tile = pick<int32_t>({0, -1, case_.topk() + 1, 7}); break;
    case 15: {
      const auto of = pick<Tensor>({Tensor::kTokenIndices, Tensor::kReqId, Tensor::kBlockTable, Tensor::kSlots, Tensor::kValidCounts});
      const int32_t begin = up_to(2);
      edit(Kind::kAlias, pick<Tensor>({Tensor::kSlots, Tensor::kValidCounts}), begin, of);
      break;
    }
    case 16: edit(Kind::kRowStride, pick<Tensor>({Tensor::kTokenIndices, Tensor::kBlockTable}), 0); break;  // rows that are all one
    case 17:  // strides that lead nowhere
      if (one_in(4)) {
        keep_one_row(case_.block_table);
        edit(Kind::kRowStride, Tensor::kBlockTable, largest_stride);
      } else {
        keep_one_row(case_.token_indices);
        keep_first(case_.req_id, 1);
        if (case_.prefill) keep_first(case_.prefill->request_ids, 1);
        const auto stride = pick<int64_t>({case_.topk() - 1, largest_stride, 0});
        edit(Kind::kRowStride, pick<Tensor>({Tensor::kSlots, Tensor::kTokenIndices}), stride);
      }
      break;
  }
}

}  // namespace

RemapCase case_of(const RemapShape& shape) {
  RemapCase made;
  made.req_id.resize(size_t(shape.num_tokens));
  made.block_table = OwnedMatrix::filled(shape.num_requests, shape.table_columns, 0, shape.table_storage_columns);
  made.token_indices = OwnedMatrix::filled(shape.num_tokens, shape.topk, 0, shape.indices_storage_columns);
  made.block_size = shape.block_size;
  made.block_stride_rows = shape.block_stride_rows;
  made.num_blocks = shape.num_blocks;
  made.dcp = {shape.dcp_size, shape.dcp_rank, shape.dcp_interleave};
  if (shape.has_prefill) {
    made.prefill = OwnedPrefill{std::vector<int32_t>(size_t(shape.num_tokens)), std::vector<int32_t>(size_t(shape.num_starts)), shape.num_workspace_rows};
  }
  made.placement = shape.is_compacted ? spec::Placement::kCompacted : spec::Placement::kInPlace;
  made.order = shape.is_any_order ? spec::Order::kUnspecified : spec::Order::kStable;
  made.tile = shape.tile;
  made.counts = shape.has_counts;
  if (shape.slots_storage_columns > shape.topk) made.layout.slots_storage_columns = shape.slots_storage_columns;
  std::copy(std::begin(shape.misalignment), std::end(shape.misalignment), made.layout.misalignment.begin());
  return made;
}

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
