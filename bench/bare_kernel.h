#pragma once
// A kernel that does nothing and takes what the remap takes: what a launch costs at least.

#include "kernels/remap_view.h"

namespace slotproof::bench {

const void* bare_kernel();  // for cudaLaunchKernel(); its one parameter is a RemapView

}  // namespace slotproof::bench
