#pragma once
// What one launch runs: which instantiation of the kernel, and which of its ways through memory. Worked out on the host from the
// same plan that the launcher makes, so that a test run can say which of them it has seen.

#include "kernels/remap_view.h"

#include <bitset>
#include <iterator>

namespace slotproof {

// The instantiations of a row's body for each placement.
struct RowKernel {
  Dcp dcp;
  Lookup lookup;
  int32_t team_width;
  bool operator==(const RowKernel&) const = default;
};
inline constexpr RowKernel kRowKernels[] = {
    {Dcp::kOff, Lookup::kGlobal, 32},
    {Dcp::kOff, Lookup::kGlobal, 64},
    {Dcp::kOff, Lookup::kGlobal, 128},
    {Dcp::kOff, Lookup::kGlobal, 256},
    {Dcp::kOff, Lookup::kStaged, 128},
    {Dcp::kOff, Lookup::kStaged, 256},
    {Dcp::kOn, Lookup::kGlobal, 32},
    {Dcp::kOn, Lookup::kGlobal, 64},
    {Dcp::kOn, Lookup::kGlobal, 128},
    {Dcp::kOn, Lookup::kGlobal, 256},
    {Dcp::kOnPowersOfTwo, Lookup::kGlobal, 32},
    {Dcp::kOnPowersOfTwo, Lookup::kGlobal, 64},
    {Dcp::kOnPowersOfTwo, Lookup::kGlobal, 128},
    {Dcp::kOnPowersOfTwo, Lookup::kGlobal, 256},
};
inline constexpr int kNumRowKernels = static_cast<int>(std::size(kRowKernels));

struct KernelPath {
  Placement placement;
  RowKernel kernel;
  bool has_aligned_input;  // the row begins on a 16-byte boundary; else it has a head of single elements
  // In place: the output's vectors lie on its own boundaries, too; else it is written in single elements. Compacted: the output
  // row begins on a boundary; else it has a head of single elements.
  bool has_aligned_output;
  bool has_several_passes;
  bool has_counts;
};

inline constexpr int kNumKernelPaths = 2 * kNumRowKernels * 2 * 2 * 2 * 2;
using KernelPathSet = std::bitset<kNumKernelPaths>;

KernelPath kernel_path_of(int index) noexcept;  // index in [0, kNumKernelPaths)
int index_of(const KernelPath& path) noexcept;

// The paths that one launch takes: rows may differ in alignment. None where nothing is launched, and none where the passes
// are too narrow to hold a whole vector wherever they begin. The arguments are valid; team_width as in plan_tiles().
KernelPathSet kernel_paths_of(const RemapArgs& args, int32_t team_width) noexcept;

}  // namespace slotproof
