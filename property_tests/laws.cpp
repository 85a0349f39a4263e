// The laws: every back end keeps them, on drawn problems and over all ranks of every size; each is seen to fail, with a small problem.

#include "property_tests/harness/laws.h"

#include "property_tests/backends.h"
#include "property_tests/harness/shrinker.h"
#include "property_tests/places.h"
#include "reference/remap.h"

#include <slotproof/plugin.h>

#include <numeric>

namespace slotproof::harness {
namespace {

using spec::Law;

struct Subject {
  std::string backend;
  Law law;
};
void PrintTo(const Subject& subject, std::ostream* os) {
  *os << subject.backend << " " << spec::id_of(subject.law);
}

std::vector<Subject> all_subjects() {
  std::vector<Subject> subjects;
  for (const std::string& backend : kBackends) {
    for (const spec::LawText& law : spec::laws()) subjects.push_back({backend, law.law});
  }
  return subjects;
}
std::string name_of_subject(const testing::TestParamInfo<Subject>& tested) {
  return tested.param.backend + "_" + std::string(spec::id_of(tested.param.law));
}

class EveryLaw : public testing::TestWithParam<Subject> {
 protected:
  void SetUp() override {
    auto [made, reason] = make_backend(GetParam().backend);
    if (!made) GTEST_SKIP() << "back end " << GetParam().backend << " is absent: " << reason;
    backend_ = std::move(made);
  }
  Law law() const { return GetParam().law; }
  // Whether the law holds of the problem, and had something to say of it.
  bool exercised_by(const RemapCase& remap_case) {
    const LawVerdict verdict = check_law(law(), *backend_, remap_case);
    for (const Finding& finding : verdict.findings) ADD_FAILURE() << describe(finding) << "\n" << as_json(remap_case);
    return verdict.is_exercised;
  }
  const BackendInfo& info() const { return backend_->info(); }

