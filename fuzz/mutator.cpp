#include "fuzz/mutator.h"

#include "fuzz/input.h"

#include <algorithm>
#include <cstring>
#include <random>

namespace slotproof::fuzz {
namespace {

using harness::ByteChoice;
using Random = std::minstd_rand;

constexpr size_t kShapeChoices = 48;  // what makes the problem's shape comes first

const std::vector<ByteChoice>& choices_of(const Target& target, Input input) {
  static thread_local std::vector<ByteChoice> trace;
  trace.clear();
  harness::ByteChoices choices(input.data(), input.size(), &trace);
  target.decode(choices);
  return trace;
}

uint64_t value_for(uint64_t old, const ByteChoice& choice, Random& random) {
  const uint64_t bits = uint64_t{random()} << 33 ^ uint64_t { random() } << 11 ^ random();
  if (choice.bound == 0) return random() % 2 == 0 ? bits : bits >> (random() % 64);
  switch (random() % 6) {
    case 0: return choice.bound - 1;
    case 1: return 0;
    case 2: return (old + 1) % choice.bound;
    case 3: return (old + choice.bound - 1) % choice.bound;
    default: return bits % choice.bound;
  }
}

uint64_t read(const uint8_t* bytes, int width) {
  uint64_t value = 0;
  for (int i = 0; i < width; ++i) value |= uint64_t{bytes[i]} << (8 * i);
  return value;
}

// Sets one choice of those that the room has; one behind the end is reached by zeros, the plainest choices.
size_t change_a_choice(const Target& target, uint8_t* data, size_t size, size_t max_size, Random& random) {
  const auto& trace = choices_of(target, {data, size});
  const auto has_room = [max_size](const ByteChoice& choice) { return choice.offset + size_t(choice.width) <= max_size; };
  const auto num_with_room = size_t(std::partition_point(trace.begin(), trace.end(), has_room) - trace.begin());
  if (num_with_room == 0) return size;
  const size_t num_near = random() % 2 == 0 ? std::min(num_with_room, kShapeChoices) : num_with_room;
  const ByteChoice choice = trace[random() % num_near];
  const size_t end = choice.offset + size_t(choice.width);
  if (end > size) std::memset(data + size, 0, end - size);
  const uint64_t value = value_for(read(data + choice.offset, choice.width), choice, random);
  for (int i = 0; i < choice.width; ++i) data[choice.offset + size_t(i)] = uint8_t(value >> (8 * i));
  return std::max(size, end);
}

void randomize(uint8_t* begin, uint8_t* end, Random& random) {
  for (; begin < end; ++begin) *begin = uint8_t(random() >> 8);
}

// The bytes behind some choice anew: the same shape, other elements.
size_t redraw_from_a_choice(const Target& target, uint8_t* data, size_t size, size_t max_size, Random& random) {
  const auto& trace = choices_of(target, {data, size});
  if (trace.empty()) return size;
  const size_t begin = std::min(trace[random() % trace.size()].offset, max_size);
  const ByteChoice& last = trace.back();
  const size_t end = std::clamp(last.offset + size_t(last.width), begin, std::min(max_size, size_t{512}) < begin ? begin : std::min(max_size, size_t{512}));
  randomize(data + std::min(begin, size), data + end, random);
  return std::max(size, end);
}

}  // namespace

size_t mutate(const Target& target, uint8_t* data, size_t size, size_t max_size, uint32_t seed,
              const std::function<size_t(uint8_t*, size_t, size_t)>& mutate_bytes) {
  Random random(seed + 1);
  if (is_case_text({data, size}) || target.decode == nullptr) {
    // A text with a byte changed is hardly ever a case: only who reads any bytes gets that.
    const bool reads_any_bytes = target.decode == nullptr || target.mutate_text == nullptr;
    if (target.mutate_text != nullptr && (!reads_any_bytes || random() % 8 != 0)) {
      std::string text(reinterpret_cast<const char*>(data), size);
      if (target.mutate_text(text, uint32_t(random())) && text.size() <= max_size) {
        std::memcpy(data, text.data(), text.size());
        return text.size();
      }
    }
    return reads_any_bytes ? mutate_bytes(data, size, max_size) : size;
  }
  switch (random() % 16) {
    case 0:
    case 1: return mutate_bytes(data, size, max_size);
    case 2: {  // everything anew
      const size_t fresh = std::min(max_size, size_t{32} << random() % 4);
      randomize(data, data + fresh, random);
      return fresh;
    }
    case 3:
    case 4: return redraw_from_a_choice(target, data, size, max_size, random);
    default:
      for (uint32_t left = 1 + uint32_t(random() % 4); left > 0; --left) size = change_a_choice(target, data, size, max_size, random);
      return size;
  }
}

size_t cross_over(const Target& target, Input head, Input tail, uint8_t* out, size_t max_size, uint32_t seed) {
  if (target.decode == nullptr || is_case_text(head) || is_case_text(tail)) return 0;
  const auto& trace = choices_of(target, head);
  if (trace.empty()) return 0;
  Random random(seed + 1);
  const size_t cut = std::min({trace[random() % trace.size()].offset, head.size(), tail.size(), max_size});
  const size_t size = std::min(tail.size(), max_size);
  std::memcpy(out, head.data(), cut);
  std::memcpy(out + cut, tail.data() + cut, size - cut);
  return size;
}

}  // namespace slotproof::fuzz
