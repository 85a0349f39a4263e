// The diagnosis for the bench, as a C function beside the floors: arguments as a plug-in gets them, device pointers.

#include "kernels/plugin_arguments.h"

#include <slotproof/diagnosis.h>

// Writes row_counts [T, 8] where it is not null; adds to totals [8]. Returns the status code.
extern "C" __attribute__((visibility("default"))) int slotproof_bench_diagnose(const slotproof_remap_arguments* arguments, int32_t* row_counts,
                                                                               int64_t* totals, void* stream) {
  slotproof::DiagnoseArgs args;
  args.inputs = slotproof::args_of(*arguments);
  if (row_counts != nullptr) args.row_counts = slotproof::MutableMatrix{row_counts, args.inputs.token_indices.rows, slotproof::kNumReasons, slotproof::kNumReasons};
  args.totals = totals;
  return static_cast<int>(slotproof::launch_remap_diagnose(args, static_cast<CUstream_st*>(stream)).code());
}
