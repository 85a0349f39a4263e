// Every mode, body and schedule of the remap, against the reference.

#include "fuzz/compare.h"
#include "fuzz/input.h"

namespace slotproof::fuzz {
namespace {

// Three rows show what rows do to each other, two warps what happens between warps; more only costs. Wide rows, and the wide teams
// that they are for, cost ten times as much, so they have a target of their own.
constexpr harness::DecoderOptions kNarrow{.max_num_tokens = 3, .max_topk = 132, .max_team_width = 64};
constexpr harness::DecoderOptions kWide{.max_num_tokens = 1, .one_wide_in = 1};

constexpr int32_t kLeastWide = 256;

// Case text of the other width is the other target's.
template <const harness::DecoderOptions& kOptions>
std::optional<harness::RemapCase> case_in(Input input) {
  auto remap_case = remap_case_of(input, kOptions);
  if (remap_case && is_case_text(input) && (remap_case->topk() >= kLeastWide) != (&kOptions == &kWide)) return std::nullopt;
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
const Target kRemapWide{"remap_wide", "the same on rows of 512 to 2176 columns", run<kWide>, decode<kWide>, case_of<kWide>, mutate_remap_text, case_in<kWide>};

}  // namespace slotproof::fuzz
