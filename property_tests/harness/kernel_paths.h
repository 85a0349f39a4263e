#pragma once
// The paths of our kernels (kernels/kernel_path.h): names, a tally of launches, and a case for each.

#include "kernels/kernel_path.h"
#include "property_tests/harness/remap_case.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace slotproof::harness {

// "compacted, dcp of powers of two, 256 threads of 2 vectors, decode, staged table"
std::string name_of(const RowKernel& kernel);
// The same, and ", input aligned, output aligned, one pass, counts"
std::string name_of(const KernelPath& path);

struct KernelPathTally {
  std::array<int64_t, kNumKernelPaths> num_launches{};

  void add(const RemapArgs& args, const Schedule& schedule) {
    const KernelPathSet paths = kernel_paths_of(args, {schedule.team_width, schedule.planned_rows});
    for (size_t i = 0; i < paths.size(); ++i) num_launches[i] += paths[i];
  }
  std::vector<std::string> missing() const;  // names of those never launched
};

// A small batch that takes this path and no other with its schedule, which asks for no team width: rows that fill every warp,
// holes, positions of other ranks, unusable entries, and a workspace row where the kernel and DCP permit one.
RemapCase case_of(const KernelPath& path);

}  // namespace slotproof::harness
