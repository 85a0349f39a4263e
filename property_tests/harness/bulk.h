#pragma once
// A bulk batch: one problem with tens of thousands of rows, made and judged where the kernel runs. Every element has a stream of
// choices of its own, keyed by (seed, batch, tensor, element), so that any row can be made again on the host.

#include "property_tests/device/bulk_view.h"
#include "property_tests/harness/decoder_shape.h"
#include "property_tests/harness/remap_case.h"

namespace slotproof::harness {

// Batch `batch` of a campaign, in an arena of view.layout.num_words that set_arena gives it.
BulkView make_bulk_view(uint64_t seed, uint64_t batch, const BulkScale& scale);
void set_arena(BulkView& view, int32_t* arena);
int64_t most_bulk_words(const BulkScale& scale);  // that any batch of this scale takes

// Rows [row_begin, row_end) of a batch as a case of their own: their table rows, what they share, and the alignment that they have.
RemapCase case_of_bulk_rows(const BulkView& view, int32_t row_begin, int32_t row_end);

}  // namespace slotproof::harness
