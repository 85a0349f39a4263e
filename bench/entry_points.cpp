// What the bench measures beside launch_remap(), as C functions next to the floors: the diagnosis, and each kernel by its number.
// Arguments are those of a plug-in, pointers are device pointers; the result is the status code.

#include "kernels/plugin_arguments.h"
#include "kernels/remap_launch.h"

#include <slotproof/diagnosis.h>

#define SLOTPROOF_BENCH_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using namespace slotproof;

constexpr int32_t kDoesNotFit = -1;

// The plan that runs this kernel on these arguments; none where it does not take them.
bool find_plan(const RemapArgs& args, int32_t number, bool is_shared, TilePlan& plan) {
  const RowKernel& kernel = kRowKernels[static_cast<std::size_t>(number)];
  if (is_general(kernel)) {
    plan = plan_general(args, kernel.team.width, args.token_indices.rows);
    return !is_shared && plan.kernel == number;
  }
  for (const int32_t rows : {1, 32, 128, 512, 2048, 8192}) {
    plan = plan_tiles(args, {0, rows});
    const RowForm& planned = kernel_of(plan).form;
    if (is_general(kernel_of(plan)) || planned.placement != kernel.form.placement || planned.dcp != kernel.form.dcp || planned.sizes != kernel.form.sizes)
      continue;
    const int32_t topk = args.token_indices.columns, capacity = tile_capacity(kernel.team);
    const bool is_staged = kernel.form.lookup == Lookup::kStaged;
    if (is_shared ? topk % capacity != 0 || topk == capacity || is_staged || args.valid_counts || args.dcp.size > 1 : topk != capacity) return false;
    if (is_staged && args.block_table.columns > (args.placement == Placement::kCompacted ? kStagedColumnsCompacted : kStagedColumns)) return false;
    plan = {number, capacity, topk / capacity};
    return true;
  }
  return false;
}

}  // namespace

// Writes row_counts [T, 8] where it is not null; adds to totals [8].
SLOTPROOF_BENCH_EXPORT int slotproof_bench_diagnose(const slotproof_remap_arguments* arguments, int32_t* row_counts, int64_t* totals, void* stream) {
  DiagnoseArgs args;
  args.inputs = args_of(*arguments);
  if (row_counts != nullptr) args.row_counts = MutableMatrix{row_counts, args.inputs.token_indices.rows, kNumReasons, kNumReasons};
  args.totals = totals;
  return static_cast<int>(launch_remap_diagnose(args, static_cast<CUstream_st*>(stream)).code());
}

SLOTPROOF_BENCH_EXPORT int slotproof_bench_num_kernels() {
  return kNumRowKernels;
}

// [placement, layout, dcp, sizes, lookup, width, vectors per thread] of a kernel, as numbers of their enumerators.
SLOTPROOF_BENCH_EXPORT void slotproof_bench_describe_kernel(int32_t number, int32_t fields[7]) {
  const RowKernel& kernel = kRowKernels[static_cast<std::size_t>(number)];
  const int32_t values[] = {int32_t(kernel.form.placement), int32_t(kernel.form.layout), int32_t(kernel.form.dcp),      int32_t(kernel.form.sizes),
                            int32_t(kernel.form.lookup),    kernel.team.width,           kernel.team.vectors_per_thread};
  for (int i = 0; i < 7; ++i) fields[i] = values[i];
}

// The number of the kernel that the planner picks, and 1000 more where several teams share a row.
SLOTPROOF_BENCH_EXPORT int slotproof_bench_planned_kernel(const slotproof_remap_arguments* arguments) {
  const TilePlan plan = plan_tiles(args_of(*arguments), {});
  return plan.kernel + (plan.num_parts > 1 ? 1000 : 0);
}

// Launches one kernel. kDoesNotFit, and no launch, where it does not take the arguments.
SLOTPROOF_BENCH_EXPORT int slotproof_bench_launch_kernel(const slotproof_remap_arguments* arguments, int32_t number, int32_t is_shared, void* stream) {
  const RemapArgs args = args_of(*arguments);
  if (const Status status = validate(args); !status.ok()) return static_cast<int>(status.code());
  TilePlan plan{};
  if (!find_plan(args, number, is_shared != 0, plan)) return kDoesNotFit;
  return static_cast<int>(launch_plan(args, plan, static_cast<CUstream_st*>(stream)).code());
}
