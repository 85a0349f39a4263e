#include "kernels/kernel_path.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace slotproof {
namespace {

// A pass of so many columns holds a whole vector wherever it begins.
constexpr int32_t kLeastColumns = 2 * kVectorSize - 1;

// Rows at a fixed stride repeat their places between boundaries after so many.
constexpr int32_t kRowsUntilRepeat = kVectorSize;

constexpr bool has_each_kernel_once() {
  int num_kernels = 0;
  for (const int32_t width : kTeamWidths) {
    for (const Dcp dcp : {Dcp::kOff, Dcp::kOn, Dcp::kOnPowersOfTwo}) {
      for (const Lookup lookup : {Lookup::kGlobal, Lookup::kStaged}) {
        const bool is_shipped = lookup == Lookup::kGlobal || can_stage(width, dcp);
        num_kernels += is_shipped;
        if (std::count(std::begin(kRowKernels), std::end(kRowKernels), RowKernel{dcp, lookup, width}) != is_shipped) return false;
      }
    }
  }
  return num_kernels == kNumRowKernels;
}
static_assert(has_each_kernel_once());

}  // namespace

KernelPath kernel_path_of(int index) noexcept {
  const auto bit = [&index] {
    const bool is_set = index % 2 == 1;
    index /= 2;
    return is_set;
  };
  KernelPath path{};
  path.has_counts = bit();
  path.has_several_passes = bit();
  path.has_aligned_output = bit();
  path.has_aligned_input = bit();
  path.kernel = kRowKernels[index % kNumRowKernels];
  index /= kNumRowKernels;
  path.placement = bit() ? Placement::kCompacted : Placement::kInPlace;
  return path;
}

int index_of(const KernelPath& path) noexcept {
  int index = path.placement == Placement::kCompacted;
  const auto kernel = std::find(std::begin(kRowKernels), std::end(kRowKernels), path.kernel);
  index = kNumRowKernels * index + static_cast<int>(kernel - std::begin(kRowKernels));
  for (const bool bit : {path.has_aligned_input, path.has_aligned_output, path.has_several_passes, path.has_counts}) {
    index = 2 * index + bit;
  }
  return index;
}

KernelPathSet kernel_paths_of(const RemapArgs& args, int32_t team_width) noexcept {
  KernelPathSet paths;
  if (writes_nothing(args)) return paths;
  const TilePlan plan = plan_tiles(args, team_width);
  const int32_t topk = args.token_indices.columns;
  if (std::min(plan.tile, topk) < kLeastColumns) return paths;
  const RemapView view = make_view(args, plan);
  for (int32_t row = 0; row < std::min(args.token_indices.rows, kRowsUntilRepeat); ++row) {
    const int32_t input = vector_phase_of(view.token_indices + row * view.token_indices_stride);
    const int32_t output = vector_phase_of(view.slots + row * view.slots_stride);
    const bool is_in_place = args.placement == Placement::kInPlace;
    const KernelPath path{args.placement,   {dcp_of(args), plan.lookup, plan.team_width},
                          input == 0,       output == (is_in_place ? input : 0),
                          plan.tile < topk, args.valid_counts.has_value()};
    paths.set(static_cast<std::size_t>(index_of(path)));
  }
  return paths;
}

}  // namespace slotproof
