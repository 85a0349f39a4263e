#pragma once
// Mutations that know what the bytes mean: one choice at a time, with all others left what they are. A decoder asks for rare things
// by one_in(n), which says yes at the last of n values, so the last value of a choice is drawn as often as all between.

#include "fuzz/target.h"

#include <cstddef>
#include <functional>

namespace slotproof::fuzz {

// Changes data[0, size) in place and returns the new size, at most max_size. mutate_bytes is libFuzzer's own mutator.
size_t mutate(const Target& target, uint8_t* data, size_t size, size_t max_size, uint32_t seed,
              const std::function<size_t(uint8_t*, size_t, size_t)>& mutate_bytes);

// The head of one input up to one of its choices, then the other's bytes from there on. 0 where they cannot be crossed.
size_t cross_over(const Target& target, Input head, Input tail, uint8_t* out, size_t max_size, uint32_t seed);

}  // namespace slotproof::fuzz
