#pragma once
// Corners of bulk batches by their ids: those read off rows on the device, and those that a call has or has not.

#include "property_tests/device/bulk_verdict.h"
#include "property_tests/harness/bulk.h"
#include "property_tests/harness/corners.h"

namespace slotproof::harness {

Corner corner_of(BulkCorner corner);
CornerSet row_corners();   // all that BulkCorner has
CornerSet call_corners();  // all that call_corners_of can tell; no other corner is counted in bulk
CornerSet call_corners_of(const RemapShape& shape);

}  // namespace slotproof::harness
