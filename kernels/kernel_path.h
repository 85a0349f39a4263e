#pragma once
// What one launch runs: which kernel, and which of its ways through memory. Worked out on the host from the same plan that the
// launcher makes, so that a test run can say which of them it has seen.

#include "kernels/remap_view.h"
#include "kernels/tiling.h"

#include <bitset>

namespace slotproof {

struct KernelPath {
  int32_t kernel;          // of kRowKernels
  bool has_aligned_input;  // the row begins on a 16-byte boundary; else it has a head of single elements
  // In place: the output's vectors lie on its own boundaries, too; else it is written in single elements. Compacted: the output
  // row begins on a boundary; else it has a head of single elements.
  bool has_aligned_output;
  bool has_several_passes;
  bool has_counts;
  bool is_shared;  // several teams own a part of the row each
  bool operator==(const KernelPath&) const = default;
};

// A tuned kernel takes rows on boundaries, in one pass. Teams share rows in place, without ranks and without counts.
constexpr bool is_possible(const KernelPath& path) {
  const RowKernel& kernel = kRowKernels[static_cast<std::size_t>(path.kernel)];
  if (is_general(kernel)) return !path.is_shared;
  if (!path.has_aligned_input || !path.has_aligned_output || path.has_several_passes) return false;
  const RowForm& form = kernel.form;
  const bool can_share = form.placement == Placement::kInPlace && form.dcp == Dcp::kOff && form.lookup == Lookup::kGlobal;
  return !path.is_shared || (can_share && !path.has_counts);
}

// Calls visit(KernelPath) for each possible path, in the order of their numbers.
template <class Visit>
constexpr void for_each_kernel_path(Visit&& visit) {
  for (int32_t kernel = 0; kernel < kNumRowKernels; ++kernel) {
    for (int bits = 0; bits < 32; ++bits) {
      const KernelPath path{kernel, (bits & 16) != 0, (bits & 8) != 0, (bits & 4) != 0, (bits & 2) != 0, (bits & 1) != 0};
      if (is_possible(path)) visit(path);
    }
  }
}

constexpr int count_kernel_paths() {
  int count = 0;
  for_each_kernel_path([&](const KernelPath&) { ++count; });
  return count;
}
inline constexpr int kNumKernelPaths = count_kernel_paths();
using KernelPathSet = std::bitset<kNumKernelPaths>;

KernelPath kernel_path_of(int index) noexcept;  // index in [0, kNumKernelPaths)
int index_of(const KernelPath& path) noexcept;  // of a possible path

// The paths that one launch takes: rows may differ in alignment. None where nothing is launched, and none where the passes
// are too narrow to hold a whole vector wherever they begin. The arguments are valid.
KernelPathSet kernel_paths_of(const RemapArgs& args, const PlanOptions& options) noexcept;

}  // namespace slotproof
