#include "property_tests/harness/backend.h"
#include "reference/remap.h"

#include <slotproof/plugin.h>

namespace slotproof::harness {
namespace {

class ReferenceBackend final : public Backend {
 public:
  const BackendInfo& info() const override { return info_; }

  RunOutcome run(Frame& frame, const Schedule&) override {
    const auto refusal = reference::remap(frame.problem());
    if (refusal) return {RunOutcome::Kind::kRefused, refusal->rule, refusal->message};
    return {};
  }

 private:
  BackendInfo info_{"reference", Level::kStable, SLOTPROOF_CAN_ALL, "the oracle's closed form, one thread"};
};

}  // namespace

BackendOrReason make_reference_backend() { return {std::make_unique<ReferenceBackend>(), {}}; }

}  // namespace slotproof::harness
