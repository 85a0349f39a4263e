// Bulk batches in host memory, over one lane a row: the same source and steps as on the device. Threads share what is made and judged.

#include "property_tests/device/bulk_rows.h"
#include "property_tests/harness/bulk_device.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <mutex>
#include <thread>

namespace slotproof::harness {
namespace {

using Clock = std::chrono::steady_clock;

// Calls body(begin, end) for ranges that make up [0, size), each on a thread of its own.
void share(int64_t size, const std::function<void(int64_t, int64_t)>& body) {
  const int64_t num_threads = std::clamp<int64_t>(std::thread::hardware_concurrency(), 1, std::max<int64_t>(size, 1));
  std::vector<std::jthread> others;
  for (int64_t i = 1; i < num_threads; ++i) others.emplace_back(body, size * i / num_threads, size * (i + 1) / num_threads);
  body(0, size / num_threads);
}

void add(BulkVerdict& total, const BulkVerdict& part) {
  total.num_mismatches += part.num_mismatches;
  total.first = std::min(total.first, part.first);
  total.num_corner_rows += part.num_corner_rows;
  for (int i = 0; i < kNumBulkCorners; ++i) total.corners[i] += part.corners[i];
}

BulkVerdict nothing_found() {
  BulkVerdict verdict{};
  verdict.first = kNoMismatch;
  return verdict;
}

class HostSlot final : public BulkSlot {
 public:
  explicit HostSlot(HostKernel kernel) : kernel_(kernel) {}

  std::string make(const BulkView& batch) override {
    begin_ = Clock::now();
    view_ = batch;
    words_.assign(size_t(view_.layout.num_words) + 3, 0);
    const auto past = reinterpret_cast<uintptr_t>(words_.data()) / sizeof(int32_t) % 4;  // the arena begins on a 16-byte boundary
    set_arena(view_, words_.data() + (4 - past) % 4);
    share(num_filled_words_of(view_), [this](int64_t begin, int64_t end) {
      for (int64_t word = begin; word < end; ++word) fill_word(view_, word);
    });
    share(view_.shape.num_tokens, [this](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t) make_row(HostLanes{}, view_, int32_t(t));
    });
    return {};
  }

  std::string run() override {
    const bool is_fast = kernel_ == HostKernel::kFast;
    const Status status = is_fast ? remap_on_host_fast(view_.args) : remap_on_host(view_.args);
    return status.ok() ? "" : std::string(is_fast ? "remap_on_host_fast: " : "remap_on_host: ") + status.message();
  }

  std::string check() override {
    verdict_ = nothing_found();
    std::mutex adding;
    share(int64_t{view_.shape.num_tokens} + 1, [&](int64_t begin, int64_t end) {
      BulkVerdict part = nothing_found();
      for (int64_t t = begin; t < end; ++t) check_row(HostLanes{}, view_, int32_t(t), part);
      const std::scoped_lock lock(adding);
      add(verdict_, part);
    });
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
  HostKernel kernel_;
  std::vector<int32_t> words_;
  BulkVerdict verdict_{};
  Clock::time_point begin_;
  double seconds_ = 0;
};

}  // namespace

std::vector<std::unique_ptr<BulkSlot>> make_host_bulk_slots(HostKernel kernel) {
  std::vector<std::unique_ptr<BulkSlot>> slots;
  slots.push_back(std::make_unique<HostSlot>(kernel));
  return slots;
}

}  // namespace slotproof::harness
