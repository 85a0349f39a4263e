#pragma once
// The kernels that there are: which forms of a row's body, for which teams. The planner (tiling.h) picks one; the launcher and
// the host run it by its number.
//
// Two families. The *general* kernels take every launch: any sizes, rows anywhere in memory, prefill rows, several passes.
// The *tuned* ones take the launches that matter most: decode rows on 16-byte boundaries that fill their team exactly. What such
// a row does not need is not in their code: for few rows the instructions on its way are the time that it takes.
// bench/results/nvidia-h200-kernels.json has the measurements that the list comes from.

#include "kernels/fast_divisor.h"
#include "kernels/register_tile.h"

#include <slotproof/remap.h>

#include <array>

namespace slotproof {

// kDecode: the launch has no prefill rows.
enum class Rows : uint8_t { kDecode, kMixed };

// Whether there are several ranks.
enum class Dcp : uint8_t { kOff, kOn };

// Where the entries of a request's row of the block table are looked up: where they are, or in a copy in shared memory.
enum class Lookup : uint8_t { kGlobal, kStaged };

// Of the widest row that is staged; multiples of four columns a thread. A compacted row needs shared memory of its own.
inline constexpr int32_t kStagedColumns = 8192;
inline constexpr int32_t kStagedColumnsCompacted = 4096;

// What a row's body is compiled for.
struct RowForm {
  Placement placement;
  Rows rows;
  RowLayout layout;
  Dcp dcp;
  Sizes sizes;  // of blocks, ranks and interleave
  Lookup lookup;
  bool operator==(const RowForm&) const = default;
};

// The threads that own a row, or one part of it, and the vectors of four columns that each holds at once.
struct TeamShape {
  int32_t width;
  int32_t vectors_per_thread;
  bool operator==(const TeamShape&) const = default;
};
constexpr int32_t tile_capacity(TeamShape team) {
  return tile_capacity(team.width, team.vectors_per_thread);
}

struct RowKernel {
  RowForm form;
  TeamShape team;
  bool operator==(const RowKernel&) const = default;
};

constexpr bool is_general(const RowKernel& kernel) {
  return kernel.form.layout == RowLayout::kAny;
}

inline constexpr int32_t kTeamWidths[] = {32, 64, 128, 256};  // of the general kernels
constexpr bool is_team_width(int32_t width) {
  for (const int32_t known : kTeamWidths) {
    if (width == known) return true;
  }
  return false;
}
constexpr TeamShape general_team(int32_t width) {
  return {width, kMostVectorsPerThread};
}

// A rank looks up only its own share of the positions, and a narrow team's rows have few: for the general kernels a copy of the
// table's row would not pay then.
constexpr bool general_can_stage(int32_t width, Dcp dcp) {
  return width >= 128 && dcp == Dcp::kOff;
}

// Calls visit(RowKernel) for each kernel, in the order of their numbers.
template <class Visit>
constexpr void for_each_row_kernel(Visit&& visit) {
  constexpr auto kInPlace = Placement::kInPlace, kCompacted = Placement::kCompacted;
  for (const Placement placement : {kInPlace, kCompacted}) {
    for (const int32_t width : kTeamWidths) {
      for (const Dcp dcp : {Dcp::kOff, Dcp::kOn}) {
        for (const Lookup lookup : {Lookup::kGlobal, Lookup::kStaged}) {
          if (lookup == Lookup::kStaged && !general_can_stage(width, dcp)) continue;
          visit(RowKernel{{placement, Rows::kMixed, RowLayout::kAny, dcp, Sizes::kAny, lookup}, general_team(width)});
        }
      }
    }
  }
  struct Tuned {
    Placement placement;
    Lookup lookup;
    TeamShape team;
  };
  constexpr Tuned kTuned[] = {
      {kInPlace, Lookup::kGlobal, {128, 1}},   {kInPlace, Lookup::kGlobal, {256, 1}},   {kInPlace, Lookup::kStaged, {256, 1}},
      {kInPlace, Lookup::kGlobal, {256, 2}},   {kInPlace, Lookup::kStaged, {256, 2}},   {kInPlace, Lookup::kGlobal, {256, 4}},
      {kInPlace, Lookup::kStaged, {256, 4}},   {kCompacted, Lookup::kGlobal, {64, 2}},  {kCompacted, Lookup::kGlobal, {128, 2}},
      {kCompacted, Lookup::kGlobal, {256, 2}}, {kCompacted, Lookup::kStaged, {256, 2}}, {kCompacted, Lookup::kGlobal, {128, 4}},
      {kCompacted, Lookup::kStaged, {128, 4}}, {kCompacted, Lookup::kGlobal, {256, 4}}, {kCompacted, Lookup::kStaged, {256, 4}},
  };
  for (const Tuned& tuned : kTuned) {
    for (const Dcp dcp : {Dcp::kOff, Dcp::kOn}) {
      for (const Sizes sizes : {Sizes::kPowersOfTwo, Sizes::kAny}) {
        if (dcp == Dcp::kOff && sizes == Sizes::kAny) continue;  // Blocks of other sizes are left to the general kernels.
        visit(RowKernel{{tuned.placement, Rows::kDecode, RowLayout::kFull, dcp, sizes, tuned.lookup}, tuned.team});
      }
    }
  }
}

constexpr int count_row_kernels() {
  int count = 0;
  for_each_row_kernel([&](const RowKernel&) { ++count; });
  return count;
}
inline constexpr int kNumRowKernels = count_row_kernels();

inline constexpr std::array<RowKernel, kNumRowKernels> kRowKernels = [] {
  std::array<RowKernel, kNumRowKernels> kernels{};
  int i = 0;
  for_each_row_kernel([&](const RowKernel& kernel) { kernels[static_cast<std::size_t>(i++)] = kernel; });
  return kernels;
}();

// -1 where there is no such kernel.
constexpr int number_of(const RowKernel& kernel) {
  for (int i = 0; i < kNumRowKernels; ++i) {
    if (kRowKernels[static_cast<std::size_t>(i)] == kernel) return i;
  }
  return -1;
}

}  // namespace slotproof
