#pragma once
// What the plug-in back end and its worker process say to each other. Both are the same program on the same machine, so the
// structures cross as they are. The worker runs foreign code, so the parent judges what it gets before it uses it.
//
// A shared mapping holds the header and, behind it, the words of the arena. A SOCK_SEQPACKET pair carries one Greeting from
// the worker, then a Request and a Reply for every call. An end of file ends the other side.

#include "property_tests/harness/call_memory.h"

#include <slotproof/plugin.h>

#include <type_traits>

namespace slotproof::harness::protocol {

inline constexpr const char* kWorkerFlag = "--slotproof-plugin-worker";  // then: socket, shared mapping, buffers, path
inline constexpr const char* kExactBuffers = "exact";
inline constexpr const char* kGuardedBuffers = "guarded";

struct Greeting {
  char error[512];  // why the plug-in cannot be used; empty where it can
  char name[128];
  uint32_t memory;
  uint32_t level;
  uint64_t capabilities;
};

// Written by the worker's signal handler, so that a crash in a guard page names the tensor.
struct CrashNote {
  uint32_t is_set;
  int32_t piece;
  int64_t distance;  // as GuardedMemory::Place
  enum Access : uint32_t { kUnknown, kRead, kWrite } access;
};

struct SharedHeader {
  CrashNote crash;
  CallLayout layout;
  slotproof_remap_arguments arguments;  // with addresses in the parent's arena
  slotproof_run_options options;
};
inline constexpr uint64_t kArenaOffset = 4096;
static_assert(sizeof(SharedHeader) <= kArenaOffset && std::is_trivially_copyable_v<SharedHeader>);

struct Request {
  uint64_t mapping_bytes;  // the mapping may have grown
};

struct Reply {
  int32_t code;            // what remap() returned
  uint32_t is_worker_lost;  // the worker can serve no further call (the CUDA context is broken)
  char misuse[256];        // what the worker found wrong whatever the code; empty where nothing
  char message[512];       // the plug-in's own
};

}  // namespace slotproof::harness::protocol
