// The kernel body on the host, over checked memory.

#include "kernels/compiled_kernels.h"
#include "kernels/remap.h"
#include "kernels/team/host_team.h"

#include <exception>
#include <utility>

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

template <int kNumber>
void run_grid(CheckedMemory& memory, const RemapView& view, int32_t num_parts, const HostOptions& options) {
  constexpr RowKernel kKernel = kRowKernels[kNumber];
  const auto num_ctas = static_cast<uint32_t>(view.num_tokens) * static_cast<uint32_t>(num_parts);
  const Permutation order(options.cta_order_seed, 0, num_ctas);
  for (uint32_t i = 0; i < num_ctas; ++i) {
    HostTeam<kKernel.team.width, kKernel.team.vectors_per_thread> team(memory, order.at(i), options.thread_order_seed, num_parts);
    remap_row<kKernel.form>(team, view);
  }
}

using RunGrid = void (*)(CheckedMemory&, const RemapView&, int32_t, const HostOptions&);

template <int kNumber>
constexpr RunGrid compiled_grid() {
  if constexpr (is_compiled(kRowKernels[kNumber])) return run_grid<kNumber>;
  return nullptr;
}
template <int... kNumbers>
constexpr std::array<RunGrid, kNumRowKernels> compiled_grids(std::integer_sequence<int, kNumbers...>) {
  return {compiled_grid<kNumbers>()...};
}
constexpr auto kGrids = compiled_grids(std::make_integer_sequence<int, kNumRowKernels>{});

}  // namespace

Status remap_on_host(const RemapArgs& args, const HostOptions& options) noexcept {
  if (const Status status = validate(args); !status.ok()) return status;
  const PlanOptions plan_options{options.team_width, options.planned_rows};
  if (const Status status = check(plan_options); !status.ok()) return status;
  if (writes_nothing(args)) return {};
  static thread_local CheckedMemory memory;  // Its shadow memory serves every launch of this thread.
  const TilePlan plan = compiled_plan(args, plan_options);
  Status status;
  try {
    memory.begin_launch();
    describe(memory, args);
    kGrids[static_cast<std::size_t>(plan.kernel)](memory, make_view(args, plan.tile), plan.num_parts, options);
  } catch (const MemoryFault& fault) {
    status = status_of(fault);
  } catch (const std::exception&) {
    status = Status::make(StatusCode::kNotSupported, "no memory for the checks of %d rows of %d columns", args.slots.rows, args.slots.columns);
  }
  memory.end_launch();
  return status;
}

}  // namespace slotproof
