// The two forms of a fuzzer's input, and what its mutator makes of them.

#include "fuzz/input.h"
#include "fuzz/mutator.h"
#include "property_tests/harness/decoder.h"

#include <gtest/gtest.h>

#include <random>

namespace slotproof::fuzz {
namespace {

using harness::RemapCase;

Input input_in(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// Reads a text as a process does that did not write it.
std::optional<RemapCase> read_anew(const std::string& text) {
  cases_in(input_in("{}"));
  return remap_case_in_text(input_in(text));
}

std::vector<std::string> remap_texts() {
  std::vector<std::string> texts;
  for (uint64_t index = 0; index < 300; ++index) texts.push_back(input_of(harness::draw_remap(21, index, {.max_topk = 40})));
  return texts;
}

// A fuzzer runs the problem that its mutator made, without reading the text of it. A finding is the text: it has to say the same.
TEST(FuzzInputs, WhatAMutatorMadeIsWhatItsTextSays) {
  int num_changed = 0;
  std::mt19937 random(24);
  for (const std::string& before : remap_texts()) {
    std::string text = before;
    for (int step = 0; step < 8; ++step) {
      ASSERT_TRUE(mutate_remap_text(text, uint32_t(random())));
      const auto made = remap_case_in_text(input_in(text)), read = read_anew(text);
      ASSERT_TRUE(made && read) << text;
      ASSERT_TRUE(*made == *read) << text << input_of(*read);
    }
    num_changed += text != before;
  }
  EXPECT_GT(num_changed, 290);
}

TEST(FuzzInputs, ATextOfAnotherOpIsNoRemapProblem) {
  const std::string lengths = input_of(harness::LocalLengthProblem{{5}, {2, 1, 1}});
  EXPECT_FALSE(remap_case_in_text(input_in(lengths)));
  EXPECT_TRUE(problem_in_text<harness::LocalLengthProblem>(input_in(lengths)));
  std::string text = lengths;
  EXPECT_FALSE(mutate_remap_text(text, 1));
  EXPECT_EQ(text, lengths);
  EXPECT_TRUE(cases_in(input_in("{ not a case file")).empty());
}

// Every target's mutator keeps to the room it has, and the same seed makes the same input.
TEST(FuzzInputs, MutatorsKeepToTheirRoomAndToTheirSeed) {
  constexpr size_t kRoom = 300;
  const auto no_bytes = [](uint8_t*, size_t size, size_t) { return size; };
  for (const Target* target : targets()) {
    int num_changed = 0;
    std::mt19937 random(23);
    for (int step = 0; step < 400; ++step) {
      const auto seed = uint32_t(random());
      std::vector<uint8_t> bytes(random() % kRoom + 1);
      for (uint8_t& byte : bytes) byte = uint8_t(random());
      if (bytes[0] == '{') bytes[0] = 0;
      std::vector<uint8_t> first(bytes), second(bytes);
      first.resize(kRoom), second.resize(kRoom);  // sized as the room is, so that a sanitizer sees a step beyond it
      const size_t size = mutate(*target, first.data(), bytes.size(), kRoom, seed, no_bytes);
      ASSERT_LE(size, kRoom) << target->name;
      ASSERT_EQ(size, mutate(*target, second.data(), bytes.size(), kRoom, seed, no_bytes));
      ASSERT_TRUE(std::equal(first.begin(), first.begin() + int64_t(size), second.begin())) << target->name;
      num_changed += size != bytes.size() || !std::equal(bytes.begin(), bytes.end(), first.begin());
    }
    if (target->decode != nullptr) {
      EXPECT_GT(num_changed, 300) << target->name;
    }
  }
}

// A child has its beginning from one parent and the rest from the other.
TEST(FuzzInputs, ACrossingHasTheHeadOfOneAndTheTailOfTheOther) {
  const std::vector<uint8_t> head(100, 1), tail(200, 2);
  int num_mixed = 0;
  for (uint32_t seed = 0; seed < 100; ++seed) {
    std::vector<uint8_t> out(150);
    const size_t size = cross_over(kRemap, head, tail, out.data(), out.size(), seed);
    ASSERT_EQ(size, out.size());
    const auto cut = std::find(out.begin(), out.end(), uint8_t{2});
    EXPECT_TRUE(std::all_of(out.begin(), cut, [](uint8_t byte) { return byte == 1; }));
    EXPECT_TRUE(std::all_of(cut, out.end(), [](uint8_t byte) { return byte == 2; }));
    num_mixed += cut != out.begin() && cut != out.end();
  }
  EXPECT_GT(num_mixed, 80);
}

}  // namespace
}  // namespace slotproof::fuzz
