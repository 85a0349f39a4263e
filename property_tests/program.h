#pragma once
// The program as a user runs it, for tests.

#include "property_tests/places.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace slotproof {

struct Ran {
  int code = -1;
  std::string output;  // stdout and stderr
};

inline Ran run(const std::string& arguments) {
  Ran ran;
  const std::string command = program().string() + " " + arguments + " 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return ran;
  std::array<char, 4096> buffer{};
  while (const size_t size = fread(buffer.data(), 1, buffer.size(), pipe)) ran.output.append(buffer.data(), size);
  const int status = pclose(pipe);
  ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ran;
}

// A folder of this test's own, gone with it.
class Program : public testing::Test {
 protected:
  Program() {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    std::string name = std::string(info->test_suite_name()) + "-" + info->name();
    std::replace(name.begin(), name.end(), '/', '-');
    folder_ = std::filesystem::temp_directory_path() / ("slotproof-" + name + "-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  ~Program() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  nlohmann::json json(const std::string& name) const { return nlohmann::json::parse(std::ifstream(path(name))); }

 private:
  std::filesystem::path folder_;
};

}  // namespace slotproof
