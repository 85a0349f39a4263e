#include "property_tests/harness/kernel_paths.h"

namespace slotproof::harness {
namespace {

int32_t round_up(int32_t value, int32_t unit) {
  return (value + unit - 1) / unit * unit;
}

struct Shape {
  int32_t topk;
  std::optional<int32_t> tile;
};

// The planner picks the narrowest team that holds a pass, so a pass is nearly as wide as the register tile of the path's team.
// Single passes end in the middle of a vector.
Shape shape_of(const KernelPath& path) {
  const int32_t capacity = tile_capacity(path.team_width);
  if (!path.has_several_passes) return {capacity - 37, std::nullopt};
  const int32_t tile = capacity - 40;
  const bool is_widest = path.team_width == kTeamWidths[std::size(kTeamWidths) - 1];
  return is_widest ? Shape{capacity + 100, std::nullopt} : Shape{2 * tile, tile};
}

}  // namespace

std::string name_of(const KernelPath& path) {
  std::string name = path.placement == Placement::kCompacted ? "compacted" : "in place";
  if (path.dcp == Dcp::kOn) name += ", dcp";
  name += ", width " + std::to_string(path.team_width);
  name += path.has_aligned_input ? ", input aligned" : ", input misaligned";
  name += path.has_aligned_output ? ", output aligned" : ", output misaligned";
  name += path.has_several_passes ? ", several passes" : ", one pass";
  return name + (path.has_counts ? ", counts" : ", no counts");
}

std::vector<std::string> KernelPathTally::missing() const {
  std::vector<std::string> names;
  for (int i = 0; i < kNumKernelPaths; ++i) {
    if (num_launches[size_t(i)] == 0) names.push_back(name_of(kernel_path_of(i)));
  }
  return names;
}

RemapCase case_of(const KernelPath& path) {
  constexpr int32_t kBlocks = 5, kBlockSize = 4;
  const Shape shape = shape_of(path);
  RemapCase c;
  c.placement = path.placement == Placement::kCompacted ? spec::Placement::kCompacted : spec::Placement::kInPlace;
  c.block_size = kBlockSize;
  c.block_stride_rows = 7;
  c.num_blocks = 90;
  c.counts = path.has_counts;
  c.tile = shape.tile;
  if (path.dcp == Dcp::kOn) {
    c.dcp = {2, 1, 2};
    c.req_id = {1, 0};
  } else {
    c.prefill = OwnedPrefill{{-1, 0}, {1000}, 1030};
    c.req_id = {1, -5};
  }
  c.block_table = OwnedMatrix::of({{11, 3, 95, 7, 2}, {64, -2, 8, 81, 40}}, kBlocks);
  // Both matrices' rows stay where the first one lies between boundaries.
  c.token_indices = OwnedMatrix::filled(2, shape.topk, -1, round_up(shape.topk, 4) + 4);
  c.layout.slots_storage_columns = round_up(shape.topk, 4) + 8;
  const int32_t past_table = kBlocks * kBlockSize * c.dcp.size + 3;
  for (int32_t t = 0; t < 2; ++t) {
    for (int32_t k = 0; k < shape.topk; ++k) {
      if ((k + t) % 7 != 0) c.token_indices.at(t, k) = (k * 5 + k / 64 + t) % past_table;
    }
  }
  const uint8_t input = path.has_aligned_input ? 0 : uint8_t(1 + index_of(path) % 3);
  const uint8_t due = path.placement == Placement::kInPlace ? input : 0;
  c.layout.misalignment[size_t(Tensor::kTokenIndices)] = input;
  c.layout.misalignment[size_t(Tensor::kSlots)] = path.has_aligned_output ? due : uint8_t((due + 1 + index_of(path) % 2) % 4);
  return c;
}

}  // namespace slotproof::harness
