// The checkers' own planted faults: each is seen by the test that faults/checkers/checkers.json names, and by the way that it says.

#include "property_tests/places.h"
#include "spec/invariants.h"
#include "spec/laws.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <array>
#include <cstdio>
#include <fstream>
#include <set>
#include <string>
#include <sys/wait.h>
#include <vector>

namespace slotproof {
namespace {

namespace fs = std::filesystem;
const fs::path kFolder = source_dir() / "property_tests/faults/checkers";

nlohmann::json all_faults() {
  return nlohmann::json::parse(std::ifstream(kFolder / "checkers.json"))["faults"];
}

std::vector<std::string> fault_names() {
  std::vector<std::string> names;
  for (const auto& fault : all_faults()) names.push_back(fault["name"]);
  return names;
}

class CheckerFaults : public testing::TestWithParam<std::string> {};

// The program with the fault has the tests that the others have; without a fault they pass (slotproof_tests itself).
TEST_P(CheckerFaults, AreSeenByTheirTests) {
  nlohmann::json fault;
  for (const auto& value : all_faults()) {
    if (value["name"] == GetParam()) fault = value;
  }
  for (const std::string test : fault["seen_by"]) {
    const std::string command = (fault_dir() / "checkers" / GetParam()).string() + " --gtest_color=no --gtest_filter=" + test + " 2>&1";
    FILE* pipe = popen(command.c_str(), "r");
    ASSERT_NE(pipe, nullptr);
    std::string output;
    std::array<char, 4096> buffer{};
    while (const size_t size = fread(buffer.data(), 1, buffer.size(), pipe)) output.append(buffer.data(), size);
    const int status = pclose(pipe);
    EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 1) << output;
    EXPECT_NE(output.find("[  FAILED  ] " + test), std::string::npos) << output;
  }
}

std::string name_of_fault(const testing::TestParamInfo<std::string>& tested) {
  std::string name = tested.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Planted, CheckerFaults, testing::ValuesIn(fault_names()), name_of_fault);

// Every patch is in the list, and what is wrong is said once.
TEST(CheckerFaultList, HasEveryPatchOnce) {
  std::set<std::string> names, wrongs;
  for (const auto& fault : all_faults()) {
    EXPECT_TRUE(names.insert(fault["name"]).second) << fault["name"];
    EXPECT_TRUE(wrongs.insert(fault["wrong"]).second) << fault["wrong"];
    EXPECT_FALSE(fault["seen_by"].empty()) << fault["name"];
  }
  size_t num_patches = 0;
  for (const auto& entry : fs::directory_iterator(kFolder)) {
    if (entry.path().extension() != ".patch") continue;
    ++num_patches;
    EXPECT_TRUE(names.contains(entry.path().stem())) << entry.path();
  }
  EXPECT_EQ(num_patches, names.size());
}

// No checker goes without a fault.
TEST(CheckerFaultList, HasAFaultOfEachInvariantAndEachLaw) {
  std::set<std::string> checkers;
  for (const auto& fault : all_faults()) checkers.insert(fault["checker"]);
  for (const spec::InvariantText& invariant : spec::invariants()) EXPECT_TRUE(checkers.contains(std::string(invariant.name))) << invariant.name;
  for (const spec::LawText& law : spec::laws()) EXPECT_TRUE(checkers.contains(std::string(law.id))) << law.id;
  for (const char* other : {"decoder", "shrinker", "judge", "frame", "case files", "corners", "checked memory"}) EXPECT_TRUE(checkers.contains(other)) << other;
}

}  // namespace
}  // namespace slotproof
