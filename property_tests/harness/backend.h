#pragma once
// A back end is something that can run a remap problem: the reference, our kernel on the host or on the device, a plug-in.

#include "property_tests/harness/frame.h"

#include <cstdint>
#include <memory>
#include <string>

namespace slotproof::harness {

enum class Level : uint8_t { kCore, kGuarded, kStable };
const char* name_of(Level level);  // "core"
std::optional<Level> level_of(std::string_view name);

struct BackendInfo {
  std::string name;  // "host", "plugin:PATH"
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
};

// A back end by name, or why there is none: "cuda" without a device, a plug-in that does not load.
struct BackendOrReason {
  std::unique_ptr<Backend> backend;
  std::string reason;
};
BackendOrReason make_backend(std::string_view name);  // "reference", "host", "cuda", "plugin:PATH"
BackendOrReason make_reference_backend();
BackendOrReason make_host_backend();
BackendOrReason make_cuda_backend();
struct PluginOptions {
  double time_limit_s = 5.0;  // for one call
};
BackendOrReason make_plugin_backend(const std::string& path, const PluginOptions& options = {});

}  // namespace slotproof::harness
