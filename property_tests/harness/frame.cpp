#include "property_tests/harness/frame.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace slotproof::harness {
namespace {

// Wider than two vector accesses of 16 bytes, so that an access one vector off stays inside and shows.
constexpr int64_t kGuardWords = 16;
constexpr int64_t kAlignmentWords = 4;  // 16 bytes, the widest access of a kernel
static_assert(__STDCPP_DEFAULT_NEW_ALIGNMENT__ >= kAlignmentWords * sizeof(int32_t), "a copied Frame must keep its alignment");

uint64_t splitmix64(uint64_t& state) {
  uint64_t z = (state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// A slot, position or block id that nothing would refuse. Tiny ones pass even where there are few blocks; larger ones are
// seldom what a correct run would write.
int32_t poison_word(uint64_t& state) {
  const uint64_t bits = splitmix64(state);
  const int width = 3 + 4 * int(bits & 3);  // 3, 7, 11 or 15 bits
  return int32_t(bits >> (64 - width));
}

int64_t slots_stride_of(const RemapCase& remap_case) {
  return std::max(remap_case.layout.slots_storage_columns, remap_case.token_indices.columns);
}

int32_t clamped(int64_t value) {
  using Limits = std::numeric_limits<int32_t>;
  return int32_t(std::clamp<int64_t>(value, Limits::min(), Limits::max()));
}

// Through integers: the edits may name addresses that no pointer arithmetic may reach.
template <class Element>
Element* moved(Element* data, int64_t num_bytes) {
  return reinterpret_cast<Element*>(reinterpret_cast<uintptr_t>(data) + static_cast<uintptr_t>(num_bytes));
}

template <class Argument>
void edit_rows(Argument& argument, int32_t rows) {
  if constexpr (requires { argument.rows; }) {
    argument.rows = rows;
  } else {
    argument.size = rows;
  }
}

// One edit of one tensor; edits that mean nothing for the tensor change nothing.
template <class Argument>
void apply(Argument& argument, const ArgumentEdit& edit, int32_t* other) {
  using Kind = ArgumentEdit::Kind;
  constexpr bool kIsMatrix = requires { argument.row_stride; };
  switch (edit.kind) {
    case Kind::kRows: edit_rows(argument, clamped(edit.value)); return;
    case Kind::kColumns:
      if constexpr (kIsMatrix) argument.columns = clamped(edit.value);
      return;
    case Kind::kRowStride:
      if constexpr (kIsMatrix) argument.row_stride = edit.value;
      return;
    case Kind::kNull: argument.data = nullptr; return;
    case Kind::kByteOffset: argument.data = moved(argument.data, edit.value); return;
    case Kind::kAlias:
      if (other != nullptr) {
        argument.data = moved(other, int64_t(uint64_t(edit.value) * sizeof(int32_t)));
      }
      return;
    case Kind::kDrop: return;
  }
}

template <class Argument>
void apply(std::optional<Argument>& argument, const ArgumentEdit& edit, int32_t* other) {
  if (edit.kind == ArgumentEdit::Kind::kDrop) argument.reset();
  if (argument) apply(*argument, edit, other);
}

// Whether rows of words (or one row, a vector) lie in [begin, begin + num_words). Rows that run backwards do not: A4.
// The stride of one row leads nowhere.
bool is_inside(const int32_t* data, int64_t rows, int64_t columns, int64_t row_stride, const int32_t* begin, int64_t num_words) {
  if (rows <= 0 || columns <= 0) return true;
  const auto address = reinterpret_cast<uintptr_t>(data), first = reinterpret_cast<uintptr_t>(begin);
  if (address < first || (address - first) % sizeof(int32_t) != 0) return false;
  const uintptr_t words_before = (address - first) / sizeof(int32_t);
  if (words_before > uintptr_t(num_words)) return false;
  const int64_t room = num_words - int64_t(words_before) - columns;  // for the rows after the first
  if (room < 0) return false;
  if (rows == 1 || row_stride == 0) return true;
  return row_stride > 0 && rows - 1 <= room / row_stride;
}

}  // namespace

Frame::Frame(const RemapCase& remap_case, uint64_t poison_seed) : case_(remap_case) {
  const auto rows = std::max<int64_t>(remap_case.token_indices.rows, 0);
  const auto place = [&](Tensor tensor, int64_t words) {
    Region& region = regions_[size_t(tensor)];
    region.is_present = true;
    region.begin = num_words_;
    region.tensor_begin = (region.begin + kGuardWords + kAlignmentWords - 1) / kAlignmentWords * kAlignmentWords +
                          remap_case.layout.misalignment[size_t(tensor)] % kAlignmentWords;
    region.tensor_end = region.tensor_begin + words;
    region.end = region.tensor_end + kGuardWords;
    num_words_ = region.end;
  };
  const std::vector<int32_t>* inputs[kNumTensors] = {&remap_case.req_id, &remap_case.block_table.storage,
                                                     &remap_case.token_indices.storage};
  if (remap_case.prefill) {
    inputs[size_t(Tensor::kPrefillRequestId)] = &remap_case.prefill->request_ids;
    inputs[size_t(Tensor::kWorkspaceStarts)] = &remap_case.prefill->workspace_starts;
  }
  for (size_t i = 0; i < kNumTensors; ++i) {
    if (inputs[i] != nullptr) place(Tensor(i), int64_t(inputs[i]->size()));
  }
  place(Tensor::kSlots, rows * std::max<int64_t>(slots_stride_of(remap_case), 0));
  if (remap_case.counts) place(Tensor::kValidCounts, rows);

  before_.resize(size_t(num_words_ + kAlignmentWords - 1));
  uint64_t state = poison_seed;
  std::generate(before_.begin(), before_.end(), [&state] { return poison_word(state); });
  for (size_t i = 0; i < kNumTensors; ++i) {
    if (inputs[i] != nullptr) {
      std::copy(inputs[i]->begin(), inputs[i]->end(), arena_begin(before_) + regions_[i].tensor_begin);
    }
  }
  after_.resize(before_.size());
  std::copy_n(arena_begin(before_), num_words_, arena_begin(after_));

  case_.req_id.clear();
  case_.block_table.storage.clear();
  case_.token_indices.storage.clear();
  if (case_.prefill) {
    case_.prefill->request_ids.clear();
    case_.prefill->workspace_starts.clear();
  }
}

spec::RemapProblem Frame::problem_at(int32_t* arena) const {
  const auto start = [&](Tensor tensor) { return arena + region(tensor).tensor_begin; };
  const auto vector = [&]<class Argument>(Argument, Tensor tensor) {
    const auto size = int32_t(region(tensor).tensor_end - region(tensor).tensor_begin);
    return Argument{size == 0 ? nullptr : start(tensor), size};
  };
  const auto matrix = [&]<class Argument>(Argument, Tensor tensor, int32_t rows, int32_t columns, int64_t stride) {
    return Argument{rows == 0 || columns == 0 ? nullptr : start(tensor), rows, columns, stride};
  };
  const OwnedMatrix &table = case_.block_table, &indices = case_.token_indices;

  spec::RemapProblem problem;
  problem.req_id = vector(spec::InputVector{}, Tensor::kReqId);
  problem.block_table = matrix(spec::InputMatrix{}, Tensor::kBlockTable, table.rows, table.columns, table.storage_columns);
  problem.token_indices =
      matrix(spec::InputMatrix{}, Tensor::kTokenIndices, indices.rows, indices.columns, indices.storage_columns);
  problem.block_size = case_.block_size;
  problem.block_stride_rows = case_.block_stride_rows;
  problem.num_blocks = case_.num_blocks;
  problem.dcp = case_.dcp;
  if (case_.prefill) {
    problem.prefill_request_id = vector(spec::InputVector{}, Tensor::kPrefillRequestId);
    problem.workspace_starts = vector(spec::InputVector{}, Tensor::kWorkspaceStarts);
    problem.num_workspace_rows = case_.prefill->num_workspace_rows;
  }
  problem.placement = case_.placement;
  problem.order = case_.order;
  problem.tile = case_.tile;
  problem.slots = matrix(spec::OutputMatrix{}, Tensor::kSlots, indices.rows, indices.columns, slots_stride_of(case_));
  if (case_.counts) problem.valid_counts = vector(spec::OutputVector{}, Tensor::kValidCounts);

  for (const ArgumentEdit& edit : case_.edits) {
    int32_t* other = size_t(edit.other) < kNumTensors && region(edit.other).is_present ? start(edit.other) : nullptr;
    switch (edit.tensor) {
      case Tensor::kReqId: apply(problem.req_id, edit, other); break;
      case Tensor::kBlockTable: apply(problem.block_table, edit, other); break;
      case Tensor::kTokenIndices: apply(problem.token_indices, edit, other); break;
      case Tensor::kPrefillRequestId: apply(problem.prefill_request_id, edit, other); break;
      case Tensor::kWorkspaceStarts: apply(problem.workspace_starts, edit, other); break;
      case Tensor::kSlots: apply(problem.slots, edit, other); break;
      case Tensor::kValidCounts: apply(problem.valid_counts, edit, other); break;
    }
  }
  return problem;
}

bool Frame::holds_every_element() {
  const spec::RemapProblem p = problem();
  const auto holds = [&](const auto& argument) {
    if constexpr (requires { argument.row_stride; }) {
      return is_inside(argument.data, argument.rows, argument.columns, argument.row_stride, arena(), num_words_);
    } else {
      return is_inside(argument.data, 1, argument.size, 0, arena(), num_words_);
    }
  };
  const auto holds_if_present = [&](const auto& argument) { return !argument || holds(*argument); };
  return holds(p.req_id) && holds(p.block_table) && holds(p.token_indices) && holds_if_present(p.prefill_request_id) &&
         holds_if_present(p.workspace_starts) && holds(p.slots) && holds_if_present(p.valid_counts);
}

std::vector<spec::MemoryRegion> Frame::memory() {
  std::vector<spec::MemoryRegion> found;
  for (size_t i = 0; i < kNumTensors; ++i) {
    const Region& region = regions_[i];
    if (!region.is_present) continue;
    found.push_back({name_of(Tensor(i)), arena_begin(before_) + region.begin, arena() + region.begin, region.end - region.begin});
  }
  return found;
}

int32_t* Frame::arena_begin(std::vector<int32_t>& words) {
  const auto address = reinterpret_cast<uintptr_t>(words.data());
  const uintptr_t past = (address / sizeof(int32_t)) % size_t(kAlignmentWords);
  return words.data() + (size_t(kAlignmentWords) - past) % size_t(kAlignmentWords);
}

}  // namespace slotproof::harness
