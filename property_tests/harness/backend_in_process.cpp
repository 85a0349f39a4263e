// A plug-in, or the CUDA kernels, in this process: for debuggers and for compute-sanitizer, which want one process that ends
// by itself. A crash is this program's own.

#include "property_tests/harness/backend.h"
#include "property_tests/harness/plugin_call.h"

namespace slotproof::harness {
namespace {

class InProcessBackend final : public Backend {
 public:
  InProcessBackend(const std::string& path, const slotproof_plugin& plugin, std::unique_ptr<CallMemory> memory)
      : plugin_(plugin), memory_(std::move(memory)), info_(info_of(path, plugin.name, plugin.memory, plugin.level, plugin.capabilities, "in this process")) {}
  const BackendInfo& info() const override { return info_; }
  bool may_crash() const override { return true; }

  RunOutcome run(Frame& frame, const Schedule& schedule) override {
    const spec::RemapProblem problem = frame.problem();
    const CallLayout layout = layout_of(frame, frame.arena(), problem);
    return outcome_of(call_plugin(plugin_, *memory_, layout, c_arguments_of(problem), c_options_of(schedule), frame.arena()), "the plug-in");
  }

 private:
  const slotproof_plugin& plugin_;
  std::unique_ptr<CallMemory> memory_;
  BackendInfo info_;
};

}  // namespace

BackendOrReason make_backend_in_process(const std::string& path, const BackendOptions& options) {
  const auto [plugin, reason] = load_plugin(path);
  if (plugin == nullptr) return {nullptr, reason};
  auto [memory, error] = make_call_memory(*plugin, options.buffers);
  if (memory == nullptr) return {nullptr, error};
  return {std::make_unique<InProcessBackend>(path, *plugin, std::move(memory)), {}};
}

}  // namespace slotproof::harness
