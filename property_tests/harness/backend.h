#pragma once
// A back end is something that can run a remap problem: the reference, our kernel on the host or on the device, a plug-in.

#include "property_tests/harness/call_memory.h"
#include "property_tests/harness/kernel_paths.h"

#include <cstdint>
#include <memory>
#include <string>

namespace slotproof::harness {

enum class Level : uint8_t { kCore, kGuarded, kStable };
const char* name_of(Level level);  // "core"
std::optional<Level> level_of(std::string_view name);

struct BackendInfo {
  std::string name;  // "host", "host-fast", "plugin:PATH"
  Level level = Level::kStable;
  uint64_t capabilities = 0;  // SLOTPROOF_CAN_*
  std::string description;    // what ran, for the report: device, team widths
};

struct RunOutcome {
  enum class Kind : uint8_t {
    kDone,
    kRefused,  // by `refused`, nothing written
    kFault,    // crash, time limit, misused memory, CUDA error: never right
  };
  Kind kind = Kind::kDone;
  std::optional<spec::Rule> refused;
  std::string message;  // empty where done
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual const BackendInfo& info() const = 0;
  // Runs the problem in the frame's memory and leaves the outputs there.
  virtual RunOutcome run(Frame& frame, const Schedule& schedule) = 0;
  // Called with each case before it is run, where the back end may not live to tell. Default: nothing.
  virtual bool may_crash() const { return false; }
  // Its launches of our kernels, by path. Null for a back end that runs others.
  virtual const KernelPathTally* kernel_paths() const { return nullptr; }
};

// A back end by name, or why there is none: "cuda" without a device, a plug-in that does not load.
struct BackendOrReason {
  std::unique_ptr<Backend> backend;
  std::string reason;
};
struct BackendOptions {
  double time_limit_s = 5.0;            // for one call of a plug-in or of the CUDA worker
  Buffers buffers = Buffers::kGuarded;  // of CUDA memory
  bool is_in_process = false;           // plug-ins and CUDA without a worker: for debuggers and compute-sanitizer
};
BackendOrReason make_backend(std::string_view name, const BackendOptions& options = {});  // one of kOwnBackends, or "plugin:PATH"
inline constexpr const char* kOwnBackends[] = {"reference", "host", "host-fast", "cuda"};
BackendOrReason make_reference_backend();
BackendOrReason make_host_backend();
BackendOrReason make_fast_host_backend();
BackendOrReason make_cuda_backend(const BackendOptions& options = {});
BackendOrReason make_plugin_backend(const std::string& path, const BackendOptions& options = {});

}  // namespace slotproof::harness
