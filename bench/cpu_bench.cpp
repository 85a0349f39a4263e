// The remap on the CPU: the oracle, the kernels' body under checked memory, and the same body for speed, beside a copy. Rates are
// indices a second, in items_per_second: of CPU time for what runs on one thread, so that others on the machine do not count; of real
// time where threads share the rows. Every output is compared with the oracle's after it was timed. bench/cpu.py runs this program, adds
// numpy and writes bench/results/cpu.json.

#include "property_tests/harness/kernel_arguments.h"
#include "reference/remap.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace slotproof {
namespace {

constexpr int32_t kTopk = 2048;
constexpr int32_t kBlockSize = 64;
constexpr int32_t kTableColumns = 2048;
constexpr int32_t kPoison = 123456789;

enum class Mode { kPlain, kCounts, kDcp };
constexpr const char* kModeNames[] = {"plain", "counts", "dcp"};

// One set of inputs, and what the oracle makes of them. 3 % of the positions are -1, the others lie anywhere in the context.
class Problem {
 public:
  Problem(Mode mode, int32_t num_tokens) : mode_(mode), num_tokens_(num_tokens) {
    std::mt19937 random(1);
    const int32_t num_requests = std::min(num_tokens, 128);
    problem_.dcp = mode == Mode::kDcp ? spec::RankOwnership{4, 1, 1} : spec::RankOwnership{};
    req_id_ = drawn(random, size_t(num_tokens), num_requests);
    table_ = drawn(random, size_t(num_requests) * kTableColumns, num_requests * kTableColumns);
    indices_ = drawn(random, size_t(num_tokens) * kTopk, kTableColumns * kBlockSize * problem_.dcp.size);
    for (int32_t& position : indices_) position = random() % 100 < 3 ? -1 : position;
    slots_.resize(indices_.size());
    counts_.resize(req_id_.size());
    problem_.req_id = {req_id_.data(), num_tokens};
    problem_.block_table = {table_.data(), num_requests, kTableColumns, kTableColumns};
    problem_.token_indices = {indices_.data(), num_tokens, kTopk, kTopk};
    problem_.block_size = kBlockSize;
    problem_.block_stride_rows = kBlockSize;
    problem_.placement = mode == Mode::kDcp ? spec::Placement::kCompacted : spec::Placement::kInPlace;
    problem_.slots = {slots_.data(), num_tokens, kTopk, kTopk};
    if (mode != Mode::kPlain) problem_.valid_counts = spec::OutputVector{counts_.data(), num_tokens};
    args_ = harness::remap_args_of(problem_);
    poison();
    is_refused_ = reference::remap(problem_).has_value();
    expected_slots_ = slots_;
    expected_counts_ = counts_;
  }
  bool is(Mode mode, int32_t num_tokens) const { return mode == mode_ && num_tokens == num_tokens_; }
  bool is_refused() const { return is_refused_; }
  const spec::RemapProblem& problem() const { return problem_; }
  const RemapArgs& args() const { return args_; }
  void poison() {
    std::fill(slots_.begin(), slots_.end(), kPoison);
    std::fill(counts_.begin(), counts_.end(), kPoison);
  }
  bool has_right_outputs() const { return slots_ == expected_slots_ && counts_ == expected_counts_; }

 private:
  static std::vector<int32_t> drawn(std::mt19937& random, size_t size, int32_t end) {
    std::vector<int32_t> values(size);
    for (int32_t& value : values) value = int32_t(random() % uint32_t(end));
    return values;
  }

  Mode mode_;
  int32_t num_tokens_;
  std::vector<int32_t> req_id_, table_, indices_, slots_, counts_, expected_slots_, expected_counts_;
  spec::RemapProblem problem_;
  RemapArgs args_;
  bool is_refused_ = false;
};

// Large ones take 100 MiB, so only the last is kept: benchmarks of one problem are registered side by side.
Problem& problem_of(Mode mode, int32_t num_tokens) {
  static std::unique_ptr<Problem> last;
  if (!last || !last->is(mode, num_tokens)) {
    last.reset();
    last = std::make_unique<Problem>(mode, num_tokens);
  }
  return *last;
}

// A copy of the positions: no remap is faster.
void measure_copy(benchmark::State& state, int32_t num_tokens) {
  const Problem& problem = problem_of(Mode::kPlain, num_tokens);
  const size_t num_bytes = size_t(num_tokens) * kTopk * sizeof(int32_t);
  for (auto _ : state) {
    std::memcpy(problem.args().slots.data, problem.args().token_indices.data, num_bytes);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * num_tokens * kTopk);
}

using Run = std::function<bool(const Problem&)>;  // false: refused or failed

void measure(benchmark::State& state, Mode mode, int32_t num_tokens, const Run& run) {
  Problem& problem = problem_of(mode, num_tokens);
  problem.poison();
  bool is_done = !problem.is_refused();
  for (auto _ : state) is_done &= run(problem);
  if (!is_done) return state.SkipWithError("the call was refused or failed");
  if (!problem.has_right_outputs()) return state.SkipWithError("outputs differ from the oracle's");
  state.SetItemsProcessed(state.iterations() * num_tokens * kTopk);
}

enum class Clock { kCpu, kReal };

void add(const std::string& contestant, Mode mode, int32_t num_tokens, Clock clock, const Run& run) {
  const std::string name = contestant + "/" + kModeNames[int(mode)] + "/T:" + std::to_string(num_tokens);
  auto* added = benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) { measure(state, mode, num_tokens, run); });
  added->Unit(benchmark::kMicrosecond);
  if (clock == Clock::kReal) added->UseRealTime();
}

Run fast(const FastHostOptions& options) {
  return [options](const Problem& problem) { return remap_on_host_fast(problem.args(), options).ok(); };
}

void add_all() {
  for (const Mode mode : {Mode::kPlain, Mode::kCounts, Mode::kDcp}) {
    for (const int32_t num_tokens : {1, 64, 4096}) {
      if (mode == Mode::kPlain) {
        const std::string name = "copy/plain/T:" + std::to_string(num_tokens);
        benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) { measure_copy(state, num_tokens); })->Unit(benchmark::kMicrosecond);
      }
      add("reference", mode, num_tokens, Clock::kCpu, [](const Problem& problem) { return !reference::remap(problem.problem()); });
      if (num_tokens <= 64) add("checked", mode, num_tokens, Clock::kCpu, [](const Problem& problem) { return remap_on_host(problem.args()).ok(); });
      add("fast, one thread", mode, num_tokens, Clock::kCpu, fast({.num_threads = 1}));
      add("fast, all threads", mode, num_tokens, Clock::kReal, fast({}));
    }
  }
  for (const int32_t width : {32, 64, 128, 256}) {
    add("team width " + std::to_string(width), Mode::kCounts, 64, Clock::kCpu, fast({.team_width = width, .num_threads = 1}));
  }
  // Where a second thread begins to pay.
  for (const int32_t num_tokens : {8, 16, 32, 64, 128}) {
    for (const int32_t num_threads : {1, 2}) {
      add("threads " + std::to_string(num_threads), Mode::kCounts, num_tokens, Clock::kReal, fast({.num_threads = num_threads}));
    }
  }
}

}  // namespace
}  // namespace slotproof

int main(int argc, char** argv) {
#ifdef __clang__
  benchmark::AddCustomContext("compiler", __VERSION__);  // names itself
#else
  benchmark::AddCustomContext("compiler", "g++ " __VERSION__);
#endif
  slotproof::add_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
