// The diagnosis on the host, over checked memory.

#include "kernels/diagnosis.h"
#include "kernels/team/host_team.h"
#include "kernels/tiling.h"

#include <exception>

namespace slotproof {
namespace {

void describe(CheckedMemory& memory, const DiagnoseArgs& args) {
  const RemapInputs& inputs = args.inputs;
  const auto set_vector = [&](TensorId id, const auto& v) { memory.set_tensor(id, v.data, 1, v.size, 0); };
  const auto set_matrix = [&](TensorId id, const auto& m) { memory.set_tensor(id, m.data, m.rows, m.columns, m.row_stride); };
  set_vector(TensorId::kReqId, inputs.req_id);
  set_matrix(TensorId::kBlockTable, inputs.block_table);
  set_matrix(TensorId::kTokenIndices, inputs.token_indices);
  if (inputs.prefill_request_id) set_vector(TensorId::kPrefillRequestId, *inputs.prefill_request_id);
  if (inputs.workspace_starts) set_vector(TensorId::kWorkspaceStarts, *inputs.workspace_starts);
  if (args.row_counts) set_matrix(TensorId::kRowCounts, *args.row_counts);
  memory.set_tensor(TensorId::kTotals, args.totals, 1, kNumReasons, 0);
}

template <int Width, Dcp kDcp>
void run_grid(CheckedMemory& memory, const DiagnosisView& view, const HostOptions& options) {
  const auto num_rows = static_cast<uint32_t>(view.remap.num_tokens);
  const Permutation order(options.cta_order_seed, 0, num_rows);
  for (uint32_t i = 0; i < num_rows; ++i) {
    HostTeam<Width, kMostVectorsPerThread> team(memory, order.at(i), options.thread_order_seed);
    diagnose_row<kDcp>(team, view);
  }
}

using RunGrid = void (*)(CheckedMemory&, const DiagnosisView&, const HostOptions&);

template <int Width>
RunGrid run_grid_of(Dcp dcp) {
  return dcp == Dcp::kOff ? run_grid<Width, Dcp::kOff> : run_grid<Width, Dcp::kOn>;
}

RunGrid run_grid_of(int32_t width, Dcp dcp) {
  switch (width) {
    case 32: return run_grid_of<32>(dcp);
    case 64: return run_grid_of<64>(dcp);
    case 128: return run_grid_of<128>(dcp);
    default: return run_grid_of<256>(dcp);
  }
}

}  // namespace

Status diagnose_on_host(const DiagnoseArgs& args, const HostOptions& options) noexcept {
  if (const Status status = validate(args); !status.ok()) return status;
  if (const Status status = check(PlanOptions{options.team_width, options.planned_rows}); !status.ok()) return status;
  if (writes_nothing(args)) return {};
  static thread_local CheckedMemory memory;  // Its shadow memory serves every launch of this thread.
  const DiagnosisPlan plan = plan_tiles(args, options.team_width);
  Status status;
  try {
    memory.begin_launch();
    describe(memory, args);
    run_grid_of(plan.team_width, plan.dcp)(memory, make_view(args, plan.tile), options);
  } catch (const MemoryFault& fault) {
    status = status_of(fault);
  } catch (const std::exception&) {
    status = Status::make(StatusCode::kNotSupported, "no memory for the checks of %d rows", args.inputs.token_indices.rows);
  }
  memory.end_launch();
  return status;
}

}  // namespace slotproof
