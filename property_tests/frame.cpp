// The memory of a call: guards, gaps, alignment, poison, edits.

#include "property_tests/harness/frame.h"

#include "spec/arguments.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

namespace slotproof::harness {
namespace {

using Kind = ArgumentEdit::Kind;

const std::vector<Tensor> kTensors = {
    Tensor::kReqId,           Tensor::kBlockTable, Tensor::kTokenIndices, Tensor::kPrefillRequestId,
    Tensor::kWorkspaceStarts, Tensor::kSlots,      Tensor::kValidCounts};

// All seven tensors; both matrices that can be views are.
RemapCase full_case() {
  RemapCase c;
  c.req_id = {0, 1};
  c.block_table = OwnedMatrix::of({{7, 9, 90}, {4, 2, 91}}, 2);
  c.token_indices = OwnedMatrix::of({{0, 5, -1, 80}, {7, 2, 3, 81}}, 3);
  c.block_size = 4;
  c.block_stride_rows = 4;
  c.prefill = OwnedPrefill{{-1, 0}, {100}, 200};
  c.layout.slots_storage_columns = 5;
  return c;
}

RemapCase edited(std::vector<ArgumentEdit> edits) {
  RemapCase c = full_case();
  c.edits = std::move(edits);
  return c;
}

// The address of a tensor's first element in the problem, whatever its type.
const int32_t* start_of(const spec::RemapProblem& problem, Tensor tensor) {
  switch (tensor) {
    case Tensor::kReqId: return problem.req_id.data;
    case Tensor::kBlockTable: return problem.block_table.data;
    case Tensor::kTokenIndices: return problem.token_indices.data;
    case Tensor::kPrefillRequestId: return problem.prefill_request_id ? problem.prefill_request_id->data : nullptr;
    case Tensor::kWorkspaceStarts: return problem.workspace_starts ? problem.workspace_starts->data : nullptr;
    case Tensor::kSlots: return problem.slots.data;
    case Tensor::kValidCounts: return problem.valid_counts ? problem.valid_counts->data : nullptr;
  }
  return nullptr;
}

TEST(Frame, SurroundsEachTensorByGuards) {
  const Frame frame(full_case(), 1);
  const int64_t words[] = {2, 6, 8, 2, 1, 10, 2};
  int64_t end_of_previous = 0;
  for (const Tensor tensor : kTensors) {
    const Frame::Region& region = frame.region(tensor);
    EXPECT_TRUE(region.is_present) << name_of(tensor);
    EXPECT_GE(region.begin, end_of_previous) << name_of(tensor);
    EXPECT_GE(region.tensor_begin - region.begin, 8) << name_of(tensor);
    EXPECT_EQ(region.tensor_end - region.tensor_begin, words[size_t(tensor)]) << name_of(tensor);
    EXPECT_GE(region.end - region.tensor_end, 8) << name_of(tensor);
    end_of_previous = region.end;
  }
  EXPECT_EQ(frame.num_words(), end_of_previous);
}

TEST(Frame, StartsEachTensorAtItsMisalignment) {
  for (int words = 0; words < 4; ++words) {
    RemapCase c = full_case();
    for (const Tensor tensor : kTensors) c.layout.misalignment[size_t(tensor)] = uint8_t((words + int(tensor)) % 4);
    Frame original(c, 1);
    for (Frame frame : {original, std::move(original)}) {  // copies and moved frames, too
      for (const Tensor tensor : kTensors) {
        const auto address = reinterpret_cast<uintptr_t>(start_of(frame.problem(), tensor));
        EXPECT_EQ(address % 16, 4u * c.layout.misalignment[size_t(tensor)]) << name_of(tensor);
      }
    }
  }
}

TEST(Frame, StatesTheProblem) {
  RemapCase c = full_case();
  c.num_blocks = 10;
  c.dcp = {4, 3, 2};
  c.placement = spec::Placement::kCompacted;
  c.order = spec::Order::kUnspecified;
  c.tile = 3;
  Frame frame(c, 1);
  const spec::RemapProblem problem = frame.problem();
  EXPECT_EQ(problem.req_id.view(), (Eigen::Vector2i(0, 1)));
  EXPECT_EQ(problem.block_table.view(), (spec::IndexMatrix{{7, 9}, {4, 2}}));
  EXPECT_EQ(problem.block_table.row_stride, 3);
  EXPECT_EQ(problem.token_indices.view(), (spec::IndexMatrix{{0, 5, -1}, {7, 2, 3}}));
  EXPECT_EQ(problem.token_indices.row_stride, 4);
  EXPECT_EQ(problem.block_size, 4);
  EXPECT_EQ(problem.block_stride_rows, 4);
  EXPECT_EQ(problem.num_blocks, 10);
  EXPECT_EQ(problem.dcp.size, 4);
  EXPECT_EQ(problem.dcp.rank, 3);
  EXPECT_EQ(problem.dcp.interleave, 2);
  EXPECT_EQ(problem.prefill_request_id->view(), (Eigen::Vector2i(-1, 0)));
  EXPECT_EQ(problem.workspace_starts->view()[0], 100);
  EXPECT_EQ(problem.num_workspace_rows, 200);
  EXPECT_EQ(problem.placement, spec::Placement::kCompacted);
  EXPECT_EQ(problem.order, spec::Order::kUnspecified);
  EXPECT_EQ(problem.tile, 3);
  EXPECT_EQ(problem.slots.rows, 2);
  EXPECT_EQ(problem.slots.columns, 3);
  EXPECT_EQ(problem.slots.row_stride, 5);
  EXPECT_EQ(problem.valid_counts->size, 2);
}

TEST(Frame, LeavesOutWhatIsAbsent) {
  RemapCase c = full_case();
  c.prefill.reset();
  c.counts = false;
  c.layout = {};
  Frame frame(c, 1);
  const spec::RemapProblem problem = frame.problem();
  EXPECT_FALSE(problem.prefill_request_id || problem.workspace_starts || problem.num_workspace_rows || problem.valid_counts);
  EXPECT_FALSE(frame.region(Tensor::kValidCounts).is_present);
  EXPECT_EQ(frame.memory().size(), 4u);
  EXPECT_EQ(problem.slots.row_stride, 3);
}

TEST(Frame, KeepsRowCountsThatDisagree) {
  RemapCase c = full_case();
  c.req_id = {0, 1, 1};
  c.prefill->request_ids = {-1};
  Frame frame(c, 1);
  EXPECT_EQ(frame.problem().req_id.size, 3);
  EXPECT_EQ(frame.problem().prefill_request_id->size, 1);
  EXPECT_EQ(frame.problem().slots.rows, 2);
}

TEST(Frame, PassesNullExactlyForTensorsWithoutElements) {
  RemapCase c = full_case();
  c.block_table = OwnedMatrix::of({{7, 9}, {4, 2}}, 0);  // storage, but no element
  c.prefill->workspace_starts.clear();
  Frame frame(c, 1);
  for (const Tensor tensor : kTensors) {
    const bool is_empty = tensor == Tensor::kBlockTable || tensor == Tensor::kWorkspaceStarts;
    EXPECT_EQ(start_of(frame.problem(), tensor) == nullptr, is_empty) << name_of(tensor);
  }
  EXPECT_TRUE(frame.problem().workspace_starts.has_value());
  EXPECT_EQ(frame.problem().block_table.row_stride, 2);
}

TEST(Frame, PoisonsAllButTheInputs) {
  Frame first(full_case(), 1), same(full_case(), 1), other(full_case(), 2);
  int differing = 0;
  std::set<int32_t> values;
  for (int64_t word = 0; word < first.num_words(); ++word) {
    const auto is_input = [&](Tensor tensor) {
      return word >= first.region(tensor).tensor_begin && word < first.region(tensor).tensor_end;
    };
    EXPECT_EQ(first.arena()[word], same.arena()[word]);
    if (std::any_of(kTensors.begin(), kTensors.begin() + 5, is_input)) {
      EXPECT_EQ(first.arena()[word], other.arena()[word]);
      continue;
    }
    EXPECT_GE(first.arena()[word], 0);
    EXPECT_LT(first.arena()[word], 1 << 15);
    values.insert(first.arena()[word]);
    differing += first.arena()[word] != other.arena()[word];
  }
  EXPECT_GT(differing, 100);
  EXPECT_GT(values.size(), 100u);
}

TEST(Frame, ShowsWhatACallChanged) {
  Frame frame(full_case(), 1);
  const auto& region = frame.region(Tensor::kBlockTable);
  frame.arena()[region.tensor_end] = -7;  // the first guard word behind the table
  int changes = 0;
  for (const spec::MemoryRegion& memory : frame.memory()) {
    for (int64_t word = 0; word < memory.num_words; ++word) {
      if (memory.before[word] == memory.after[word]) continue;
      ++changes;
      EXPECT_EQ(memory.name, "block_table");
      EXPECT_EQ(word, region.tensor_end - region.begin);
    }
  }
  EXPECT_EQ(changes, 1);
}

TEST(Frame, PointsIntoAnotherArena) {
  Frame frame(full_case(), 1);
  alignas(16) int32_t elsewhere[1000];
  ASSERT_LE(frame.num_words(), 1000);
  std::copy_n(frame.arena(), frame.num_words(), elsewhere);
  const spec::RemapProblem problem = frame.problem_at(elsewhere);
  for (const Tensor tensor : kTensors) {
    EXPECT_EQ(start_of(problem, tensor) - elsewhere, start_of(frame.problem(), tensor) - frame.arena()) << name_of(tensor);
  }
  EXPECT_EQ(problem.token_indices.view()(1, 2), 3);
}

TEST(FrameEdits, ChangeTheRawArguments) {
  Frame plain(full_case(), 1);
  Frame frame(edited({{Kind::kRows, Tensor::kReqId, 5, {}},
                      {Kind::kRows, Tensor::kTokenIndices, -1, {}},
                      {Kind::kColumns, Tensor::kSlots, 7, {}},
                      {Kind::kRowStride, Tensor::kBlockTable, int64_t{1} << 61, {}},
                      {Kind::kByteOffset, Tensor::kValidCounts, 2, {}},
                      {Kind::kNull, Tensor::kBlockTable, 0, {}},
                      {Kind::kDrop, Tensor::kWorkspaceStarts, 0, {}}}),
              1);
  const spec::RemapProblem problem = frame.problem();
  EXPECT_EQ(problem.req_id.size, 5);
  EXPECT_EQ(problem.token_indices.rows, -1);
  EXPECT_EQ(problem.slots.columns, 7);
  EXPECT_EQ(problem.slots.rows, 2);
  EXPECT_EQ(problem.block_table.row_stride, int64_t{1} << 61);
  EXPECT_EQ(problem.block_table.data, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(problem.valid_counts->data) % 4, 2u);
  EXPECT_FALSE(problem.workspace_starts);
  EXPECT_TRUE(problem.prefill_request_id);
  EXPECT_EQ(frame.num_words(), plain.num_words());  // edits move no memory
}

TEST(FrameEdits, AliasAWordOfAnotherTensor) {
  Frame frame(edited({{Kind::kAlias, Tensor::kSlots, 3, Tensor::kTokenIndices},
                      {Kind::kAlias, Tensor::kValidCounts, -1, Tensor::kReqId}}),
              1);
  EXPECT_EQ(frame.problem().slots.data, frame.arena() + frame.region(Tensor::kTokenIndices).tensor_begin + 3);
  EXPECT_EQ(frame.problem().valid_counts->data, frame.arena() + frame.region(Tensor::kReqId).tensor_begin - 1);
  RemapCase c = edited({{Kind::kAlias, Tensor::kSlots, 0, Tensor::kValidCounts}});
  c.counts = false;
  Frame without(c, 1);
  EXPECT_EQ(without.problem().slots.data, without.arena() + without.region(Tensor::kSlots).tensor_begin) << "nothing to point at";
}

TEST(FrameEdits, KnowWhetherTheCallStaysInMemory) {
  const auto holds = [](std::vector<ArgumentEdit> edits) { return Frame(edited(std::move(edits)), 1).holds_every_element(); };
  EXPECT_TRUE(holds({}));
  EXPECT_TRUE(holds({{Kind::kRowStride, Tensor::kBlockTable, 0, {}}}));
  EXPECT_TRUE(holds({{Kind::kRowStride, Tensor::kTokenIndices, 5, {}}}));
  EXPECT_FALSE(holds({{Kind::kRowStride, Tensor::kTokenIndices, 1000, {}}}));
  EXPECT_FALSE(holds({{Kind::kRowStride, Tensor::kTokenIndices, -1, {}}}));
  EXPECT_FALSE(holds({{Kind::kRows, Tensor::kReqId, 1000, {}}}));
  EXPECT_FALSE(holds({{Kind::kColumns, Tensor::kSlots, 1000, {}}}));
  EXPECT_FALSE(holds({{Kind::kNull, Tensor::kPrefillRequestId, 0, {}}}));
  EXPECT_FALSE(holds({{Kind::kAlias, Tensor::kValidCounts, -1000, Tensor::kReqId}}));
  EXPECT_FALSE(holds({{Kind::kByteOffset, Tensor::kWorkspaceStarts, 4000, {}}}));
  EXPECT_FALSE(holds({{Kind::kByteOffset, Tensor::kWorkspaceStarts, 1, {}}}));
  EXPECT_TRUE(holds({{Kind::kNull, Tensor::kPrefillRequestId, 0, {}}, {Kind::kDrop, Tensor::kPrefillRequestId, 0, {}}}));
}

TEST(FrameEdits, MayBeAbsurd) {
  const int64_t min = std::numeric_limits<int64_t>::min(), max = std::numeric_limits<int64_t>::max();
  for (int kind = -1; kind <= int(Kind::kDrop) + 1; ++kind) {
    for (int tensor = 0; tensor <= kNumTensors; ++tensor) {  // kNumTensors and 255 are no tensors
      for (const int64_t value : {min, min / 4, int64_t{-1}, int64_t{0}, int64_t{1} << 40, max / 4, max}) {
        for (const int other : {0, 6, 255}) {
          const ArgumentEdit edit{Kind(kind), Tensor(tensor), value, Tensor(other)};
          Frame frame(edited({edit, edit}), 1);
          frame.holds_every_element();
          EXPECT_EQ(frame.memory().size(), size_t(kNumTensors));
        }
      }
    }
  }
  Frame clamped(edited({{Kind::kRows, Tensor::kReqId, max, {}}, {Kind::kColumns, Tensor::kSlots, min, {}}}), 1);
  EXPECT_EQ(clamped.problem().req_id.size, std::numeric_limits<int32_t>::max());
  EXPECT_EQ(clamped.problem().slots.columns, std::numeric_limits<int32_t>::min());
}

TEST(OwnedMatrix, KeepsHiddenColumns) {
  const OwnedMatrix view = OwnedMatrix::of({{1, 2, 3}, {4, 5, 6}}, 2);
  EXPECT_EQ(view.columns, 2);
  EXPECT_EQ(view.storage_columns, 3);
  EXPECT_EQ(view.at(1, 1), 5);
  const OwnedMatrix empty = OwnedMatrix::of({}, 4);
  EXPECT_EQ(empty.rows, 0);
  EXPECT_EQ(empty.columns, 4);
  EXPECT_EQ(OwnedMatrix::filled(2, 1, 7, 3).storage, std::vector<int32_t>(6, 7));
}

}  // namespace
}  // namespace slotproof::harness
