// The kernel body on the host, for speed: nothing is checked, and threads of the host share the rows.

#include "kernels/remap.h"
#include "kernels/team/fast_host_team.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

namespace slotproof {
namespace {

// The narrowest team: its arrays stay in the first-level cache whatever K is (bench/results/cpu.json, "team width").
constexpr int32_t kFastTeamWidth = 32;

// One thread remaps this many entries in about the time that it takes to start another (bench/results/cpu.json).
constexpr int64_t kEntriesOfAThread = 1 << 16;

// What a thread takes at a time: long enough that taking costs nothing, short enough that all end together.
constexpr int64_t kEntriesAtOnce = 1 << 14;

// Rows [begin, end). Everything is inlined into it and it has a view of its own, so that the compiler knows that no store changes
// the view: only then does it keep the view in registers and make vectors of a phase.
template <int Width, Placement kPlacement, Dcp kDcp, Lookup kLookup>
[[gnu::flatten]] void run_rows(const RemapView& shared_view, int32_t begin, int32_t end) {
  const RemapView view = shared_view;
  for (int32_t row = begin; row < end; ++row) {
    FastHostTeam<Width> team(row);
    remap_row<kPlacement, kDcp, kLookup>(team, view);
  }
}

using RunRows = void (*)(const RemapView&, int32_t, int32_t);

template <int Width, Placement kPlacement>
RunRows run_rows_of(Dcp dcp, [[maybe_unused]] Lookup lookup) {
  if constexpr (can_stage(Width, Dcp::kOff)) {
    if (lookup == Lookup::kStaged) return run_rows<Width, kPlacement, Dcp::kOff, Lookup::kStaged>;
  }
  switch (dcp) {
    case Dcp::kOn: return run_rows<Width, kPlacement, Dcp::kOn, Lookup::kGlobal>;
    case Dcp::kOnPowersOfTwo: return run_rows<Width, kPlacement, Dcp::kOnPowersOfTwo, Lookup::kGlobal>;
    default: return run_rows<Width, kPlacement, Dcp::kOff, Lookup::kGlobal>;
  }
}

template <int Width>
RunRows run_rows_of(Placement placement, Dcp dcp, Lookup lookup) {
  if (placement == Placement::kInPlace) return run_rows_of<Width, Placement::kInPlace>(dcp, lookup);
  return run_rows_of<Width, Placement::kCompacted>(dcp, lookup);
}

RunRows run_rows_of(const TilePlan& plan, Placement placement, Dcp dcp) {
  switch (plan.team_width) {
    case 32: return run_rows_of<32>(placement, dcp, plan.lookup);
    case 64: return run_rows_of<64>(placement, dcp, plan.lookup);
    case 128: return run_rows_of<128>(placement, dcp, plan.lookup);
    default: return run_rows_of<256>(placement, dcp, plan.lookup);
  }
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
  if (options.team_width != 0 && !is_team_width(options.team_width)) {
    return Status::make(StatusCode::kNotSupported, "a fast run of team_width %d; 0, 32, 64, 128 and 256 are known", options.team_width);
  }
  if (options.num_threads < 0) {
    return Status::make(StatusCode::kNotSupported, "num_threads is %d; 0 leaves it to us, else it is at least 1", options.num_threads);
  }
  if (writes_nothing(args)) return {};
  const TilePlan plan = plan_tiles(args, options.team_width != 0 ? options.team_width : kFastTeamWidth);
  const RemapView view = make_view(args, plan);
  share_rows(view, run_rows_of(plan, args.placement, dcp_of(args)), options.num_threads != 0 ? options.num_threads : num_threads_of(view));
  return {};
}

}  // namespace slotproof
