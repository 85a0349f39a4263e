// The kernel body on the host, for speed: nothing is checked, and threads of the host share the rows.

#include "kernels/remap.h"
#include "kernels/team/fast_host_team.h"
#include "kernels/tiling.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

namespace slotproof {
namespace {

// The narrowest team: its arrays stay in the first-level cache whatever K is (bench/results/cpu.json, "team width").
constexpr int32_t kFastTeamWidth = 32;

// Two threads overtake one at about so many entries each (bench/results/cpu.json, "threads").
constexpr int64_t kEntriesOfAThread = 1 << 16;

// What a thread takes at a time: long enough that taking costs nothing, short enough that all end together.
constexpr int64_t kEntriesAtOnce = 1 << 14;

// Rows [begin, end). Everything is inlined into it and it has a view of its own, so that the compiler knows that no store changes
// the view: only then does it keep the view in registers and make vectors of a phase.
template <RowForm kForm, TeamShape kTeam>
[[gnu::flatten]] void run_rows(const RemapView& shared_view, int32_t begin, int32_t end) {
  const RemapView view = shared_view;
  for (int32_t row = begin; row < end; ++row) {
    FastHostTeam<kTeam.width, kTeam.vectors_per_thread> team(row);
    remap_row<kForm>(team, view);
  }
}

using RunRows = void (*)(const RemapView&, int32_t, int32_t);

// The general kernels: what the tuned ones know of a row's layout saves time on the device, and none that one could measure here.
template <int kNumber>
constexpr RunRows compiled_run() {
  constexpr RowKernel kKernel = kRowKernels[kNumber];
  if constexpr (is_general(kKernel)) return run_rows<kKernel.form, kKernel.team>;
  return nullptr;
}
template <int... kNumbers>
constexpr std::array<RunRows, kNumRowKernels> compiled_runs(std::integer_sequence<int, kNumbers...>) {
  return {compiled_run<kNumbers>()...};
}
constexpr auto kRuns = compiled_runs(std::make_integer_sequence<int, kNumRowKernels>{});

// What the tuned kernels know of sizes does: a third of the time under DCP. So the team that is ours to choose has forms of its own.
template <Placement kPlacement, Dcp kDcp>
constexpr RunRows kRunWithShifts =
    run_rows<RowForm{kPlacement, Rows::kMixed, RowLayout::kAny, kDcp, Sizes::kPowersOfTwo, Lookup::kGlobal}, general_team(kFastTeamWidth)>;

// The same rows as the kernel of the plan, which is of that team; null where a divisor is no power of two.
RunRows run_with_shifts(const RowForm& form, const RemapView& view) {
  const bool has_ranks = form.dcp == Dcp::kOn;
  if (!std::has_single_bit(view.column_span.divisor) || (has_ranks && !std::has_single_bit(view.ranks.round.divisor))) return nullptr;
  if (form.placement == Placement::kInPlace) return has_ranks ? kRunWithShifts<Placement::kInPlace, Dcp::kOn> : kRunWithShifts<Placement::kInPlace, Dcp::kOff>;
  return has_ranks ? kRunWithShifts<Placement::kCompacted, Dcp::kOn> : kRunWithShifts<Placement::kCompacted, Dcp::kOff>;
}

// Threads for a problem whose caller leaves that to us.
int64_t num_threads_of(const RemapView& view) {
  const int64_t useful = int64_t{view.num_tokens} * view.topk / kEntriesOfAThread;
  if (useful <= 1) return 1;  // Asking for the machine's takes longer than remapping a row.
  return std::clamp<int64_t>(std::thread::hardware_concurrency(), 1, useful);
}

void share_rows(const RemapView& view, RunRows run, int64_t num_threads) {
  const int64_t num_rows = view.num_tokens;
  num_threads = std::min(num_threads, num_rows);
  const int64_t rows_at_once = std::clamp<int64_t>(kEntriesAtOnce / std::max(view.topk, 1), 1, (num_rows + num_threads - 1) / num_threads);
  std::atomic<int64_t> next = 0;
  const auto work = [&] {
    for (int64_t begin = next.fetch_add(rows_at_once); begin < num_rows; begin = next.fetch_add(rows_at_once)) {
      run(view, static_cast<int32_t>(begin), static_cast<int32_t>(std::min(begin + rows_at_once, num_rows)));
    }
  };
  std::vector<std::jthread> others;  // They end before what they look at: it is declared above.
  try {
    while (static_cast<int64_t>(others.size()) < num_threads - 1) others.emplace_back(work);
  } catch (const std::exception&) {
    // Memory or threads ran out. Those that began take all rows.
  }
  work();
}

}  // namespace

Status remap_on_host_fast(const RemapArgs& args, const FastHostOptions& options) noexcept {
  if (const Status status = validate(args); !status.ok()) return status;
  if (const Status status = check(PlanOptions{options.team_width, 0}); !status.ok()) return status;
  if (options.num_threads < 0) {
    return Status::make(StatusCode::kNotSupported, "num_threads is %d; 0 leaves it to us, else it is at least 1", options.num_threads);
  }
  if (writes_nothing(args)) return {};
  const bool is_ours = options.team_width == 0;
  const TilePlan plan = plan_general(args, is_ours ? kFastTeamWidth : options.team_width, args.token_indices.rows);
  const RemapView view = make_view(args, plan.tile);
  RunRows run = is_ours ? run_with_shifts(kernel_of(plan).form, view) : nullptr;
  if (run == nullptr) run = kRuns[static_cast<std::size_t>(plan.kernel)];
  share_rows(view, run, options.num_threads != 0 ? options.num_threads : num_threads_of(view));
  return {};
}

}  // namespace slotproof
