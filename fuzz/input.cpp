#include "fuzz/input.h"

#include "kernels/tiling.h"
#include "property_tests/harness/shrinker.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <random>

namespace slotproof::fuzz {
using harness::RemapCase;

namespace {

// The last text that was read or written, with its cases.
struct LastText {
  std::string text;
  std::vector<harness::Case> cases;
};
LastText& last_text() {
  static thread_local LastText last;
  return last;
}

}  // namespace

std::span<const harness::Case> cases_in(Input input) {
  LastText& last = last_text();
  const std::string_view text(reinterpret_cast<const char*>(input.data()), input.size());
  if (text != last.text) {
    last.text = text;
    last.cases = harness::parse_cases(last.text).cases;
  }
  return last.cases;
}

std::optional<RemapCase> remap_case_in_text(Input input) {
  auto remap_case = problem_in_text<RemapCase>(input);
  if (remap_case && !check(PlanOptions{remap_case->schedule.team_width, remap_case->schedule.planned_rows}).ok()) {
    remap_case->schedule.team_width = remap_case->schedule.planned_rows = 0;
  }
  return remap_case;
}

std::optional<RemapCase> remap_case_of(Input input, const harness::DecoderOptions& options) {
  if (is_case_text(input)) return remap_case_in_text(input);
  harness::ByteChoices choices(input.data(), input.size());
  return decode_remap(choices, restricted(options));
}

harness::DecoderOptions restricted(harness::DecoderOptions options) {
  struct Restriction {
    std::optional<harness::Level> level;
    uint64_t capabilities = ~uint64_t{0};
  };
  static const Restriction asked = [] {
    Restriction restriction;
    if (const char* level = std::getenv("SLOTPROOF_FUZZ_LEVEL"))
      restriction.level = std::string_view(level) == "core" ? harness::Level::kCore : harness::Level::kGuarded;
    if (const char* capabilities = std::getenv("SLOTPROOF_FUZZ_CAPABILITIES")) restriction.capabilities = std::strtoull(capabilities, nullptr, 0);
    return restriction;
  }();
  if (asked.level) options.level = *asked.level;
  options.capabilities &= asked.capabilities;
  return options;
}

std::string input_of(const harness::Case& value) {
  return harness::write_cases({value});
}

std::string input_of(harness::Problem problem) {
  harness::Case value;
  value.id = "input";
  value.problem = std::move(problem);
  LastText& last = last_text();
  last.text = input_of(value);
  last.cases.assign(1, std::move(value));
  return last.text;
}

harness::Case case_with_answer(const RemapCase& remap_case) {
  harness::Case value;
  value.problem = remap_case;
  value.expected = harness::expectation_of(remap_case);
  return value;
}

namespace {

using Random = std::minstd_rand;

int32_t odd_value(Random& random, int32_t old) {
  constexpr int32_t kMax = std::numeric_limits<int32_t>::max(), kMin = std::numeric_limits<int32_t>::min();
  switch (random() % 9) {
    case 0: return -1;
    case 1: return 0;
    case 2: return kMax;
    case 3: return kMin;
    case 4: return old < kMax ? old + 1 : old;
    case 5: return old > kMin ? old - 1 : old;
    case 6: return int32_t(random() % 16);
    case 7: return int32_t(random() % 1024);
    default: return int32_t(random());
  }
}

void change_element(std::vector<int32_t>& storage, Random& random) {
  if (storage.empty()) return;
  int32_t& element = storage[random() % storage.size()];
  element = random() % 3 == 0 ? storage[random() % storage.size()] : odd_value(random, element);
}

void change_option(RemapCase& c, Random& random) {
  switch (random() % 13) {
    case 0: c.placement = c.placement == spec::Placement::kCompacted ? spec::Placement::kInPlace : spec::Placement::kCompacted; break;
    case 1: c.order = c.order == spec::Order::kStable ? spec::Order::kUnspecified : spec::Order::kStable; break;
    case 2: c.counts = !c.counts; break;
    case 3: c.block_size = odd_value(random, c.block_size); break;
    case 4: c.block_stride_rows = int64_t{c.block_size} + int64_t(random() % 8); break;
    case 5: c.dcp.size = 1 + int32_t(random() % 8); break;
    case 6: c.dcp.rank = int32_t(random() % 8); break;
    case 7: c.dcp.interleave = 1 + int32_t(random() % 8); break;
    case 8: c.num_blocks = int64_t(random() % 16); break;
    case 9: (random() % 2 == 0 ? c.schedule.thread_order_seed : c.schedule.cta_order_seed) = random(); break;
    case 10: c.schedule.team_width = random() % 2 == 0 ? 0 : 32 << random() % 4; break;
    case 11: c.schedule.planned_rows = random() % 2 == 0 ? 0 : 1 << random() % 14; break;
    default: c.layout.misalignment[random() % harness::kNumTensors] = uint8_t(random() % 4); break;
  }
}

}  // namespace

bool mutate_remap_text(std::string& text, uint32_t seed) {
  auto remap_case = remap_case_in_text({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  if (!remap_case) return false;
  Random random(seed + 1);
  for (uint32_t n = 1 + uint32_t(random() % 3); n > 0; --n) {
    switch (random() % 8) {
      case 0:
      case 1:
      case 2: change_element(remap_case->token_indices.storage, random); break;
      case 3: change_element(remap_case->block_table.storage, random); break;
      case 4: change_element(remap_case->prefill && random() % 2 ? remap_case->prefill->request_ids : remap_case->req_id, random); break;
      case 5:
      case 6: change_option(*remap_case, random); break;
      default: {
        const auto pass = harness::ShrinkPass(random() % harness::kNumShrinkPasses);
        const int count = harness::num_simpler_cases(*remap_case, pass);
        if (count > 0) remap_case = harness::simpler_case(*remap_case, pass, int(random() % uint32_t(count)));
      }
    }
  }
  text = input_of(*remap_case);
  return true;
}

}  // namespace slotproof::fuzz
