// R13 and R14 as one property: an answer does not depend on schedule, tile, body, memory, other rows or other calls, all drawn at once.

#include "property_tests/body_cases.h"
#include "property_tests/generators.h"
#include "property_tests/harness/independence.h"
#include "property_tests/harness/kernel_arguments.h"

#include <rapidcheck/gtest.h>

#include <map>
#include <set>

namespace slotproof::harness {

// What RapidCheck prints of a counterexample. The failure itself says what was drawn for each.
inline void showValue(const Variation& variation, std::ostream& os) {
  os << "seed " << variation.seed << ":";
  for (int change = 0; change < kNumChanges; ++change) {
    if (variation.has(Change(change))) os << " " << name_of(Change(change)) << ";";
  }
}

namespace {

rc::Gen<RemapCase> cases_of_every_body() {
  return [](const rc::Random& random, int) {
    const RemapCase drawn = draw_of_every_body(rc::Random(random).next());
    return rc::shrinkable::shrinkRecur(drawn, [](const RemapCase& c) { return rc::seq::fromContainer(simpler_cases(c)); });
  };
}

rc::Gen<Variation> variations() {
  return [](const rc::Random& random, int) {
    const Variation drawn = draw_variation(rc::Random(random).next());
    return rc::shrinkable::shrinkRecur(drawn, [](const Variation& v) { return rc::seq::fromContainer(simpler_variations(v)); });
  };
}

// One draw in 30 at least takes each body, and there are tuned, staged and shared rows of the widths in use. The narrowest is looked up
// where it lies, and is one team's.
TEST(Independence, TheDrawsTakeEveryBodyAtEveryWidth) {
  constexpr int kDraws = 300;
  std::map<Body, int> drawn;
  std::map<std::pair<Body, int32_t>, int> drawn_of_width;
  for (uint64_t seed = 0; seed < kDraws; ++seed) {
    const RemapCase c = draw_of_every_body(seed);
    Frame frame(c, 1);
    const RemapArgs args = remap_args_of(frame.problem());
    if (!validate(args).ok()) continue;
    const KernelPathSet paths = kernel_paths_of(args, {c.schedule.team_width, c.schedule.planned_rows});
    std::set<Body> bodies;
    for (int i = 0; i < kNumKernelPaths; ++i) {
      if (paths[size_t(i)]) bodies.insert(body_of(kernel_path_of(i)));
    }
    for (const Body body : bodies) ++drawn[body], ++drawn_of_width[{body, c.topk()}];
  }
  for (const Body body : kBodies) EXPECT_GE(drawn[body], kDraws / 30) << "body " << int(body);
  for (const int32_t topk : {512, 1024, 2048, 4096}) {
    for (const Body body : {Body::kTuned, Body::kTunedStaged, Body::kShared}) {
      const bool is_due = body == Body::kTuned || topk > 512;
      EXPECT_TRUE(!is_due || drawn_of_width[std::pair(body, topk)] > 0) << "body " << int(body) << ", K = " << topk;
    }
  }
}

// Each body of our kernels was launched, where the back end tells.
void expect_every_body(const Backend& backend) {
  if (backend.kernel_paths() == nullptr) return;
  std::set<Body> launched;
  for (int i = 0; i < kNumKernelPaths; ++i) {
    if (backend.kernel_paths()->num_launches[size_t(i)] > 0) launched.insert(body_of(kernel_path_of(i)));
  }
  EXPECT_EQ(launched.size(), std::size(kBodies));
}

using EveryBackEnd = BackendTest;

TEST_P(EveryBackEnd, AnswersAlikeWhateverIsVaried) {
  std::vector<std::unique_ptr<Backend>> others;
  for (const char* name : {"reference", "host", "host-fast"}) {
    if (name != GetParam()) others.push_back(make_backend(name).backend);
  }
  ASSERT_TRUE(rc::check("answers of " + GetParam(), [&] {
    const Variation variation = *variations().as("variation");  // Before the case: that little is varied tells the most.
    const RemapCase c = *cases_of_every_body().as("case");
    const std::string found = dependence(backend(), others[variation.seed % others.size()].get(), c, variation);
    if (!found.empty()) RC_FAIL(found);
  }));
  expect_every_body(backend());
}
INSTANTIATE_TEST_SUITE_P(Independence, EveryBackEnd, testing::ValuesIn(std::vector<std::string>(std::begin(kOwnBackends), std::end(kOwnBackends))),
                         [](const auto& tested) { return tested.param == "host-fast" ? "host_fast" : tested.param; });

class EveryDiagnosis : public testing::TestWithParam<std::string> {};

TEST_P(EveryDiagnosis, CountsAlikeWhateverIsVaried) {
  const auto [backend, reason] = make_diagnosis_backend(GetParam());
  if (!backend) GTEST_SKIP() << "back end " << GetParam() << " is absent: " << reason;
  const auto other = make_diagnosis_backend(GetParam() == "host" ? "reference" : "host");
  EXPECT_TRUE(rc::check("diagnosis of " + GetParam(), [&, &made = backend] {
    const Variation variation = *variations().as("variation");
    const RemapCase c = *cases_of_every_body().as("case");
    const std::string found = dependence(*made, other.backend.get(), c, variation);
    if (!found.empty()) RC_FAIL(found);
  }));
}
INSTANTIATE_TEST_SUITE_P(Independence, EveryDiagnosis, testing::ValuesIn(kBackends), name_of_parameter);

}  // namespace
}  // namespace slotproof::harness
