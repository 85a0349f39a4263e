// The kernel body on the host, over checked memory.

#include "kernels/remap.h"
#include "kernels/team/host_team.h"

#include <exception>

namespace slotproof {
namespace {

void describe(CheckedMemory& memory, const RemapArgs& args) {
  const auto set_vector = [&](TensorId id, const auto& v) { memory.set_tensor(id, v.data, 1, v.size, 0); };
  const auto set_matrix = [&](TensorId id, const auto& m) { memory.set_tensor(id, m.data, m.rows, m.columns, m.row_stride); };
  set_vector(TensorId::kReqId, args.req_id);
  set_matrix(TensorId::kBlockTable, args.block_table);
  set_matrix(TensorId::kTokenIndices, args.token_indices);
  if (args.prefill_request_id) set_vector(TensorId::kPrefillRequestId, *args.prefill_request_id);
  if (args.workspace_starts) set_vector(TensorId::kWorkspaceStarts, *args.workspace_starts);
  set_matrix(TensorId::kSlots, args.slots);
  if (args.valid_counts) set_vector(TensorId::kValidCounts, *args.valid_counts);
}

template <int Width, Placement kPlacement, Dcp kDcp, Lookup kLookup>
void run_grid(CheckedMemory& memory, const RemapView& view, const HostOptions& options) {
  const auto num_rows = static_cast<uint32_t>(view.num_tokens);
  const Permutation order(options.cta_order_seed, 0, num_rows);
  for (uint32_t i = 0; i < num_rows; ++i) {
    HostTeam<Width> team(memory, order.at(i), options.thread_order_seed);
    remap_row<kPlacement, kDcp, kLookup>(team, view);
  }
}

using RunGrid = void (*)(CheckedMemory&, const RemapView&, const HostOptions&);

template <int Width, Placement kPlacement>
RunGrid run_grid_of(Dcp dcp, [[maybe_unused]] Lookup lookup) {
  if constexpr (can_stage(Width, Dcp::kOff)) {
    if (lookup == Lookup::kStaged) return run_grid<Width, kPlacement, Dcp::kOff, Lookup::kStaged>;
  }
  switch (dcp) {
    case Dcp::kOn: return run_grid<Width, kPlacement, Dcp::kOn, Lookup::kGlobal>;
    case Dcp::kOnPowersOfTwo: return run_grid<Width, kPlacement, Dcp::kOnPowersOfTwo, Lookup::kGlobal>;
    default: return run_grid<Width, kPlacement, Dcp::kOff, Lookup::kGlobal>;
  }
}

template <int Width>
RunGrid run_grid_of(Placement placement, Dcp dcp, Lookup lookup) {
  if (placement == Placement::kInPlace) return run_grid_of<Width, Placement::kInPlace>(dcp, lookup);
  return run_grid_of<Width, Placement::kCompacted>(dcp, lookup);
}

RunGrid run_grid_of(const TilePlan& plan, Placement placement, Dcp dcp) {
  switch (plan.team_width) {
    case 32: return run_grid_of<32>(placement, dcp, plan.lookup);
    case 64: return run_grid_of<64>(placement, dcp, plan.lookup);
    case 128: return run_grid_of<128>(placement, dcp, plan.lookup);
    default: return run_grid_of<256>(placement, dcp, plan.lookup);
  }
}

}  // namespace

Status remap_on_host(const RemapArgs& args, const HostOptions& options) noexcept {
  if (const Status status = validate(args); !status.ok()) return status;
  if (options.team_width != 0 && !is_team_width(options.team_width)) {
    return Status::make(StatusCode::kNotSupported, "team_width is %d; 0, 32, 64, 128 and 256 are known", options.team_width);
  }
  if (writes_nothing(args)) return {};
  static thread_local CheckedMemory memory;  // Its shadow memory serves every launch of this thread.
  const TilePlan plan = plan_tiles(args, options.team_width);
  Status status;
  try {
    memory.begin_launch();
    describe(memory, args);
    run_grid_of(plan, args.placement, dcp_of(args))(memory, make_view(args, plan), options);
  } catch (const MemoryFault& fault) {
    status = status_of(fault);
  } catch (const std::exception&) {
    status = Status::make(StatusCode::kNotSupported, "no memory for the checks of %d rows of %d columns", args.slots.rows,
                          args.slots.columns);
  }
  memory.end_launch();
  return status;
}

}  // namespace slotproof
