#include "property_tests/harness/backend.h"
#include "property_tests/harness/kernel_arguments.h"

#include <slotproof/plugin.h>

namespace slotproof::harness {
namespace {

class HostBackend final : public Backend {
 public:
  const BackendInfo& info() const override { return info_; }

  RunOutcome run(Frame& frame, const Schedule& schedule) override {
    const HostOptions options{schedule.team_width, schedule.thread_order_seed, schedule.cta_order_seed, schedule.planned_rows};
    const RemapArgs args = remap_args_of(frame.problem());
    RunOutcome outcome = outcome_of(remap_on_host(args, options));
    if (outcome.kind == RunOutcome::Kind::kDone) paths_.add(args, schedule);
    return outcome;
  }
  const KernelPathTally* kernel_paths() const override { return &paths_; }

 private:
  BackendInfo info_{"host", Level::kStable, SLOTPROOF_CAN_ALL, "the kernels' bodies on the host, with checked memory"};
  KernelPathTally paths_;
};

// Its team is not the one that the launcher would pick, so it counts for no path.
class FastHostBackend final : public Backend {
 public:
  const BackendInfo& info() const override { return info_; }

  RunOutcome run(Frame& frame, const Schedule& schedule) override {
    return outcome_of(remap_on_host_fast(remap_args_of(frame.problem()), {.team_width = schedule.team_width}));
  }

 private:
  BackendInfo info_{"host-fast", Level::kStable, SLOTPROOF_CAN_ALL, "the kernels' bodies on the host for speed, without checks"};
};

}  // namespace

BackendOrReason make_host_backend() {
  return {std::make_unique<HostBackend>(), {}};
}
BackendOrReason make_fast_host_backend() {
  return {std::make_unique<FastHostBackend>(), {}};
}

}  // namespace slotproof::harness
