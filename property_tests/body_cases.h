#pragma once
// Problems for each kind of body that a kernel has. The decoder draws wide rows seldom, and tuned kernels take no others.

#include "property_tests/harness/choices.h"
#include "property_tests/harness/decoder.h"
#include "property_tests/harness/kernel_paths.h"

#include <algorithm>
#include <vector>

namespace slotproof::harness {

// Of a general or a tuned kernel, looking up entries where they are or in a copy; shared: of a row that several teams share.
enum class Body : uint8_t { kGeneral, kGeneralStaged, kTuned, kTunedStaged, kShared };
inline constexpr Body kBodies[] = {Body::kGeneral, Body::kGeneralStaged, Body::kTuned, Body::kTunedStaged, Body::kShared};

inline Body body_of(const KernelPath& path) {
  const RowKernel& kernel = kRowKernels[size_t(path.kernel)];
  const bool is_staged = kernel.form.lookup == Lookup::kStaged;
  if (is_general(kernel)) return is_staged ? Body::kGeneralStaged : Body::kGeneral;
  return path.is_shared ? Body::kShared : is_staged ? Body::kTunedStaged : Body::kTuned;
}

// The case of a drawn path of this body, with positions of its own. Rows that teams share get a width in use where there is one.
inline RemapCase draw_for(Body body, PhiloxChoices& choices) {
  std::vector<KernelPath> paths;
  for (int i = 0; i < kNumKernelPaths; ++i) {
    if (body_of(kernel_path_of(i)) == body) paths.push_back(kernel_path_of(i));
  }
  const KernelPath path = paths[choices.below(uint32_t(paths.size()))];
  RemapCase c = case_of(path);
  const int32_t capacity = tile_capacity(kRowKernels[size_t(path.kernel)].team);
  if (body == Body::kShared && capacity < 4096) {
    const int32_t topk = std::min(4096, capacity * (choices.below(2) == 0 ? 2 : 4));
    c.token_indices = OwnedMatrix::filled(2, topk, spec::kNone, topk + 4);
    c.layout.slots_storage_columns = topk + 8;
  }
  const auto num_positions = uint32_t(c.block_table.columns * c.block_size * c.dcp.size + 3);
  for (int32_t& position : c.token_indices.storage) position = choices.below(7) == 0 ? spec::kNone : int32_t(choices.below(num_positions));
  return c;
}

// One in three takes a kernel of a drawn body; the others are the decoder's.
inline RemapCase draw_of_every_body(uint64_t seed) {
  PhiloxChoices choices(seed, 1);
  const uint32_t number = choices.below(15);
  return number < 5 ? draw_for(kBodies[number], choices) : draw_remap(seed, 0, {});
}

}  // namespace slotproof::harness
