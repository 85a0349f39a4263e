#include "property_tests/harness/plugin_worker.h"

#include "property_tests/harness/guarded_buffer.h"
#include "property_tests/harness/plugin_call.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace slotproof::harness {
namespace {

bool main_made_the_call = false;

// What the signal handler needs.
GuardedMemory* guarded_memory = nullptr;
protocol::SharedHeader* shared_header = nullptr;

template <size_t size>
void copy_text(char (&target)[size], const std::string& text) {
  const size_t length = std::min(size - 1, text.size());
  std::memcpy(target, text.data(), length);
  target[length] = '\0';
}

protocol::CrashNote::Access access_of([[maybe_unused]] const void* context) {
#if defined(__x86_64__)
  constexpr greg_t kWriteBit = 2;  // of the page fault's error code
  const auto& registers = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs;
  return (registers[REG_ERR] & kWriteBit) != 0 ? protocol::CrashNote::kWrite : protocol::CrashNote::kRead;
#else
  return protocol::CrashNote::kUnknown;
#endif
}

// Notes which tensor was overrun. The handler is gone by then (SA_RESETHAND), so the access, repeated, ends the process.
void note_crash(int, siginfo_t* info, void* context) {
  if (guarded_memory == nullptr) return;
  const auto place = guarded_memory->place_in_guards(info->si_addr);
  if (place) shared_header->crash = {1, place->piece, place->distance, access_of(context)};
}

void install_crash_note() {
  static std::byte stack[64 * 1024];  // The plug-in may have used up the stack.
  stack_t alternate = {};
  alternate.ss_sp = stack;
  alternate.ss_size = sizeof stack;
  sigaltstack(&alternate, nullptr);
  struct sigaction action = {};
  action.sa_sigaction = note_crash;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | static_cast<int>(SA_RESETHAND);
  sigaction(SIGSEGV, &action, nullptr);
  sigaction(SIGBUS, &action, nullptr);
}

// The parent's mapping: the header for good, header and arena for as long as it does not grow.
class SharedMapping {
 public:
  explicit SharedMapping(int fd) : fd_(fd) {}
  bool grow_to(uint64_t num_bytes) {
    if (num_bytes == num_bytes_) return true;
    if (address_ != nullptr) munmap(address_, num_bytes_);
    void* address = mmap(nullptr, num_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    if (address == MAP_FAILED) return false;
    address_ = static_cast<std::byte*>(address);
    num_bytes_ = num_bytes;
    shared_header = reinterpret_cast<protocol::SharedHeader*>(address_);
    return true;
  }
  int32_t* arena() { return reinterpret_cast<int32_t*>(address_ + protocol::kArenaOffset); }

 private:
  int fd_;
  std::byte* address_ = nullptr;
  uint64_t num_bytes_ = 0;
};

[[noreturn]] void serve(int socket, int mapping_fd, const char* buffers, const char* path) {
  SharedMapping mapping(mapping_fd);
  if (!mapping.grow_to(protocol::kArenaOffset)) _exit(1);
  auto [plugin, reason] = load_plugin(path);
  std::unique_ptr<CallMemory> memory;
  if (plugin != nullptr) {
    auto made = make_call_memory(*plugin, std::strcmp(buffers, protocol::kExactBuffers) == 0 ? Buffers::kExact : Buffers::kGuarded);
    memory = std::move(made.memory);
    guarded_memory = dynamic_cast<GuardedMemory*>(memory.get());
    reason = made.reason;
    if (!reason.empty() && std::strcmp(path, kBuiltinCuda) != 0) reason = "it needs CUDA memory: " + reason;
  }

  protocol::Greeting greeting = {};
  copy_text(greeting.error, reason);
  if (plugin != nullptr) {
    copy_text(greeting.name, plugin->name != nullptr ? plugin->name : "");
    greeting.memory = plugin->memory;
    greeting.level = plugin->level;
    greeting.capabilities = plugin->capabilities;
  }
  if (send(socket, &greeting, sizeof greeting, MSG_NOSIGNAL) < 0 || !reason.empty()) _exit(1);

  protocol::Request request;
  while (recv(socket, &request, sizeof request, 0) == ssize_t(sizeof request)) {
    if (!mapping.grow_to(request.mapping_bytes)) _exit(1);
    const protocol::Reply reply =
        call_plugin(*plugin, *memory, CallLayout(shared_header->layout), shared_header->arguments, shared_header->options, mapping.arena());
    if (send(socket, &reply, sizeof reply, MSG_NOSIGNAL) < 0) break;
  }
  _exit(0);  // The plug-in's own clean-up at exit is no part of what is tested.
}

}  // namespace

bool can_start_plugin_workers() { return main_made_the_call; }

int run_as_plugin_worker_if_asked(int argc, char** argv) {
  main_made_the_call = true;
  if (argc != 6 || std::strcmp(argv[1], protocol::kWorkerFlag) != 0) return 0;
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // If the parent is gone already, the socket says so.
  rlimit core = {};
  getrlimit(RLIMIT_CORE, &core);
  core.rlim_cur = std::min<rlim_t>(core.rlim_max, 1);  // 1 byte: no file, and none through a pipe either.
  setrlimit(RLIMIT_CORE, &core);
  install_crash_note();
  serve(std::atoi(argv[2]), std::atoi(argv[3]), argv[4], argv[5]);
}

}  // namespace slotproof::harness
