#pragma once
// RapidCheck over our decoder and our shrinker.

#include "property_tests/backends.h"
#include "property_tests/harness/decoder.h"
#include "property_tests/harness/shrinker.h"

#include <rapidcheck.h>

#include <algorithm>
#include <ostream>

namespace slotproof::harness {

// What RapidCheck prints of a counterexample.
inline void showValue(const RemapCase& remap_case, std::ostream& os) {
  os << as_json(remap_case);
}

inline rc::Gen<RemapCase> remap_cases(DecoderOptions options = {}) {
  return [options](const rc::Random& random, int) {
    const RemapCase drawn = draw_remap(rc::Random(random).next(), 0, options);
    return rc::shrinkable::shrinkRecur(drawn, [](const RemapCase& c) { return rc::seq::fromContainer(simpler_cases(c)); });
  };
}

}  // namespace slotproof::harness
