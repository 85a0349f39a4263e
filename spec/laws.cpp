#include "spec/laws.h"

#include <array>

namespace slotproof::spec {
namespace {

constexpr Rule kOwner[] = {Rule::R3, Rule::P1};
constexpr Rule kLocal[] = {Rule::R4, Rule::P2};
constexpr Rule kGroup[] = {Rule::R4, Rule::R8, Rule::P3};
constexpr Rule kWriter[] = {Rule::R3, Rule::R4, Rule::R6, Rule::R7, Rule::R8, Rule::P4};
constexpr Rule kSame[] = {Rule::R14};
constexpr Rule kPlaces[] = {Rule::R10, Rule::R12, Rule::R12u, Rule::R14};
constexpr Rule kSlot[] = {Rule::R7, Rule::R8};
constexpr Rule kNone[] = {Rule::R1, Rule::R11, Rule::R12};
constexpr Rule kNoRanks[] = {Rule::R3, Rule::R4};
constexpr Rule kCounts[] = {Rule::R11, Rule::R12};
constexpr Rule kFilter[] = {Rule::R10, Rule::R12, Rule::R12u};

constexpr std::array<LawText, kNumLaws> kLaws = {{
    {Law::kPartition, "P1", "partition", "Each entry that N = 1 keeps is kept by exactly one of the N ranks, and their counts add up to its count.",
     "All ranks and N = 1 have one table of valid entries that covers every position at N = 1.", kOwner},
    {Law::kDense, "P2", "dense",
     "A rank's positions in [0, n) have the local positions 0, 1, ... local_length(n) - 1, in this order, and the lengths sum to n.",
     "Column b of the table is block b and L = S, so that a slot is a local position.", kLocal},
    {Law::kAlignment, "P3", "alignment", "The I positions of a group have consecutive slots in one block, at exactly one rank.",
     "A table of valid entries that covers the group at N = 1.", kGroup},
    {Law::kWriterAndReader, "P4", "writer and reader",
     "Deal positions 0, 1, 2, ... to ranks and lay each share into its blocks: every slot holds its position, and none is a position that the rank did not "
     "store.",
     "Valid entries, no block twice in a row of the table.", kWriter},
    {Law::kRows, "M1", "rows", "Permuting the rows of the batch permutes the rows of the outputs.", "T >= 2.", kSame},
    {Law::kColumns, "M2", "columns", "Permuting the columns of a row permutes its entries; of a compacted row it permutes the prefix.", "K >= 2.", kPlaces},
    {Law::kBlocks, "M3", "blocks", "Relabelling physical blocks relabels slots: base * L + offset becomes base' * L + offset.",
     "A permutation of blocks of the table that are valid and have a slot for each offset; decode rows.", kSlot},
    {Law::kPadding, "M4", "padding", "Appending columns of -1 appends none and changes nothing else.", "No explicit tile.", kNone},
    {Law::kBatch, "M5", "batch", "The outputs of a batch are those of its two parts, joined.", "T >= 2.", kSame},
    {Law::kOneRank, "M6", "one rank", "With N = 1 every interleave gives what the call without DCP gives.", "S % I == 0.", kNoRanks},
    {Law::kCount, "M7", "count", "The count of a row is the number of its entries in place that are not none, and the size of its compacted set.", "", kCounts},
    {Law::kCompaction, "M8", "compaction", "The entries in place without the nones, in their order, and then -1, are the compacted row.",
     "Under order unspecified: up to the order.", kFilter},
    {Law::kThereAndBack, "M9", "there and back",
     "The position that the writer dealt to a rank as its l-th comes back as local position l there, and as none at other ranks.",
     "Column b of the table is block b and L = S, so that a slot is a local position.", kOwner},
}};

constexpr bool table_follows_the_enumeration() {
  for (std::size_t i = 0; i < kNumLaws; ++i) {
    if (kLaws[i].law != Law(i)) return false;
  }
  return true;
}
static_assert(table_follows_the_enumeration());

}  // namespace

std::span<const LawText> laws() {
  return kLaws;
}
const LawText& text_of(Law law) {
  return kLaws[std::size_t(law)];
}
std::string_view id_of(Law law) {
  return text_of(law).id;
}

std::optional<Law> law_of(std::string_view id) {
  for (const LawText& text : kLaws) {
    if (text.id == id) return text.law;
  }
  return std::nullopt;
}

}  // namespace slotproof::spec
