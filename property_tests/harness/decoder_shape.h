#pragma once
// The first half of the decoder: from a stream of choices to a problem's shape, which is all but its elements.

#include "property_tests/harness/choices.h"
#include "property_tests/harness/decoder.h"
#include "property_tests/harness/decoder_elements.h"

namespace slotproof::harness {

// A small problem, which a person can read. Implemented for PhiloxChoices and ByteChoices.
template <class Stream>
RemapShape choose_shape(Stream& choices, const DecoderOptions& options);

// A problem to keep a GPU busy: guarded, any mode, most often 2048 columns, and as many rows as fit.
struct BulkScale {
  int64_t max_indices = int64_t{1} << 26;  // words of the positions, and of the slots
  int32_t max_rows = 1 << 20;
  int32_t topk = 0;  // 0: drawn
};
RemapShape choose_bulk_shape(PhiloxChoices& choices, const BulkScale& scale);

}  // namespace slotproof::harness
