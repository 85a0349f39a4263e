#include "property_tests/harness/guarded_buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace slotproof::harness {
namespace {

constexpr std::byte kPoison{0xa5};
// Address space costs nothing; an index that is wrong by a row or a block still ends in the guard.
constexpr size_t kGuardBytes = size_t{1} << 20;

// Guard words up to the next 16-byte boundary lie before the inaccessible page, for the tensor's begin keeps its alignment.
int64_t words_end_of(const Piece& piece) { return std::min((piece.tensor_end + 3) / 4 * 4, piece.end); }

size_t round_up(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

bool is_poison(const std::byte* begin, const std::byte* end) {
  // The first byte is poison and each equals its neighbour: memcmp is quick even where this file is built without optimisation.
  return begin == end || (*begin == kPoison && std::memcmp(begin, begin + 1, size_t(end - begin) - 1) == 0);
}

}  // namespace

GuardedBuffer::~GuardedBuffer() { unmap(); }

void GuardedBuffer::unmap() {
  if (mapping_ != nullptr) munmap(mapping_, mapping_bytes_);
  mapping_ = nullptr;
}

bool GuardedBuffer::fit(size_t num_bytes, size_t misalignment) {
  static const size_t page_bytes = size_t(sysconf(_SC_PAGESIZE));
  const size_t slack = (16 - (misalignment + num_bytes) % 16) % 16;
  const size_t accessible_bytes = round_up(std::max<size_t>(num_bytes + slack, 1), page_bytes);
  if (mapping_ == nullptr || accessible_bytes != size_t(accessible_end_ - accessible_begin_)) {
    unmap();
    mapping_bytes_ = accessible_bytes + 2 * kGuardBytes;
    void* mapping = mmap(nullptr, mapping_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED) return false;
    mapping_ = static_cast<std::byte*>(mapping);
    accessible_begin_ = mapping_ + kGuardBytes;
    accessible_end_ = accessible_begin_ + accessible_bytes;
    if (mprotect(accessible_begin_, accessible_bytes, PROT_READ | PROT_WRITE) != 0) {
      unmap();
      return false;
    }
  }
  end_ = accessible_end_ - slack;
  begin_ = end_ - num_bytes;
  std::fill(accessible_begin_, begin_, kPoison);
  std::fill(end_, accessible_end_, kPoison);
  return true;
}

bool GuardedBuffer::is_poison_intact() const {
  return is_poison(accessible_begin_, begin_) && is_poison(end_, accessible_end_);
}

std::optional<int64_t> GuardedBuffer::distance_into_guard(const void* address) const {
  const auto* at = static_cast<const std::byte*>(address);
  if (mapping_ == nullptr || at < mapping_ || at >= mapping_ + mapping_bytes_) return std::nullopt;
  if (at >= accessible_end_) return at - end_;
  if (at < accessible_begin_) return at - begin_;
  return std::nullopt;
}

std::string GuardedMemory::bring_in(const CallLayout& layout, const int32_t* arena) {
  for (size_t i = 0; i < size_t(layout.num_pieces); ++i) {
    const Piece& piece = layout.pieces[i];
    GuardedBuffer& buffer = buffers_[i];
    const size_t num_bytes = size_t(words_end_of(piece) - piece.begin) * 4;
    overrun_bytes_[i] = (words_end_of(piece) - piece.tensor_end) * 4;
    if (!buffer.fit(num_bytes, size_t(piece.begin * 4 % 16))) return "no memory for " + name_of_piece(layout, int32_t(i));
    std::memcpy(buffer.begin(), arena + piece.begin, num_bytes);
    starts_[i] = reinterpret_cast<int32_t*>(buffer.begin());
  }
  return {};
}

std::string GuardedMemory::bring_back(const CallLayout& layout, int32_t* arena) {
  std::string error;
  for (size_t i = 0; i < size_t(layout.num_pieces); ++i) {
    const Piece& piece = layout.pieces[i];
    const GuardedBuffer& buffer = buffers_[i];
    std::memcpy(arena + piece.begin, buffer.begin(), size_t(words_end_of(piece) - piece.begin) * 4);
    if (error.empty() && !buffer.is_poison_intact()) error = "it wrote outside of " + name_of_piece(layout, int32_t(i));
  }
  return error;
}

std::optional<GuardedMemory::Place> GuardedMemory::place_in_guards(const void* address) const {
  for (size_t i = 0; i < buffers_.size(); ++i) {
    const auto distance = buffers_[i].distance_into_guard(address);
    if (distance) return Place{int32_t(i), *distance >= 0 ? *distance + overrun_bytes_[i] : *distance};
  }
  return std::nullopt;
}

}  // namespace slotproof::harness
