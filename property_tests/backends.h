#pragma once
// The back ends of our own that tests run over, and a case as text.

#include "property_tests/harness/backend.h"
#include "property_tests/harness/case_file.h"

#include <gtest/gtest.h>
#include <slotproof/plugin.h>

#include <functional>
#include <memory>
#include <string>

namespace slotproof::harness {

// The case as a case file has it.
inline std::string as_json(const RemapCase& remap_case) {
  Case value;
  value.id = "counterexample";
  value.problem = remap_case;
  return to_json(value).dump();
}

// The back ends of our own; a test of one that is absent skips and says why.
inline const std::string kBackends[] = {"reference", "host", "cuda"};

class BackendTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    auto [made, reason] = make_backend(GetParam());
    if (!made) GTEST_SKIP() << "back end " << GetParam() << " is absent: " << reason;
    backend_ = std::move(made);
  }
  Backend& backend() { return *backend_; }

 private:
  std::unique_ptr<Backend> backend_;
};

// A back end made by a test: its way to run a problem, which may be wrong.
class MadeBackend final : public Backend {
 public:
  using Run = std::function<RunOutcome(Frame&, const Schedule&)>;
  explicit MadeBackend(Run run, uint64_t capabilities = SLOTPROOF_CAN_ALL) : info_{"made", Level::kStable, capabilities, ""}, run_(std::move(run)) {}
  const BackendInfo& info() const override { return info_; }
  RunOutcome run(Frame& frame, const Schedule& schedule) override { return run_(frame, schedule); }

 private:
  BackendInfo info_;
  Run run_;
};

inline std::string name_of_parameter(const testing::TestParamInfo<std::string>& info) {
  return info.param;
}

}  // namespace slotproof::harness
