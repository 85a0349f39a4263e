// Every mode, body and schedule of the remap, against the reference.

#include "fuzz/compare.h"
#include "fuzz/input.h"
#include "property_tests/harness/kernel_paths.h"

namespace slotproof::fuzz {
namespace {

// Three rows show what rows do to each other, two warps what happens between warps; more only costs. Wide rows, and the wide teams
// that they are for, cost ten times as much, so they have a target of their own.
constexpr harness::DecoderOptions kNarrow{.max_num_tokens = 3, .max_topk = 132, .max_team_width = 64};
constexpr harness::DecoderOptions kWide{.max_num_tokens = 1, .one_wide_in = 1};

constexpr int32_t kLeastWide = 256;

// Elements of `from` among those of `to`, every seventh place.
void strew(const std::vector<int32_t>& from, std::vector<int32_t>& to) {
  for (size_t i = 0; i < from.size() && i * 7 < to.size(); ++i) to[i * 7] = from[i];
}

// A schedule is drawn behind all elements, so no input of some hundred bytes asks the planner for what is fastest on a row of thousands.
// So the last two bytes of an input may name a kernel's path: then the problem is the one of that path, with the drawn elements in it.
std::optional<harness::RemapCase> case_on_path(Input input, const harness::RemapCase& drawn) {
  if (input.size() < 2 || input.back() < 128) return std::nullopt;
  static thread_local std::vector<std::optional<harness::RemapCase>> cases(kNumKernelPaths);
  const auto index = size_t(input[input.size() - 2] | (input.back() % 128) << 8) % size_t(kNumKernelPaths);
  if (!cases[index]) cases[index] = harness::case_of(kernel_path_of(int(index)));
  harness::RemapCase made = *cases[index];
  strew(drawn.token_indices.storage, made.token_indices.storage);
  strew(drawn.block_table.storage, made.block_table.storage);
  if (drawn.num_tokens() > 0 && made.num_tokens() > 1) made.req_id.back() = drawn.req_id.front();
  if (made.placement == spec::Placement::kCompacted) made.order = drawn.order;
  made.schedule.thread_order_seed = drawn.schedule.thread_order_seed;
  made.schedule.cta_order_seed = drawn.schedule.cta_order_seed;
  return made;
}

// Whether a campaign with another back end keeps to less than everything.
bool is_restricted(const harness::DecoderOptions& options) {
  const auto left = restricted(options);
  return left.level != options.level || left.capabilities != options.capabilities;
}

// Case text of the other width is the other target's.
template <const harness::DecoderOptions& kOptions>
std::optional<harness::RemapCase> case_in(Input input) {
  auto remap_case = remap_case_of(input, kOptions);
  if (remap_case && is_case_text(input) && (remap_case->topk() >= kLeastWide) != (&kOptions == &kWide)) return std::nullopt;
  if (&kOptions == &kWide && remap_case && !is_case_text(input) && !is_restricted(kOptions)) {
    if (auto on_path = case_on_path(input, *remap_case)) return on_path;
  }
  return remap_case;
}

template <const harness::DecoderOptions& kOptions>
Outcome run(Input input, Depth depth) {
  const auto remap_case = case_in<kOptions>(input);
  if (!remap_case) return {};
  return compare_remap(*remap_case, depth == Depth::kFull || is_sampled(input));
}

template <const harness::DecoderOptions& kOptions>
void decode(harness::ByteChoices& choices) {
  harness::decode_remap(choices, restricted(kOptions));
}

template <const harness::DecoderOptions& kOptions>
std::optional<harness::Case> case_of(Input input) {
  const auto remap_case = case_in<kOptions>(input);
  return remap_case ? std::optional(case_with_answer(*remap_case)) : std::nullopt;
}

}  // namespace

const Target kRemap{
    "remap",         "every mode, body and schedule of the remap, on narrow rows", run<kNarrow>, decode<kNarrow>, case_of<kNarrow>, mutate_remap_text,
    case_in<kNarrow>};
const Target kRemapWide{"remap_wide", "the same on wide rows, and every path of every kernel", run<kWide>, decode<kWide>, case_of<kWide>, mutate_remap_text, case_in<kWide>};

}  // namespace slotproof::fuzz
