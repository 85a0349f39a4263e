#pragma once
// The parent's end of a plug-in's worker: the process, the socket to it, the memory shared with it and what it prints.

#include "property_tests/harness/plugin_protocol.h"

#include <sys/types.h>

#include <string>

namespace slotproof::harness {

// Closes a file descriptor when it goes.
class UniqueFd {
 public:
  explicit UniqueFd(int fd = -1) : fd_(fd) {}
  ~UniqueFd() { reset(); }
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    reset(other.release());
    return *this;
  }
  int get() const { return fd_; }
  int release() {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }
  void reset(int fd = -1);

 private:
  int fd_;
};

// Functions that return a string return what went wrong, in words that begin with "the plug-in", or nothing.
class PluginProcess {
 public:
  PluginProcess() = default;
  ~PluginProcess();  // kills the worker where it still runs
  PluginProcess(const PluginProcess&) = delete;
  PluginProcess& operator=(const PluginProcess&) = delete;

  std::string start(const std::string& path, Buffers buffers);
  std::string send(const protocol::Request& request);
  // Waits for one message of exactly this size. Where the worker died, hung or sent something else, it is gone afterwards.
  std::string receive(void* message, size_t num_bytes, double time_limit_s);

  // Makes the shared mapping at least this large; header and arena may move. False where there is no memory.
  [[nodiscard]] bool reserve(uint64_t num_bytes);
  uint64_t mapping_bytes() const { return mapping_bytes_; }
  protocol::SharedHeader& header() { return *reinterpret_cast<protocol::SharedHeader*>(mapping_); }
  int32_t* arena() { return reinterpret_cast<int32_t*>(mapping_ + protocol::kArenaOffset); }

  std::string stderr_tail();  // the last 2 KB since the last request

 private:
  std::string spawn(const std::string& path, Buffers buffers, int socket_of_worker, int stderr_of_worker);
  void drain_stderr();
  std::string death(std::string otherwise);  // how the worker ended; `otherwise` where it had to be killed
  void kill_and_reap();

  pid_t pid_ = -1;
  UniqueFd socket_, stderr_, memory_;
  std::byte* mapping_ = nullptr;
  uint64_t mapping_bytes_ = 0;
  std::string tail_;
};

}  // namespace slotproof::harness
