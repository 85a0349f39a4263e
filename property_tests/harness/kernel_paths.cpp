#include "property_tests/harness/kernel_paths.h"

#include "property_tests/harness/frame.h"
#include "property_tests/harness/kernel_arguments.h"

namespace slotproof::harness {
namespace {

int32_t round_up(int32_t value, int32_t unit) {
  return (value + unit - 1) / unit * unit;
}

struct Shape {
  int32_t topk;
  std::optional<int32_t> tile;
  int32_t planned_rows;
};

// The planner picks the narrowest general team that holds a pass, so a pass is nearly as wide as the register tile of the path's
// team. Single passes end in the middle of a vector.
Shape shape_of_general(const KernelPath& path) {
  const int32_t team_width = kRowKernels[size_t(path.kernel)].team.width, capacity = tile_capacity(general_team(team_width));
  if (!path.has_several_passes) return {capacity - 37, std::nullopt, 0};
  const int32_t tile = capacity - 40;
  const bool is_widest = team_width == kTeamWidths[std::size(kTeamWidths) - 1];
  return is_widest ? Shape{capacity + 100, std::nullopt, 0} : Shape{2 * tile, tile, 0};
}

// A tuned kernel's rows fill it. How many of them the planner must believe in is tried out.
Shape shape_of_tuned(const KernelPath& path) {
  const int32_t capacity = tile_capacity(kRowKernels[size_t(path.kernel)].team);
  return {path.is_shared ? 3 * capacity : capacity, std::nullopt, 0};
}

// Few columns, in rows that begin anywhere; where the row is to be staged, as many as make every thread copy its vectors, with
// a tail of single ones, in rows that begin on boundaries.
OwnedMatrix block_table_of(const KernelPath& path) {
  const std::vector<std::vector<int32_t>> entries = {{11, 3, 95, 7, 2}, {64, -2, 8, 81, 40}};
  if (kRowKernels[size_t(path.kernel)].form.lookup == Lookup::kGlobal) return OwnedMatrix::of(entries, 5);
  OwnedMatrix table = OwnedMatrix::filled(2, kStagedColumnsCompacted - 2, 1, kStagedColumnsCompacted);
  for (int32_t row = 0; row < table.rows; ++row) {
    for (int32_t column = 0; column < table.columns; ++column) table.at(row, column) = (entries[size_t(row)][size_t(column % 5)] + column / 5) % 97;
  }
  return table;
}

// The number of rows for which the planner runs the case by the path's kernel; 0 where it never does, which a test would see.
int32_t rows_for(const KernelPath& path, const RemapCase& c) {
  Frame frame(c, 1);
  const RemapArgs args = remap_args_of(frame.problem());
  for (const int32_t rows : {1, 32, 128, 512, 2048, 8192}) {
    const TilePlan plan = plan_tiles(args, {0, rows});
    if (plan.kernel == path.kernel && (plan.num_parts > 1) == path.is_shared) return rows;
  }
  return 0;
}

}  // namespace

std::string name_of(const RowKernel& kernel) {
  const RowForm& form = kernel.form;
  std::string name = form.placement == Placement::kCompacted ? "compacted" : "in place";
  if (form.dcp == Dcp::kOn) name += form.sizes == Sizes::kAny ? ", dcp" : ", dcp of powers of two";
  name += ", " + std::to_string(kernel.team.width) + " threads of " + std::to_string(kernel.team.vectors_per_thread);
  name += is_general(kernel) ? ", general" : ", decode";
  if (form.lookup == Lookup::kStaged) name += ", staged table";
  return name;
}

std::string name_of(const KernelPath& path) {
  std::string name = name_of(kRowKernels[size_t(path.kernel)]);
  name += path.has_aligned_input ? ", input aligned" : ", input misaligned";
  name += path.has_aligned_output ? ", output aligned" : ", output misaligned";
  name += path.is_shared ? ", shared" : path.has_several_passes ? ", several passes" : ", one pass";
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
  const RowKernel& kernel = kRowKernels[size_t(path.kernel)];
  const RowForm& form = kernel.form;
  const Shape shape = is_general(kernel) ? shape_of_general(path) : shape_of_tuned(path);
  RemapCase c;
  c.placement = form.placement == Placement::kCompacted ? spec::Placement::kCompacted : spec::Placement::kInPlace;
  c.block_size = form.dcp == Dcp::kOn && form.sizes == Sizes::kAny ? 6 : 4;
  c.block_stride_rows = 7;
  c.num_blocks = 90;
  c.counts = path.has_counts;
  c.tile = shape.tile;
  c.block_table = block_table_of(path);
  c.req_id = {1, 0};
  if (form.dcp == Dcp::kOn) {
    c.dcp = {2, 1, c.block_size / 2};
  } else if (form.rows == Rows::kMixed) {
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
  const uint8_t due = form.placement == Placement::kInPlace ? input : 0;
  c.layout.misalignment[size_t(Tensor::kTokenIndices)] = input;
  c.layout.misalignment[size_t(Tensor::kSlots)] = path.has_aligned_output ? due : uint8_t((due + 1 + index_of(path) % 2) % 4);
  if (!is_general(kernel)) c.schedule.planned_rows = rows_for(path, c);
  return c;
}

}  // namespace slotproof::harness
