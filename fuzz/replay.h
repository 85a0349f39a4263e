#pragma once
// Runs inputs through targets without libFuzzer.

#include "fuzz/target.h"

namespace slotproof::fuzz {

// The program fuzz_replay; `only` is the target of a binary that has one. Exit code: 0 all holds, 1 a finding, 2 wrong usage.
int replay_main(int argc, char** argv, const Target* only = nullptr);

}  // namespace slotproof::fuzz
