#pragma once
// Where the tensors of one call lie for a callee that does not run on the frame's own memory: on the device, or in the child
// process of a plug-in. Each tensor gets an allocation of its own, so that what is written outside of one shows.

#include "property_tests/harness/frame.h"
#include "spec/problem.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>

namespace slotproof::harness {

// Words of the arena that lie together in one allocation.
struct Piece {
  int64_t begin = 0;
  int64_t tensor_begin = 0;  // keeps its distance to the last 16-byte boundary
  int64_t elements_end = 0;  // behind the last element: the gap of the last row, where it has one, begins here
  int64_t tensor_end = 0;    // accesses at or behind it are overruns
  int64_t end = 0;           // guard words up to here
};

// Trivially copyable: it also crosses to the worker of a plug-in.
struct CallLayout {
  uint64_t arena_address = 0;  // what the pointers of the call are relative to
  int64_t num_words = 0;
  int32_t num_pieces = 0;
  bool is_whole = false;  // one piece, the arena
  std::array<Piece, kNumTensors> pieces;
  std::array<Tensor, kNumTensors> tensors;  // of each piece, unless is_whole
};

// One piece a tensor where each lies in its own storage. A call whose arguments were edited to reach elsewhere is to be
// refused for how its tensors lie to each other, so it keeps the arena whole.
CallLayout layout_of(const Frame& frame, const int32_t* arena, const spec::RemapProblem& problem);
std::string name_of_piece(const CallLayout& layout, int32_t piece);  // "block_table"

class CallMemory {
 public:
  virtual ~CallMemory() = default;
  // Both return an error, empty where there is none.
  virtual std::string bring_in(const CallLayout& layout, const int32_t* arena) = 0;
  virtual std::string bring_back(const CallLayout& layout, int32_t* arena) = 0;
  virtual void* stream() const { return nullptr; }

  // The callee's address for an address of the arena. An address in no piece stays as it is.
  template <class Element>
  Element* address_of(const CallLayout& layout, Element* in_arena) const {
    const uint64_t offset = reinterpret_cast<uintptr_t>(in_arena) - layout.arena_address;
    for (size_t i = 0; i < size_t(layout.num_pieces); ++i) {
      const Piece& piece = layout.pieces[i];
      if (offset < uint64_t(piece.begin) * 4 || offset >= uint64_t(piece.end) * 4) continue;
      return reinterpret_cast<Element*>(reinterpret_cast<uintptr_t>(starts_[i]) + offset - uint64_t(piece.begin) * 4);
    }
    return in_arena;
  }

 protected:
  std::array<int32_t*, kNumTensors> starts_{};  // where the word `begin` of each piece lies for the callee
};

// What lies around a tensor in device memory: its guard words, which show overruns by writing without any tool, or nothing, so
// that compute-sanitizer sees overruns by reading, too.
enum class Buffers : uint8_t { kGuarded, kExact };

struct CallMemoryOrReason {
  std::unique_ptr<CallMemory> memory;
  std::string reason;  // "built without CUDA", "no CUDA driver", "no CUDA device"
};
CallMemoryOrReason make_device_memory(Buffers buffers);  // makes a CUDA context in this process
std::string reason_without_driver();  // "built without CUDA", "no CUDA driver" or nothing; makes no context
std::string device_description();     // "NVIDIA H100 (sm_90)"; empty without a device

}  // namespace slotproof::harness
