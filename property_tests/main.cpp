#include "property_tests/harness/plugin_worker.h"

#include <gtest/gtest.h>

int main(int argc, char** argv) {
  slotproof::harness::run_as_plugin_worker_if_asked(argc, argv);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
