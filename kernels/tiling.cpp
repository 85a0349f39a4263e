#include "kernels/tiling.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <optional>

namespace slotproof {
namespace {

// Every row begins on a 16-byte boundary.
template <class Matrix>
bool has_aligned_rows(const Matrix& matrix) {
  return vector_phase_of(matrix.data) == 0 && (matrix.rows <= 1 || matrix.row_stride % kVectorSize == 0);
}
template <class Matrix>
bool has_short_stride(const Matrix& matrix) {
  return matrix.rows <= 1 || matrix.row_stride <= UINT32_MAX;
}
bool is_power_of_two(int32_t x) {
  return std::has_single_bit(static_cast<uint32_t>(x));
}

Dcp dcp_of(const RemapArgs& args) {
  return args.dcp.size > 1 ? Dcp::kOn : Dcp::kOff;
}

Sizes sizes_of(const RemapArgs& args) {
  const bool has_powers =
      is_power_of_two(args.block_size) && (dcp_of(args) == Dcp::kOff || (is_power_of_two(args.dcp.size) && is_power_of_two(args.dcp.interleave)));
  return has_powers ? Sizes::kPowersOfTwo : Sizes::kAny;
}

bool can_stage_table(const RemapArgs& args) {
  const ConstMatrix& table = args.block_table;
  // Without ranks the position behind the table's last one stands for all that have no column, so it must be one.
  const bool has_end = dcp_of(args) == Dcp::kOn || int64_t{table.columns} * args.block_size <= INT32_MAX;
  const int32_t most_columns = args.placement == Placement::kCompacted ? kStagedColumnsCompacted : kStagedColumns;
  return table.columns <= most_columns && has_aligned_rows(table) && has_end;
}

// Row counts from which on, or up to which, something pays: measured on an H200 with K = 512 to 4096 (bench/results/
// nvidia-h200-kernels.json). Another device gets the same kernels, at worst a neighbour of its fastest.
constexpr int32_t kMostRowsForNarrowParts = 8;      // in place, without counts: a wide row over teams of 128
constexpr int32_t kMostRowsForWideParts = 64;       // the same over teams of 256; a row of up to 1024 over teams of 128
constexpr int32_t kMostRowsForParts = 256;          // the same over teams of 256 with two vectors a thread
constexpr int32_t kMostRowsStagedForLatency = 64;   // few rows wait for shared memory less than for the cache
constexpr int32_t kLeastRowsStaged = 256;           // many rows are short of the cache's throughput
constexpr int32_t kLeastNarrowRowsStaged = 512;     // of 1024 columns, and of compacted ones
constexpr int32_t kLeastRowsStagedByRank = 1024;    // a rank looks up a share only
constexpr int32_t kLeastRowsForLongThreads = 4096;  // compacted: fewer threads with more entries each
constexpr int32_t kLeastRowsForNarrowTeams = 2048;  // general: rows that leave half of a wide team without work
constexpr int32_t kLeastStagedTopk = 1024;          // fewer positions a row do not pay for a copy of the table's row
constexpr int64_t kColumnsPerLookup = 8;            // a lookup in the cache fetches so many columns

// The team that holds a row of this width exactly.
std::optional<TeamShape> team_of_row(Placement placement, int32_t topk, int32_t rows) {
  const bool is_compacted = placement == Placement::kCompacted;
  switch (topk) {
    case 512: return is_compacted ? TeamShape{64, 2} : TeamShape{128, 1};
    case 1024: return is_compacted ? TeamShape{128, 2} : TeamShape{256, 1};
    case 2048: return is_compacted && rows >= kLeastRowsForLongThreads ? TeamShape{128, 4} : TeamShape{256, 2};
    case 4096: return TeamShape{256, 4};
    default: return std::nullopt;
  }
}

// The team for the parts of a row, in place and without counts.
std::optional<TeamShape> team_of_parts(int32_t topk, int32_t rows) {
  const auto fits = [topk](TeamShape team) { return topk % tile_capacity(team) == 0; };
  if (rows <= (topk <= 1024 ? kMostRowsForWideParts : kMostRowsForNarrowParts) && fits({128, 1})) return TeamShape{128, 1};
  if (rows <= kMostRowsForWideParts && fits({256, 1})) return TeamShape{256, 1};
  if (rows <= kMostRowsForParts && fits({256, 2})) return TeamShape{256, 2};
  if (topk > 4096 && fits({256, 4})) return TeamShape{256, 4};
  return std::nullopt;
}

bool pays_to_stage(const RemapArgs& args, int32_t rows) {
  const int32_t topk = args.token_indices.columns;
  // The whole row of the table for a lookup in every so many of its columns.
  if (topk < kLeastStagedTopk || int64_t{args.block_table.columns} * args.dcp.size > kColumnsPerLookup * topk) return false;
  const bool is_compacted = args.placement == Placement::kCompacted;
  if (is_compacted && topk < 2048) return false;
  if (dcp_of(args) == Dcp::kOn) return rows >= kLeastRowsStagedByRank;
  if (topk >= 4096) return true;
  if (is_compacted) return rows >= kLeastNarrowRowsStaged;
  return rows <= kMostRowsStagedForLatency || rows >= (topk >= 2048 ? kLeastRowsStaged : kLeastNarrowRowsStaged);
}

std::optional<TilePlan> plan_tuned(const RemapArgs& args, int32_t rows) {
  const bool is_decode = !args.prefill_request_id.has_value();
  const bool is_full = has_aligned_rows(args.token_indices) && has_aligned_rows(args.slots) && has_short_stride(args.token_indices) &&
                       has_short_stride(args.slots) && has_short_stride(args.block_table);
  const int32_t topk = args.token_indices.columns;
  if (!is_decode || !is_full || args.tile || topk == 0) return std::nullopt;
  RowForm form{args.placement, Rows::kDecode, RowLayout::kFull, dcp_of(args), sizes_of(args), Lookup::kGlobal};
  std::optional<TeamShape> team;
  if (args.placement == Placement::kInPlace && !args.valid_counts && form.dcp == Dcp::kOff) team = team_of_parts(topk, rows);
  const bool is_shared = team && tile_capacity(*team) < topk;
  if (!is_shared) team = team_of_row(args.placement, topk, rows);
  if (!team) return std::nullopt;
  if (!is_shared && can_stage_table(args) && pays_to_stage(args, rows)) form.lookup = Lookup::kStaged;
  const int32_t kernel = number_of({form, *team});
  if (kernel < 0) return std::nullopt;
  return TilePlan{kernel, tile_capacity(*team), topk / tile_capacity(*team)};
}

}  // namespace

Status check(const PlanOptions& options) noexcept {
  if (options.team_width != 0 && !is_team_width(options.team_width)) {
    return Status::make(StatusCode::kNotSupported, "team_width is %d; 0, 32, 64, 128 and 256 are known", options.team_width);
  }
  if (options.planned_rows < 0) {
    return Status::make(StatusCode::kNotSupported, "planned_rows is %d; it must not be negative", options.planned_rows);
  }
  return {};
}

TilePlan plan_general(const RemapArgs& args, int32_t team_width, int32_t rows) noexcept {
  const int32_t topk = args.token_indices.columns;
  const int32_t wanted = std::max(args.tile ? std::min(*args.tile, topk) : topk, 1);  // columns of a pass
  const bool one_pass = wanted >= topk;
  // A pass that begins off a boundary lies up to three places further back in the register tile.
  const bool is_aligned = has_aligned_rows(args.token_indices) && (one_pass || wanted % kVectorSize == 0);
  const int32_t slack = is_aligned ? 0 : kVectorSize - 1;
  if (team_width == 0) {
    team_width = *std::prev(std::end(kTeamWidths));
    for (const int32_t width : kTeamWidths) {
      if (wanted <= tile_capacity(general_team(width)) - slack) {
        team_width = width;
        break;
      }
    }
    const bool is_half_empty = team_width > 64 && int64_t{4} * wanted < 3 * tile_capacity(general_team(team_width));
    if (is_half_empty && rows >= kLeastRowsForNarrowTeams) team_width = 64;
  }
  const bool is_staged = general_can_stage(team_width, dcp_of(args)) && topk >= kLeastStagedTopk && can_stage_table(args);
  const RowForm form{args.placement, Rows::kMixed, RowLayout::kAny, dcp_of(args), Sizes::kAny, is_staged ? Lookup::kStaged : Lookup::kGlobal};
  const int32_t capacity = tile_capacity(general_team(team_width));
  // Passes of whole vectors keep the alignment that the row has, also where a wide row or a wide tile is split.
  const int32_t widest = is_aligned ? capacity : capacity - kVectorSize;
  return {number_of({form, general_team(team_width)}), wanted <= capacity - slack ? wanted : widest, 1};
}

TilePlan plan_tiles(const RemapArgs& args, const PlanOptions& options) noexcept {
  const int32_t rows = options.planned_rows > 0 ? options.planned_rows : args.token_indices.rows;
  if (options.team_width == 0) {
    if (const auto plan = plan_tuned(args, rows)) return *plan;
  }
  return plan_general(args, options.team_width, rows);
}

}  // namespace slotproof
