#include "property_tests/harness/plugin_process.h"

#include "property_tests/harness/plugin_worker.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

extern char** environ;

namespace slotproof::harness {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kTailBytes = 2048;
constexpr uint64_t kLeastMappingBytes = 64 * 1024;
constexpr auto kGrace = std::chrono::seconds(2);  // from the end of the connection to the end of the process

std::string system_error(const char* what) { return std::string(what) + " failed: " + std::strerror(errno); }

// Above the three standard descriptors, which the worker's own replace.
UniqueFd above_standard(int fd) {
  if (fd < 0 || fd > 2) return UniqueFd(fd);
  UniqueFd low(fd);
  return UniqueFd(fcntl(fd, F_DUPFD_CLOEXEC, 3));
}

// Signals must end the worker as they end any program, whatever a sanitizer would rather do; the parent tells the signal.
std::vector<std::string> environment_of_worker() {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
  for (const std::string name : {"ASAN_OPTIONS=", "UBSAN_OPTIONS=", "TSAN_OPTIONS=", "MSAN_OPTIONS="}) {
    std::string options = "handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:handle_abort=0:detect_leaks=0";
    const auto given = std::find_if(environment.begin(), environment.end(),
                                    [&name](const std::string& entry) { return entry.starts_with(name); });
    if (given == environment.end()) {
      environment.push_back(name + options);
    } else {
      *given += ":" + options;  // The last one counts.
    }
  }
  return environment;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

void UniqueFd::reset(int fd) {
  if (fd_ >= 0) close(fd_);
  fd_ = fd;
}

PluginProcess::~PluginProcess() {
  kill_and_reap();
  if (mapping_ != nullptr) munmap(mapping_, mapping_bytes_);
}

std::string PluginProcess::start(const std::string& path, Buffers buffers) {
  if (!can_start_plugin_workers()) return "this program's main() does not call run_as_plugin_worker_if_asked()";
  int sockets[2], pipes[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) return system_error("socketpair");
  socket_ = above_standard(sockets[0]);
  const UniqueFd socket_of_worker = above_standard(sockets[1]);
  if (pipe2(pipes, O_CLOEXEC) != 0) return system_error("pipe2");
  stderr_ = above_standard(pipes[0]);
  const UniqueFd stderr_of_worker = above_standard(pipes[1]);
  fcntl(stderr_.get(), F_SETFL, O_NONBLOCK);
  memory_ = above_standard(memfd_create("slotproof-plugin", MFD_CLOEXEC));
  if (memory_.get() < 0) return system_error("memfd_create");
  if (!reserve(kLeastMappingBytes)) return system_error("mapping shared memory");
  return spawn(path, buffers, socket_of_worker.get(), stderr_of_worker.get());
}

std::string PluginProcess::spawn(const std::string& path, Buffers buffers, int socket_of_worker, int stderr_of_worker) {
  std::vector<std::string> words = {program_invocation_name, protocol::kWorkerFlag, std::to_string(socket_of_worker),
                                    std::to_string(memory_.get()),
                                    buffers == Buffers::kExact ? protocol::kExactBuffers : protocol::kGuardedBuffers, path};
  std::vector<std::string> environment = environment_of_worker();
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&files, stderr_of_worker, 2);
  posix_spawn_file_actions_adddup2(&files, socket_of_worker, socket_of_worker);  // onto itself: keeps it open
  posix_spawn_file_actions_adddup2(&files, memory_.get(), memory_.get());
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  // A group of its own: an interrupt from the terminal is for the parent, which ends the worker and whatever that started.
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  const int code = posix_spawn(&pid_, "/proc/self/exe", &files, &attributes, pointers_to(words).data(),
                               pointers_to(environment).data());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (code == 0) return {};
  pid_ = -1;
  return std::string("starting a worker failed: ") + std::strerror(code);
}

bool PluginProcess::reserve(uint64_t num_bytes) {
  if (num_bytes <= mapping_bytes_) return true;
  const uint64_t grown = std::max({num_bytes, 2 * mapping_bytes_, kLeastMappingBytes});
  if (ftruncate(memory_.get(), off_t(grown)) != 0) return false;
  void* mapping = mmap(nullptr, grown, PROT_READ | PROT_WRITE, MAP_SHARED, memory_.get(), 0);
  if (mapping == MAP_FAILED) return false;
  if (mapping_ != nullptr) munmap(mapping_, mapping_bytes_);
  mapping_ = static_cast<std::byte*>(mapping);
  mapping_bytes_ = grown;
  return true;
}

std::string PluginProcess::send(const protocol::Request& request) {
  drain_stderr();
  tail_.clear();
  if (::send(socket_.get(), &request, sizeof request, MSG_NOSIGNAL) == ssize_t(sizeof request)) return {};
  return death("the plug-in closed its connection") + " between two calls";
}

std::string PluginProcess::receive(void* message, size_t num_bytes, double time_limit_s) {
  const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(time_limit_s));
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd waiting[2] = {{socket_.get(), POLLIN, 0}, {stderr_.get(), POLLIN, 0}};
    const int num_ready = poll(waiting, 2, int(std::clamp<int64_t>(left, 0, 1 << 30)));
    if (num_ready < 0 && errno != EINTR) return death(system_error("the plug-in cannot be waited for: poll"));
    if (num_ready > 0 && waiting[1].revents != 0) drain_stderr();
    if (num_ready > 0 && waiting[0].revents != 0) {
      // MSG_TRUNC makes recv() tell the true size of a message that is too long.
      const ssize_t received = recv(socket_.get(), message, num_bytes, MSG_DONTWAIT | MSG_TRUNC);
      if (received == ssize_t(num_bytes)) return {};
      if (received > 0) return death("the plug-in wrote to its worker's connection");
      return death("the plug-in closed its connection");
    }
    if (num_ready <= 0 && Clock::now() >= deadline) {
      kill_and_reap();
      char limit[32];
      std::snprintf(limit, sizeof limit, "%g", time_limit_s);
      return std::string("the plug-in did not return within ") + limit + " s";
    }
  }
}

