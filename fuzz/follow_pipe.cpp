#include "fuzz/follow.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace slotproof::fuzz {

FollowedPipe::FollowedPipe() {
  if (const char* path = std::getenv("SLOTPROOF_FUZZ_FOLLOW")) fd_ = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);  // RDWR: no follower, no SIGPIPE
}

void FollowedPipe::send(const Target& target, Input input) {
  if (fd_ < 0 || target.remap_case == nullptr) return;
  while (targets()[target_] != &target) target_ = uint16_t((target_ + 1u) % targets().size());
  uint8_t message[sizeof(FollowHeader) + kMostFollowed];
  bool is_sent = false;
  if (input.size() <= kMostFollowed) {
    const FollowHeader header{target_, uint16_t(input.size())};
    std::memcpy(message, &header, sizeof header);
    if (!input.empty()) std::memcpy(message + sizeof header, input.data(), input.size());
    const size_t num_bytes = sizeof header + input.size();
    is_sent = write(fd_, message, num_bytes) == ssize_t(num_bytes);
  }
  ++(is_sent ? num_sent_ : num_dropped_);
}

}  // namespace slotproof::fuzz
