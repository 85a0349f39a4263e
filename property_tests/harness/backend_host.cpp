#include "property_tests/harness/backend.h"
#include "property_tests/harness/kernel_arguments.h"

#include <slotproof/plugin.h>

namespace slotproof::harness {
namespace {

class HostBackend final : public Backend {
 public:
  const BackendInfo& info() const override { return info_; }

  RunOutcome run(Frame& frame, const Schedule& schedule) override {
    const HostOptions options{schedule.team_width, schedule.thread_order_seed, schedule.cta_order_seed};
    return outcome_of(remap_on_host(remap_args_of(frame.problem()), options));
  }

 private:
  BackendInfo info_{"host", Level::kStable, SLOTPROOF_CAN_ALL, "the kernels' bodies on the host, with checked memory"};
};

}  // namespace

BackendOrReason make_host_backend() { return {std::make_unique<HostBackend>(), {}}; }

}  // namespace slotproof::harness
