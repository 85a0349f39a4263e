#include "fuzz/replay.h"

int main(int argc, char** argv) {
  return slotproof::fuzz::replay_main(argc, argv);
}
