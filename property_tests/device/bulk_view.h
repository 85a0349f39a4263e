#pragma once
// A bulk batch and its memory as plain values, which a kernel takes as they are. property_tests/harness/bulk.h makes them.

#include "property_tests/harness/decoder_elements.h"

#include <slotproof/remap.h>

#include <cstdint>
#include <type_traits>

namespace slotproof::harness {

// Where the tensors of a batch lie in one arena of words, in the order of harness::Tensor, with guard words on both sides.
struct BulkLayout {
  static constexpr int64_t kGuardWords = 64;
  static constexpr int kTable = 1, kStarts = 4, kSlots = 5, kCounts = 6;
  struct Region {
    int64_t begin = 0;  // the first element
    int64_t size = 0;   // of the storage, words
  };
  Region regions[7];
  int64_t num_words = 0;
};

struct BulkView {
  uint64_t seed = 0;
  uint64_t batch = 0;
  RemapShape shape;
  BulkLayout layout;
  int32_t* arena = nullptr;  // on a 16-byte boundary, on the host or on the device
  RemapArgs args;            // the call, with pointers into the arena
};
static_assert(std::is_trivially_copyable_v<BulkView>, "a kernel's parameter");

}  // namespace slotproof::harness
