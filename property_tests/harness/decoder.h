#pragma once
// The one decoder: a total function from a stream of choices to a problem with its schedule, biased to the corners of every
// rule. Uniform picks would reach an edge such as "the last column of the table" about never. It has two halves: decoder_shape.h draws
// all but the elements, decoder_elements.h the elements. Bulk batches (bulk.h) use the same two.

#include "property_tests/harness/backend.h"
#include "property_tests/harness/choices.h"
#include "property_tests/harness/remap_case.h"

namespace slotproof::harness {

struct DecoderOptions {
  Level level = Level::kStable;           // kCore: inputs inside the seed's contract, no refusals
  uint64_t capabilities = ~uint64_t{0};   // SLOTPROOF_CAN_*: what the problem may ask for
  int32_t max_num_tokens = 5;
  int32_t max_topk = 4096;
  uint32_t one_wide_in = 48;              // problems; 1: all rows are wide
  int32_t max_team_width = 256;           // wider ones cost more where they show no more: 32 in their place
};

// Choices -> problem. Implemented for PhiloxChoices and ByteChoices.
template <class Stream>
RemapCase decode_remap(Stream& choices, const DecoderOptions& options);

// A case of this shape, with elements that are yet to be drawn: decoder_elements.h.
struct RemapShape;
RemapCase case_of(const RemapShape& shape);

// Case `index` of the campaign `seed`.
RemapCase draw_remap(uint64_t seed, uint64_t index, const DecoderOptions& options);

}  // namespace slotproof::harness
