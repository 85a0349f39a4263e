#include "property_tests/harness/plugin_worker.h"

#include "property_tests/harness/guarded_buffer.h"
#include "property_tests/harness/plugin_protocol.h"

#include <dlfcn.h>
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

struct PluginOrReason {
  const slotproof_plugin* plugin = nullptr;
  std::string reason;
};

PluginOrReason load(const char* path) {
  void* object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (object == nullptr) return {nullptr, "it does not load: " + std::string(dlerror())};
  void* symbol = dlsym(object, "slotproof_plugin_v1");
  if (symbol == nullptr) return {nullptr, "it does not export slotproof_plugin_v1"};
  const slotproof_plugin* plugin = reinterpret_cast<const slotproof_plugin* (*)()>(symbol)();
  if (plugin == nullptr) return {nullptr, "slotproof_plugin_v1() returned null"};
  if (plugin->abi != SLOTPROOF_PLUGIN_ABI) {
    return {nullptr, "it was made for ABI " + std::to_string(plugin->abi) + ", not " + std::to_string(SLOTPROOF_PLUGIN_ABI)};
  }
  if (plugin->struct_size < sizeof(slotproof_plugin)) {
    return {nullptr, "its descriptor says struct_size " + std::to_string(plugin->struct_size) + ", less than the " +
                         std::to_string(sizeof(slotproof_plugin)) + " of ABI " + std::to_string(SLOTPROOF_PLUGIN_ABI)};
  }
  if (plugin->memory > SLOTPROOF_MEMORY_CUDA) return {nullptr, "it asks for memory " + std::to_string(plugin->memory)};
  if (plugin->level > SLOTPROOF_LEVEL_STABLE) return {nullptr, "it claims level " + std::to_string(plugin->level)};
  if (plugin->remap == nullptr) return {nullptr, "its remap is null"};
  return {plugin, {}};
}

slotproof_remap_arguments translated(slotproof_remap_arguments arguments, const CallLayout& layout, const CallMemory& memory) {
  for (slotproof_vector* vector : {&arguments.req_id, &arguments.prefill_request_id, &arguments.workspace_starts,
                                   &arguments.valid_counts}) {
    vector->data = memory.address_of(layout, vector->data);
  }
  for (slotproof_matrix* matrix : {&arguments.block_table, &arguments.token_indices, &arguments.slots}) {
    matrix->data = memory.address_of(layout, matrix->data);
  }
  return arguments;
}

protocol::Reply call(const slotproof_plugin& plugin, CallMemory& memory, SharedMapping& mapping) {
  protocol::Reply reply = {};
  reply.code = SLOTPROOF_RUN_FAILED;
  const CallLayout layout = shared_header->layout;
  std::string misuse = memory.bring_in(layout, mapping.arena());
  if (misuse.empty()) {
    const slotproof_remap_arguments arguments = translated(shared_header->arguments, layout, memory);
    const slotproof_run_options options = shared_header->options;
    reply.code = plugin.remap(&arguments, &options, memory.stream(), reply.message, sizeof reply.message);
    misuse = memory.bring_back(layout, mapping.arena());
  }
  // What goes wrong on the device stays wrong: no later call of this process would tell anything.
  reply.is_worker_lost = !misuse.empty() && plugin.memory == SLOTPROOF_MEMORY_CUDA;
  copy_text(reply.misuse, misuse);
  return reply;
}

[[noreturn]] void serve(int socket, int mapping_fd, const char* path) {
  SharedMapping mapping(mapping_fd);
  if (!mapping.grow_to(protocol::kArenaOffset)) _exit(1);
  auto [plugin, reason] = load(path);
  GuardedMemory host_memory;
  CallMemory* memory = &host_memory;
  std::unique_ptr<CallMemory> device_memory;
  if (plugin != nullptr && plugin->memory == SLOTPROOF_MEMORY_CUDA) {
    auto device = make_device_memory(Behind::kNothing);
    device_memory = std::move(device.memory);
    memory = device_memory.get();
    if (memory == nullptr) reason = "it needs CUDA memory: " + device.reason;
  } else {
    guarded_memory = &host_memory;
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
    const protocol::Reply reply = call(*plugin, *memory, mapping);
    if (send(socket, &reply, sizeof reply, MSG_NOSIGNAL) < 0) break;
  }
  _exit(0);  // The plug-in's own clean-up at exit is no part of what is tested.
}

}  // namespace

bool can_start_plugin_workers() { return main_made_the_call; }

int run_as_plugin_worker_if_asked(int argc, char** argv) {
  main_made_the_call = true;
  if (argc != 5 || std::strcmp(argv[1], protocol::kWorkerFlag) != 0) return 0;
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // If the parent is gone already, the socket says so.
  rlimit core = {};
  getrlimit(RLIMIT_CORE, &core);
  core.rlim_cur = std::min<rlim_t>(core.rlim_max, 1);  // 1 byte: no file, and none through a pipe either.
  setrlimit(RLIMIT_CORE, &core);
  install_crash_note();
  serve(std::atoi(argv[2]), std::atoi(argv[3]), argv[4]);
}

}  // namespace slotproof::harness
