// The kernels on the GPU. They run in a worker as a plug-in does: a broken CUDA context, a hang or a crash ends one call, and
// this process never has a context of its own.

#include "kernels/cuda_plugin.h"
#include "property_tests/harness/backend.h"
#include "property_tests/harness/kernel_arguments.h"
#include "property_tests/harness/plugin_call.h"

namespace slotproof::harness {
namespace {

class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(std::unique_ptr<Backend> inner) : inner_(std::move(inner)), info_(inner_->info()) { info_.name = "cuda"; }
  const BackendInfo& info() const override { return info_; }
  bool may_crash() const override { return true; }
  const KernelPathTally* kernel_paths() const override { return &paths_; }

  RunOutcome run(Frame& frame, const Schedule& schedule) override {
    RunOutcome outcome = inner_->run(frame, schedule);
    if (outcome.kind == RunOutcome::Kind::kDone) paths_.add(remap_args_of(frame.problem()), schedule);
    return outcome;
  }

 private:
  std::unique_ptr<Backend> inner_;
  BackendInfo info_;
  KernelPathTally paths_;
};

}  // namespace

const slotproof_plugin* builtin_cuda_plugin() {
  static const std::string name = device_description();
  static const slotproof_plugin plugin = cuda_plugin_named(name.c_str());
  return &plugin;
}

BackendOrReason make_cuda_backend(const BackendOptions& options) {
  // The driver's version is the cheap probe; whether there is a device is the worker's to find out.
  std::string reason = reason_without_driver();
  if (!reason.empty()) return {nullptr, std::move(reason)};
  auto [inner, error] = options.is_in_process ? make_backend_in_process(kBuiltinCuda, options) : make_backend_in_worker(kBuiltinCuda, options);
  if (inner == nullptr) return {nullptr, std::move(error)};
  return {std::make_unique<CudaBackend>(std::move(inner)), {}};
}

}  // namespace slotproof::harness
