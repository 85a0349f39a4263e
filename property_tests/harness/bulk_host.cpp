// Bulk batches in host memory, over one lane: slow, and the same source and steps as on the device.

#include "property_tests/device/bulk_rows.h"
#include "property_tests/harness/bulk_device.h"

#include <algorithm>
#include <chrono>

namespace slotproof::harness {
namespace {

using Clock = std::chrono::steady_clock;

class HostSlot final : public BulkSlot {
 public:
  std::string make(const BulkView& batch) override {
    begin_ = Clock::now();
    view_ = batch;
    words_.assign(size_t(view_.layout.num_words) + 3, 0);
    const auto past = reinterpret_cast<uintptr_t>(words_.data()) / sizeof(int32_t) % 4;  // the arena begins on a 16-byte boundary
    set_arena(view_, words_.data() + (4 - past) % 4);
    for (int64_t word = 0; word < num_filled_words_of(view_); ++word) fill_word(view_, word);
    for (int32_t t = 0; t < view_.shape.num_tokens; ++t) make_row(HostLanes{}, view_, t);
    return {};
  }

  std::string run() override {
    const Status status = remap_on_host(view_.args);
    return status.ok() ? "" : std::string("remap_on_host: ") + status.message();
  }

  std::string check() override {
    verdict_ = {};
    verdict_.first = kNoMismatch;
    for (int32_t t = 0; t <= view_.shape.num_tokens; ++t) check_row(HostLanes{}, view_, t, verdict_);
    seconds_ = std::chrono::duration<double>(Clock::now() - begin_).count();
    return {};
  }

  std::string wait(BulkVerdict& verdict, double& seconds) override {
    verdict = verdict_;
    seconds = seconds_;
    return {};
  }

  std::string read(int64_t word, int64_t num_words, int32_t* to) override {
    std::copy_n(view_.arena + word, num_words, to);
    return {};
  }
  std::string write(int64_t word, int32_t value) override {
    view_.arena[word] = value;
    return {};
  }
  std::string reference_entries(const std::vector<int32_t>& positions, std::vector<int32_t>& entries) override {
    entries.clear();
    for (size_t i = 0; i < positions.size(); ++i)
      entries.push_back(reference::entry_of(view_.args, int32_t(int64_t(i) % view_.shape.num_tokens), positions[i]).slot);
    return {};
  }

 private:
  std::vector<int32_t> words_;
  BulkVerdict verdict_{};
  Clock::time_point begin_;
  double seconds_ = 0;
};

}  // namespace

std::vector<std::unique_ptr<BulkSlot>> make_host_bulk_slots() {
  std::vector<std::unique_ptr<BulkSlot>> slots;
  slots.push_back(std::make_unique<HostSlot>());
  return slots;
}

}  // namespace slotproof::harness
