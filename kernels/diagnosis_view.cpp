#include "kernels/diagnosis_view.h"

#include "kernels/tiling.h"

#include <algorithm>
#include <type_traits>

namespace slotproof {
namespace {

static_assert(std::is_trivially_copyable_v<DiagnosisView>);

RemapArgs remap_args_of(const DiagnoseArgs& args) {
  RemapArgs remap;
  static_cast<RemapInputs&>(remap) = args.inputs;
  return remap;
}

}  // namespace

DiagnosisPlan plan_tiles(const DiagnoseArgs& args, int32_t team_width) noexcept {
  const TilePlan plan = plan_general(remap_args_of(args), team_width, args.inputs.token_indices.rows);
  return {kernel_of(plan).team.width, plan.tile, kernel_of(plan).form.dcp};
}

DiagnosisView make_view(const DiagnoseArgs& args, int32_t tile) noexcept {
  DiagnosisView view{};
  view.remap = make_view(remap_args_of(args), tile);
  view.totals = args.totals;
  constexpr int64_t kEnd = int64_t{1} << 31;  // above every base that is not negative
  view.num_blocks = static_cast<uint32_t>(std::min(args.inputs.num_blocks.value_or(kEnd), kEnd));
  if (args.row_counts) {
    view.has_row_counts = true;
    view.row_counts = args.row_counts->data;
    view.row_counts_stride = args.row_counts->row_stride;
  }
  return view;
}

bool writes_nothing(const DiagnoseArgs& args) noexcept {
  return args.inputs.token_indices.rows == 0 || (args.inputs.token_indices.columns == 0 && !args.row_counts);
}

const char* name_of(NoneReason reason) noexcept {
  static constexpr const char* kNames[kNumReasons] = {"slot",        "padding", "workspace",      "foreign_rank",
                                                      "request_row", "column",  "physical_block", "unrepresentable"};
  return static_cast<int32_t>(reason) < kNumReasons ? kNames[static_cast<std::size_t>(reason)] : "unknown";
}

}  // namespace slotproof
