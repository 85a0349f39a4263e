#pragma once
// Fuzzers that run the host's bodies hand their problems on to another back end: through a named pipe, to a process of its own that
// is built with CUDA and without sanitizers. Coverage of the host still steers; a device that breaks ends the follower alone. A pipe
// that is full drops problems: the fuzzer never waits.

#include "fuzz/target.h"
#include "property_tests/harness/backend.h"

#include <memory>
#include <string>

namespace slotproof::fuzz {

// A message: this header, then `size` bytes of input. At most 4096 bytes in all (PIPE_BUF), which a pipe takes whole or not at all.
struct FollowHeader {
  uint16_t target;  // index in targets(), or kEndOfProblems
  uint16_t size;
};
inline constexpr uint16_t kEndOfProblems = 0xFFFF;  // the campaign is over: the follower ends when it has judged what came before
inline constexpr size_t kMostFollowed = 4096 - sizeof(FollowHeader);

// The fuzzer's end: the pipe that SLOTPROOF_FUZZ_FOLLOW names.
class FollowedPipe {
 public:
  FollowedPipe();  // closed where the variable is not set
  void send(const Target& target, Input input);
  bool is_open() const { return fd_ >= 0; }
  uint64_t num_sent() const { return num_sent_; }
  uint64_t num_dropped() const { return num_dropped_; }

 private:
  int fd_ = -1;
  uint16_t target_ = 0;
  uint64_t num_sent_ = 0, num_dropped_ = 0;
};

// A call of a batch: its memory, and how it ended.
struct FollowedCall {
  harness::RemapCase remap_case;
  harness::Frame frame;
  int32_t code = 0;  // what the plug-in's remap() returned
  explicit FollowedCall(harness::RemapCase c) : remap_case(std::move(c)), frame(remap_case, 1) {}
};

// Runs calls with one synchronisation for all of them.
class DeviceBatch {
 public:
  virtual ~DeviceBatch() = default;
  // Every call runs on a copy of its frame's arena, guards included, which comes back. Returns an error, empty where there was none; behind
  // an error no further call of this process tells anything.
  virtual std::string run(std::vector<FollowedCall>& calls) = 0;
};
struct DeviceBatchOrReason {
  std::unique_ptr<DeviceBatch> batch;
  std::string reason;
};
DeviceBatchOrReason make_device_batch(const std::string& backend);  // "cuda", or "plugin:PATH" of one that works on device memory

}  // namespace slotproof::fuzz
