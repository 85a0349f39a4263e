#pragma once
// What the tests need of a launch and the public interface does not offer.

#include <slotproof/remap.h>

namespace slotproof {

// launch_remap() with the number of threads that own a row chosen by the caller: 32, 64, 128 or 256; 0 leaves it to the
// planner. The result does not depend on it (R14). Errors: those of launch_remap(), and kNotSupported for another width.
Status launch_remap_with_width(const RemapArgs& args, int32_t team_width, CUstream_st* stream) noexcept;

}  // namespace slotproof
