#pragma once
// The launches of a bulk batch, in their order: make, the kernel under test, check. Each enqueues on a stream and returns the
// launch's own error, empty where it went well.

#include "property_tests/device/bulk_verdict.h"
#include "property_tests/device/bulk_view.h"

#include <string>

struct CUstream_st;

namespace slotproof::harness {

std::string launch_make(const BulkView& view, CUstream_st* stream);
std::string launch_check(const BulkView& view, BulkVerdict* verdict, CUstream_st* stream);  // on the device; cleared by the caller

// Entries i of [0, num_entries): entries[i] = the device reference's answer for row i % T and position positions[i].
std::string launch_reference_entries(const RemapArgs& args, const int32_t* positions, int64_t num_entries, int32_t* entries, CUstream_st* stream);

}  // namespace slotproof::harness
