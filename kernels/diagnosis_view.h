#pragma once
// One diagnosis launch's arguments as the kernel takes them.

#include "kernels/remap_view.h"

#include <slotproof/diagnosis.h>

namespace slotproof {

struct DiagnosisView {
  RemapView remap;      // of the same inputs; it has no outputs
  int32_t* row_counts;  // [T, kNumReasons]
  int64_t* totals;      // [kNumReasons]
  int64_t row_counts_stride;
  uint32_t num_blocks;  // a base at or above it is no block of the cache (R7)
  bool has_row_counts;
};

// The team and the columns of a pass, as the general kernels of the remap have them. team_width 0 leaves it to the planner.
struct DiagnosisPlan {
  int32_t team_width;
  int32_t tile;
  Dcp dcp;
};
DiagnosisPlan plan_tiles(const DiagnoseArgs& args, int32_t team_width) noexcept;
DiagnosisView make_view(const DiagnoseArgs& args, int32_t tile) noexcept;

// No row has anything to write or to count.
bool writes_nothing(const DiagnoseArgs& args) noexcept;

}  // namespace slotproof
