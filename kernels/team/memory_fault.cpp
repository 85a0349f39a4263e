#include "kernels/team/checked_memory.h"

#include <cstdio>

namespace slotproof {
namespace {

struct Text {
  char data[64];
};

Text text_of_thread(int32_t thread) {
  Text text;
  if (thread == kEveryThread) {
    std::snprintf(text.data, sizeof text.data, "every thread");
  } else {
    std::snprintf(text.data, sizeof text.data, "thread %d", thread);
  }
  return text;
}

const char* verb_of(Access access) {
  return access == Access::kRead ? "reads" : access == Access::kWrite ? "writes" : "adds to";
}
const char* past_verb_of(Access access) {
  return access == Access::kRead ? "read" : access == Access::kWrite ? "wrote" : "added to";
}

Text text_of_place(const MemoryFault& fault) {
  Text text;
  const auto element = static_cast<long long>(fault.element);
  if (fault.row >= 0) {
    std::snprintf(text.data, sizeof text.data, "%s[%lld, %lld]", fault.array, static_cast<long long>(fault.row), element);
  } else {
    std::snprintf(text.data, sizeof text.data, "%s[%lld]", fault.array, element);
  }
  return text;
}

}  // namespace

Status status_of(const MemoryFault& fault) noexcept {
  const Text thread = text_of_thread(fault.thread);
  const Text other = text_of_thread(fault.other_thread);
  const Text place = text_of_place(fault);
  const char* verb = verb_of(fault.access);
  const char* other_verb = past_verb_of(fault.other_access);
  switch (fault.kind) {
    case FaultKind::kOverrun:
      return Status::make(StatusCode::kMemoryFault, "overrun: phase '%s' of CTA %d: %s %s %s, which is no element%s",
                          fault.phase, fault.cta, thread.data, verb, place.data,
                          fault.row < 0 ? " and in no row that begins where the body says" : "");
    case FaultKind::kMisaligned:
      return Status::make(StatusCode::kMemoryFault,
                          "misaligned: phase '%s' of CTA %d: %s %s a vector at %s, whose address is no multiple of 16",
                          fault.phase, fault.cta, thread.data, verb, place.data);
    case FaultKind::kStaleRead:
      return Status::make(StatusCode::kMemoryFault, "stale read: phase '%s' of CTA %d: %s reads %s, which nobody wrote",
                          fault.phase, fault.cta, thread.data, place.data);
    case FaultKind::kRace:
      if (fault.other_cta != fault.cta) {
        return Status::make(StatusCode::kMemoryFault,
                            "race: phase '%s' of CTA %d: %s %s %s, which %s of CTA %d %s in the same launch", fault.phase,
                            fault.cta, thread.data, verb, place.data, other.data, fault.other_cta, other_verb);
      }
      return Status::make(StatusCode::kMemoryFault,
                          "race: phase '%s' of CTA %d: %s %s %s, which %s %s with no barrier between", fault.phase, fault.cta,
                          thread.data, verb, place.data, other.data, other_verb);
    case FaultKind::kNotUniform:
      return Status::make(StatusCode::kMemoryFault, "not uniform: %s of CTA %d: %s holds another value than %s", fault.phase,
                          fault.cta, thread.data, other.data);
  }
  return Status::make(StatusCode::kMemoryFault, "unknown fault");
}

}  // namespace slotproof
