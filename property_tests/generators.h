#pragma once
// RapidCheck over our decoder and our shrinker, and the list of back ends that every property runs over.

#include "property_tests/harness/backend.h"
#include "property_tests/harness/case_file.h"
#include "property_tests/harness/decoder.h"
#include "property_tests/harness/shrinker.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <memory>
#include <ostream>
#include <string>

namespace slotproof::harness {

// What RapidCheck prints of a counterexample: the case as a case file has it.
inline void showValue(const RemapCase& remap_case, std::ostream& os) {
  Case value;
  value.id = "counterexample";
  value.problem = remap_case;
  os << to_json(value).dump();
}

inline rc::Gen<RemapCase> remap_cases(DecoderOptions options = {}) {
  return [options](const rc::Random& random, int) {
    const RemapCase drawn = draw_remap(rc::Random(random).next(), 0, options);
    return rc::shrinkable::shrinkRecur(drawn, [](const RemapCase& c) { return rc::seq::fromContainer(simpler_cases(c)); });
  };
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

inline std::string name_of_parameter(const testing::TestParamInfo<std::string>& info) { return info.param; }

}  // namespace slotproof::harness