 private:
  std::unique_ptr<Backend> backend_;
};

TEST_P(EveryLaw, HoldsOnDrawnProblems) {
  int num_exercised = 0;
  for (uint64_t index = 0; index < 200 && !HasFailure(); ++index) num_exercised += exercised_by(draw_for_law(law(), 1, index, {}, info()));
  EXPECT_GT(num_exercised, 40);
}

// Two requests of three blocks each. Row 0 has every position of one rank's table; row 1 a few beyond any rank's, backwards, two of
// them twice, and padding.
RemapCase case_for(int32_t size, int32_t interleave, int32_t block_size, bool is_for_one_table) {
  RemapCase c;
  c.req_id = {0, 1};
  c.block_table = OwnedMatrix::of({{5, 0, 3}, {1, 4, 2}});
  c.block_size = block_size;
  c.block_stride_rows = block_size + 2;
  c.num_blocks = 6;
  c.dcp = {size, 0, interleave};
  const int32_t num_positions = 3 * block_size;
  c.token_indices = OwnedMatrix::filled(2, num_positions, spec::kNone);
  std::iota(c.token_indices.storage.begin(), c.token_indices.storage.begin() + num_positions, 0);
  const int32_t last = is_for_one_table ? num_positions - 1 : num_positions * size + block_size, step = std::max(last / num_positions, 1);
  for (int32_t k = 1; k < num_positions; ++k) c.token_indices.at(1, k) = std::max(last - (k - k % 3) * step, 0);
  return c;
}

// N in 1 ... 9 and the primes up to 31, and every I that divides S.
TEST_P(EveryLaw, HoldsForEveryNumberOfRanksAndEveryInterleave) {
  const bool is_of_groups = law() == Law::kAlignment || law() == Law::kOneRank;  // with I = 1 they say nothing
  for (const int32_t size : {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 17, 19, 23, 29, 31}) {
    if (law() == Law::kOneRank && size > 1) break;
    for (const int32_t block_size : {1, 2, 6, 16}) {
      for (int32_t interleave = 1; interleave <= block_size; ++interleave) {
        if (block_size % interleave != 0) continue;
        const bool needs_one_table = law() == Law::kPartition || law() == Law::kDense || law() == Law::kAlignment;
        const bool is_exercised = exercised_by(case_for(size, interleave, block_size, needs_one_table));
        EXPECT_TRUE(is_exercised || (is_of_groups && interleave == 1)) << "N " << size << ", I " << interleave << ", S " << block_size;
        if (HasFailure()) return;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Laws, EveryLaw, testing::ValuesIn(all_subjects()), name_of_subject);

// ---- Each law is seen to fail.

struct Broken {
  RemapCase smallest;
  std::string text;
  int num_cases = 0;  // up to the first that breaks it
};

// The smallest problem of which the law does not hold; the judge's own findings do not count.
std::optional<Broken> broken_by(Law law, Backend& backend) {
  const auto finding_of = [&](const RemapCase& c) -> std::optional<Finding> {
    for (Finding& finding : check_law(law, backend, c).findings) {
      if (finding.breach) return finding;
    }
    return std::nullopt;
  };
  for (uint64_t index = 0; index < 400; ++index) {
    const RemapCase drawn = draw_for_law(law, 1, index, {}, backend.info());
    if (!finding_of(drawn)) continue;
    const Shrunk shrunk = shrink(drawn, [&](const RemapCase& c) { return finding_of(c).has_value(); });
    return Broken{shrunk.remap_case, describe(*finding_of(shrunk.remap_case)), int(index) + 1};
  }
  return std::nullopt;
}

void expect_small_counterexample(Law law, Backend& backend) {
  const auto broken = broken_by(law, backend);
  ASSERT_TRUE(broken) << backend.info().name << " breaks no " << spec::id_of(law);
  EXPECT_LE(broken->smallest.num_tokens(), 2) << as_json(broken->smallest);
  EXPECT_LE(broken->smallest.topk(), 8) << as_json(broken->smallest);
  EXPECT_TRUE(broken->text.starts_with("law " + std::string(spec::id_of(law)))) << broken->text;
}

struct Planted {
  Law law;
  const char* fault;
};
void PrintTo(const Planted& planted, std::ostream* os) {
  *os << spec::id_of(planted.law) << " " << planted.fault;
}

class LawsSee : public testing::TestWithParam<Planted> {};
TEST_P(LawsSee, PlantedFaults) {
  const auto [backend, reason] = make_backend("plugin:" + (fault_dir() / (std::string(GetParam().fault) + ".so")).string());
  ASSERT_TRUE(backend) << reason;
  expect_small_counterexample(GetParam().law, *backend);
}
INSTANTIATE_TEST_SUITE_P(Laws, LawsSee,
                         testing::Values(Planted{Law::kPartition, "foreign-kept"}, Planted{Law::kDense, "local-position-of-interleave-one"},
                                         Planted{Law::kAlignment, "interleave-ignored"}, Planted{Law::kWriterAndReader, "stride-taken-for-size"},
                                         Planted{Law::kColumns, "last-tile-dropped"}, Planted{Law::kBlocks, "stride-ignored-under-dcp"},
                                         Planted{Law::kPadding, "minus-one-becomes-zero"}, Planted{Law::kCount, "count-includes-foreign"},
                                         Planted{Law::kCompaction, "unstable-prefix"}, Planted{Law::kThereAndBack, "local-position-of-interleave-one"}),
                         [](const auto& tested) { return std::string(spec::id_of(tested.param.law)); });

// The reference, wrong in one way: of the laws for which no fault is planted.
MadeBackend wrong_reference(std::function<void(spec::RemapProblem&)> remap, uint64_t capabilities = SLOTPROOF_CAN_ALL) {
  return MadeBackend(
      [remap](Frame& frame, const Schedule&) {
        spec::RemapProblem problem = frame.problem();
        remap(problem);
        return RunOutcome{};
      },
      capabilities);
}

TEST(LawsSee, ALastRowThatIsTakenForTheFirst) {
  MadeBackend wrong = wrong_reference([](spec::RemapProblem& p) {
    reference::remap(p);
    const int64_t last = int64_t{p.num_tokens()} - 1;
    for (int32_t k = 0; k < p.topk() && last > 0; ++k) p.slots.data[last * p.slots.row_stride + k] = p.slots.data[k];
  });
  expect_small_counterexample(Law::kRows, wrong);
}

TEST(LawsSee, ALastColumnThatOnlyBatchesOfOneRowHave) {
  MadeBackend wrong = wrong_reference([](spec::RemapProblem& p) {
    reference::remap(p);
    for (int64_t t = 0; t < p.num_tokens() && p.num_tokens() > 1 && p.topk() > 0; ++t) p.slots.data[t * p.slots.row_stride + p.topk() - 1] = -1;
  });
  expect_small_counterexample(Law::kBatch, wrong);
}

TEST(LawsSee, AnInterleaveThatCountsWithOneRank) {
  MadeBackend wrong = wrong_reference([](spec::RemapProblem& p) {
    if (p.dcp.size == 1 && !p.prefill_request_id) p.dcp = {p.dcp.interleave, 0, 1};
    reference::remap(p);
  });
  expect_small_counterexample(Law::kOneRank, wrong);
}

// Where the premise is not met, the right answer may break the law, and nothing is said.
TEST(Laws, KeepToTheirPremises) {
  const auto reference = make_reference_backend().backend;
  RemapCase hole = case_for(2, 1, 2, true);
  hole.block_table.at(0, 1) = -1;  // other positions at each rank than with N = 1
  RemapCase block_twice = hole, torn = hole, far = case_for(2, 1, 2, false), workspace = case_for(1, 1, 2, true);
  block_twice.block_table.at(0, 1) = block_twice.block_table.at(0, 0);
  torn.dcp.interleave = 4;
  workspace.prefill = OwnedPrefill{{0, -1}, {100}, {}};
  const std::pair<Law, RemapCase> unmet[] = {
      {Law::kPartition, hole}, {Law::kPartition, far},   {Law::kPartition, workspace},  {Law::kAlignment, hole},
      {Law::kDense, torn},     {Law::kDense, workspace}, {Law::kWriterAndReader, hole}, {Law::kWriterAndReader, block_twice}};
  for (const auto& [law, c] : unmet) {
    const LawVerdict verdict = check_law(law, *reference, c);
    EXPECT_TRUE(!verdict.is_exercised && verdict.findings.empty()) << spec::id_of(law) << " " << as_json(c);
  }
}

TEST(Laws, AreFoundByTheirIds) {
  for (const spec::LawText& text : spec::laws()) EXPECT_EQ(spec::law_of(text.id), text.law) << text.id;
  EXPECT_FALSE(spec::law_of("M10"));
}

// A signature that cannot say what a law asks for is not asked.
TEST(Laws, AskForNothingThatTheSignatureCannotSay) {
  BackendInfo info{"", Level::kCore, SLOTPROOF_CAN_COUNT, ""};
  for (const Law law :
       {Law::kPartition, Law::kDense, Law::kAlignment, Law::kWriterAndReader, Law::kThereAndBack, Law::kOneRank, Law::kCount, Law::kCompaction}) {
    EXPECT_FALSE(is_applicable(law, info)) << spec::id_of(law);
  }
  for (const Law law : {Law::kRows, Law::kColumns, Law::kBlocks, Law::kPadding, Law::kBatch}) EXPECT_TRUE(is_applicable(law, info)) << spec::id_of(law);
}

// A signature like the seed's compacts under DCP alone, and keeps entries in place without it; widths are multiples of 128.
TEST(Laws, ArePutToASignatureLikeTheSeeds) {
  constexpr uint64_t kSeed = SLOTPROOF_CAN_COUNT | SLOTPROOF_CAN_COMPACT | SLOTPROOF_CAN_DCP | SLOTPROOF_CAN_BLOCK_STRIDE | SLOTPROOF_CAN_PREFILL;
  for (const bool is_right : {true, false}) {
    MadeBackend seed = wrong_reference(
        [&](spec::RemapProblem& p) {
          if (p.dcp.size > 1 && !is_right) p.dcp.rank = 0;
          reference::remap(p);
        },
        kSeed);
    const DecoderOptions options{Level::kCore, kSeed};
    for (const Law law : {Law::kPartition, Law::kRows, Law::kColumns, Law::kBlocks, Law::kPadding, Law::kBatch, Law::kOneRank}) {
      int num_exercised = 0, num_broken = 0;
      for (uint64_t index = 0; index < 60; ++index) {
        const LawVerdict verdict = check_law(law, seed, draw_for_law(law, 1, index, options, seed.info()));
        num_exercised += verdict.is_exercised;
        num_broken += !verdict.findings.empty();
      }
      EXPECT_GT(num_exercised, 10) << spec::id_of(law);
      EXPECT_EQ(num_broken > 0, !is_right && law == Law::kPartition) << spec::id_of(law);
    }
  }
}

}  // namespace
}  // namespace slotproof::harness
