#include "kernels/kernel_path.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace slotproof {
namespace {

// A pass of so many columns holds a whole vector wherever it begins.
constexpr int32_t kLeastColumns = 2 * kVectorSize - 1;

// Rows at a fixed stride repeat their places between boundaries after so many.
constexpr int32_t kRowsUntilRepeat = kVectorSize;

const std::array<KernelPath, kNumKernelPaths>& all_paths() {
  static const auto paths = [] {
    std::array<KernelPath, kNumKernelPaths> all{};
    std::size_t i = 0;
    for_each_kernel_path([&](const KernelPath& path) { all[i++] = path; });
    return all;
  }();
  return paths;
}

constexpr bool has_each_kernel_once() {
  for (int i = 0; i < kNumRowKernels; ++i) {
    if (number_of(kRowKernels[static_cast<std::size_t>(i)]) != i) return false;
  }
  return true;
}
static_assert(has_each_kernel_once());

}  // namespace

KernelPath kernel_path_of(int index) noexcept {
  return all_paths()[static_cast<std::size_t>(index)];
}

int index_of(const KernelPath& path) noexcept {
  const auto& all = all_paths();
  return static_cast<int>(std::find(all.begin(), all.end(), path) - all.begin());
}

KernelPathSet kernel_paths_of(const RemapArgs& args, const PlanOptions& options) noexcept {
  KernelPathSet paths;
  if (writes_nothing(args)) return paths;
  const TilePlan plan = plan_tiles(args, options);
  const int32_t topk = args.token_indices.columns;
  if (std::min(plan.tile, topk) < kLeastColumns) return paths;
  const RemapView view = make_view(args, plan.tile);
  for (int32_t row = 0; row < std::min(args.token_indices.rows, kRowsUntilRepeat); ++row) {
    const int32_t input = vector_phase_of(view.token_indices + row * view.token_indices_stride);
    const int32_t output = vector_phase_of(view.slots + row * view.slots_stride);
    const bool is_in_place = args.placement == Placement::kInPlace;
    const KernelPath path{
        plan.kernel,       input == 0, output == (is_in_place ? input : 0), plan.num_parts == 1 && plan.tile < topk, args.valid_counts.has_value(),
        plan.num_parts > 1};
    paths.set(static_cast<std::size_t>(index_of(path)));
  }
  return paths;
}

}  // namespace slotproof
