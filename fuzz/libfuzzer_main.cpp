// The functions that libFuzzer calls. One program for all targets: fuzz_remap and the others are names of it, and the name says the
// target. `fuzz_remap --replay ...` is fuzz_replay under the same sanitizers.

#include "fuzz/follow.h"
#include "fuzz/mutator.h"
#include "fuzz/replay.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

namespace {

using namespace slotproof::fuzz;

const Target* chosen = nullptr;
const Target& target() {
  return *chosen;
}

struct Tally {
  uint64_t runs = 0, compared = 0;
};
Tally tally;

FollowedPipe& follower() {
  static FollowedPipe pipe;
  return pipe;
}

// The share of inputs that reached a comparison and what a full pipe dropped, for the campaign's summary.
void print_tally() {
  if (follower().is_open())
    std::fprintf(stderr, "slotproof: sent %llu dropped %llu\n", static_cast<unsigned long long>(follower().num_sent()),
                 static_cast<unsigned long long>(follower().num_dropped()));
  std::fprintf(stderr, "slotproof: runs %llu compared %llu\n", static_cast<unsigned long long>(tally.runs), static_cast<unsigned long long>(tally.compared));
}

}  // namespace

// libFuzzer's thread that watches memory holds attributes of its own while it starts. A look for leaks at that moment finds no pointer to them.
extern "C" const char* __lsan_default_suppressions() {
  return "leak:__pthread_attr_extension\nleak:pthread_attr_setaffinity_np\nleak:pthread_getattr_np\n";
}

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  const std::string name = std::filesystem::path((*argv)[0]).filename().string(), prefix = "fuzz_";
  chosen = name.starts_with(prefix) ? target_of(name.substr(prefix.size())) : nullptr;
  if (chosen == nullptr) {
    std::fprintf(stderr, "%s: call it by the name of a target: fuzz_remap\n", name.c_str());
    std::exit(2);
  }
  if (*argc > 1 && std::strcmp((*argv)[1], "--replay") == 0) std::exit(replay_main(*argc - 1, *argv + 1, &target()));
  std::atexit(print_tally);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Outcome outcome = target().run({data, size}, Depth::kQuick);
  ++tally.runs;
  if (!outcome.finding.empty()) {
    // The first summary is the finding's name; libFuzzer's own, of the abort, comes behind it.
    std::fprintf(stderr, "slotproof: %s\nSUMMARY: slotproof: %s: %s\n", outcome.detail.c_str(), target().name, outcome.finding.c_str());
    print_tally();
    std::abort();
  }
  if (!outcome.is_compared) return -1;  // no corpus keeps it
  ++tally.compared;
  follower().send(target(), {data, size});
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  return mutate(target(), data, size, max_size, seed, LLVMFuzzerMutate);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* a, size_t a_size, const uint8_t* b, size_t b_size, uint8_t* out, size_t max_size, unsigned seed) {
  return cross_over(target(), {a, a_size}, {b, b_size}, out, max_size, seed);
}