// A closed pipe stays readable for ever, so it is given up then, lest the wait for the socket spin.
void PluginProcess::drain_stderr() {
  char buffer[4096];
  while (stderr_.get() >= 0) {
    const ssize_t num_bytes = read(stderr_.get(), buffer, sizeof buffer);
    if (num_bytes < 0 && errno == EINTR) continue;
    if (num_bytes == 0) stderr_.reset();
    if (num_bytes <= 0) return;
    tail_.append(buffer, size_t(num_bytes));
    if (tail_.size() > kTailBytes) tail_.erase(0, tail_.size() - kTailBytes);
  }
}

std::string PluginProcess::stderr_tail() {
  drain_stderr();
  while (!tail_.empty() && std::isspace(static_cast<unsigned char>(tail_.back()))) tail_.pop_back();
  return tail_;
}

std::string PluginProcess::death(std::string otherwise) {
  int status = 0;
  pid_t ended = 0;
  for (const auto deadline = Clock::now() + kGrace; ended == 0 && Clock::now() < deadline;) {
    ended = waitpid(pid_, &status, WNOHANG);
    if (ended == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (ended != pid_) {
    kill_and_reap();
    return otherwise;
  }
  kill(-pid_, SIGKILL);  // what it started
  pid_ = -1;
  if (WIFSIGNALED(status)) {
    const char* name = sigabbrev_np(WTERMSIG(status));
    return "the plug-in died with " + (name != nullptr ? std::string("SIG") + name : "signal " + std::to_string(WTERMSIG(status)));
  }
  return "the plug-in ended its process with exit code " + std::to_string(WEXITSTATUS(status));
}

void PluginProcess::kill_and_reap() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);   // The group may not be there yet.
  kill(-pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
  pid_ = -1;
}

}  // namespace slotproof::harness
