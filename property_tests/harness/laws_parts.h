#pragma once
// One law at work on one problem. Internal to laws*.cpp.

#include "property_tests/harness/laws.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace slotproof::harness {

// What one run left in the outputs.
struct LawOutputs {
  spec::IndexMatrix slots;         // [T, K]
  spec::IndexVector valid_counts;  // [T], or empty where counts were not asked for
  bool is_order_free = false;      // rows are compacted, in any order

  std::vector<int32_t> row(int32_t t) const;   // sorted where the order is free
  std::vector<int32_t> kept(int32_t t) const;  // the entries that are not none, in their order
  int32_t num_kept(int32_t t) const { return int32_t(kept(t).size()); }
};

class LawCheck {
 public:
  LawCheck(spec::Law law, Backend& backend, const RemapCase& remap_case, const AcceptedDivergences* accepted);

  const RemapCase& problem() const { return case_; }
  bool can(uint64_t capability) const { return (backend_.info().capabilities & capability) == capability; }

  // Runs a problem made from problem(). Nothing where the law says nothing of it (it is refused by rights, cannot be said to this back
  // end, or an accepted divergence matters in it), and where the run itself failed, which is a finding.
  std::optional<LawOutputs> run(RemapCase asked, std::string_view what);

  void exercise() { verdict_.is_exercised = true; }
  bool has_finding() const { return !verdict_.findings.empty(); }
  // The first thing that is wrong is reported, and no other.
  void report(std::string place, std::string expected, std::string got);
  // Row t of a run is `due`; `what` says which run. Both up to the order where that is free.
  void expect_row(const LawOutputs& got, int32_t t, std::vector<int32_t> due, std::string_view what);
  void expect_count(const LawOutputs& got, int32_t t, int32_t due, std::string_view what);

  LawVerdict take() { return std::move(verdict_); }

 private:
  spec::Law law_;
  Backend& backend_;
  RemapCase case_;
  const AcceptedDivergences* accepted_;
  LawVerdict verdict_;
  uint64_t poison_seed_ = 1;  // another one for each run
};

// Whether every entry of the table gives a slot at each offset: then the position alone and the request row decide what is none.
bool has_valid_table(const RemapCase& c);
// Blocks in [0, num_blocks), or where that is not given below the first whose slots are not all representable.
int64_t num_valid_blocks(const RemapCase& c);
// Positions that a table of this width holds at one rank.
int64_t num_table_positions(const RemapCase& c);
// Ranks are run one after another: more than these take too long.
inline constexpr int32_t kMostRanks = 31;

// Over all ranks: laws_ranks.cpp.
void check_partition(LawCheck& law);
void check_dense(LawCheck& law);
void check_alignment(LawCheck& law);
void check_writer_and_reader(LawCheck& law);
void check_there_and_back(LawCheck& law);
// Between calls: laws_calls.cpp.
void check_rows(LawCheck& law);
void check_columns(LawCheck& law);
void check_blocks(LawCheck& law);
void check_padding(LawCheck& law);
void check_batch(LawCheck& law);
void check_one_rank(LawCheck& law);
void check_count(LawCheck& law);
void check_compaction(LawCheck& law);

}  // namespace slotproof::harness
