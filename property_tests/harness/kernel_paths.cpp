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
  const int32_t team_width = path.kernel.team_width, capacity = tile_capacity(team_width);
  if (!path.has_several_passes) return {capacity - 37, std::nullopt};
  const int32_t tile = capacity - 40;
  const bool is_widest = team_width == kTeamWidths[std::size(kTeamWidths) - 1];
  return is_widest ? Shape{capacity + 100, std::nullopt} : Shape{2 * tile, tile};
}

// Few columns, in rows that begin anywhere; where the row is to be staged, as many as make every thread copy its vectors, with
// a tail of single ones, in rows that begin on boundaries.
OwnedMatrix block_table_of(const KernelPath& path) {
  const std::vector<std::vector<int32_t>> entries = {{11, 3, 95, 7, 2}, {64, -2, 8, 81, 40}};
  if (path.kernel.lookup == Lookup::kGlobal) return OwnedMatrix::of(entries, 5);
  OwnedMatrix table = OwnedMatrix::filled(2, kStagedColumns - 2, 1, kStagedColumns);
  for (int32_t row = 0; row < table.rows; ++row) {
    for (int32_t column = 0; column < table.columns; ++column) table.at(row, column) = (entries[size_t(row)][size_t(column % 5)] + column / 5) % 97;
  }
  return table;
}

}  // namespace

std::string name_of(const KernelPath& path) {
  std::string name = path.placement == Placement::kCompacted ? "compacted" : "in place";
  if (path.kernel.dcp != Dcp::kOff) name += path.kernel.dcp == Dcp::kOn ? ", dcp" : ", dcp of powers of two";
  name += ", width " + std::to_string(path.kernel.team_width);
  if (path.kernel.lookup == Lookup::kStaged) name += ", staged table";
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
  const Shape shape = shape_of(path);
  RemapCase c;
  c.placement = path.placement == Placement::kCompacted ? spec::Placement::kCompacted : spec::Placement::kInPlace;
  c.block_size = path.kernel.dcp == Dcp::kOn ? 6 : 4;
  c.block_stride_rows = 7;
  c.num_blocks = 90;
  c.counts = path.has_counts;
  c.tile = shape.tile;
  c.block_table = block_table_of(path);
  if (path.kernel.dcp != Dcp::kOff) {
    c.dcp = {2, 1, c.block_size / 2};
    c.req_id = {1, 0};
  } else {
    c.prefill = OwnedPrefill{{-1, 0}, {1000}, 1000 + c.block_table.columns * c.block_size};
    c.req_id = {1, -5};
  }
  // Both matrices' rows stay where the first one lies between boundaries.
  c.token_indices = OwnedMatrix::filled(2, shape.topk, -1, round_up(shape.topk, 4) + 4);
  c.layout.slots_storage_columns = round_up(shape.topk, 4) + 8;
  const int32_t past_table = c.block_table.columns * c.block_size * c.dcp.size + 3;
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
