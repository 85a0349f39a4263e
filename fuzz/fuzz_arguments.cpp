// Hostile arguments: refused exactly as A1-A15 say, by kernels, reference and spec alike, with nothing written; and run where
// nothing refuses them.

#include "fuzz/compare.h"
#include "fuzz/input.h"

#include <limits>

namespace slotproof::fuzz {
namespace {

using harness::ArgumentEdit;
using harness::ByteChoices;
using harness::RemapCase;
using harness::Tensor;

constexpr harness::DecoderOptions kOptions{.max_num_tokens = 3, .max_topk = 40, .max_team_width = 32};

int64_t hostile_value(ByteChoices& choices, const RemapCase& c) {
  constexpr int64_t kMax32 = std::numeric_limits<int32_t>::max(), kMax64 = std::numeric_limits<int64_t>::max(), kMin64 = std::numeric_limits<int64_t>::min();
  switch (choices.below(16)) {
    case 0: return 0;
    case 1: return -1;
    case 2: return c.topk() + int64_t(choices.below(5)) - 2;
    case 3: return c.num_tokens() + int64_t(choices.below(5)) - 2;
    case 4: return c.block_size + int64_t(choices.below(5)) - 2;
    case 5: return (int64_t{1} << 60) + int64_t(choices.below(3)) - 1;
    case 6: return kMax32 - int64_t(choices.below(2));
    case 7: return kMax32 + 1 + int64_t(choices.below(2));
    case 8: return -kMax32 - 1;
    case 9: return kMax64 - int64_t(choices.below(2));
    case 10: return kMin64 + int64_t(choices.below(2));
    case 11: return int64_t(choices.bits64());
    default: return int64_t(choices.below(64));
  }
}

void add_scalar(RemapCase& c, ByteChoices& choices) {
  const uint32_t which = choices.below(8);
  const int64_t value = hostile_value(choices, c);
  switch (which) {
    case 0: c.block_size = int32_t(value); break;
    case 1: c.block_stride_rows = value; break;
    case 2: c.num_blocks = value; break;
    case 3: c.dcp.size = int32_t(value); break;
    case 4: c.dcp.rank = int32_t(value); break;
    case 5: c.dcp.interleave = int32_t(value); break;
    case 6: c.tile = int32_t(value); break;
    default:
      if (c.prefill) c.prefill->num_workspace_rows = value;
  }
}

RemapCase decode_arguments(ByteChoices& choices) {
  RemapCase c = decode_remap(choices, restricted(kOptions));
  for (uint32_t left = choices.below(5); left > 0; --left) {
    if (choices.below(3) == 0) {
      add_scalar(c, choices);
      continue;
    }
    ArgumentEdit edit;
    edit.kind = ArgumentEdit::Kind(choices.below(uint32_t(ArgumentEdit::Kind::kDrop) + 1));
    edit.tensor = Tensor(choices.below(harness::kNumTensors));
    edit.value = hostile_value(choices, c);
    edit.other = Tensor(choices.below(harness::kNumTensors));
    c.edits.push_back(edit);
  }
  return c;
}

std::optional<RemapCase> case_in(Input input) {
  if (is_case_text(input)) return remap_case_in_text(input);
  ByteChoices choices(input.data(), input.size());
  return decode_arguments(choices);
}

Outcome run(Input input, Depth depth) {
  const auto remap_case = case_in(input);
  if (!remap_case) return {};
  return compare_remap(*remap_case, depth == Depth::kFull || is_sampled(input));
}

}  // namespace

const Target kArguments{"arguments",
                        "hostile arguments, A1-A15",
                        run,
                        [](ByteChoices& choices) { decode_arguments(choices); },
                        [](Input input) {
                          const auto remap_case = case_in(input);
                          return remap_case ? std::optional(case_with_answer(*remap_case)) : std::nullopt;
                        },
                        mutate_remap_text,
                        case_in};

}  // namespace slotproof::fuzz
