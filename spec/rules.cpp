#include "spec/rules.h"

#include <array>

namespace slotproof::spec {
namespace {

constexpr std::array kRules = {
    RuleText{Rule::R1, "R1", "padding",
             "tok < 0 (every negative, not only -1) gives none. This is decided before any division.",
             "C++ division truncates towards zero, so -1 / 64 is block 0: padding would become the first token of the request."},
    RuleText{Rule::R2, "R2", "workspace rows",
             "Where prefill ids are given, p = prefill_request_id[t]; every negative p is a decode row. For p >= 0 the slot is "
             "workspace_starts[p] + tok, whatever req_id, the block table and num_blocks say. p >= P, a negative start, or a row "
             ">= num_workspace_rows where that is given, gives none.",
             "A prefill request reads a contiguous workspace that the block table knows nothing of."},
    RuleText{Rule::R3, "R3", "ownership",
             "owner(tok) = (tok / I) % N. A position of another rank gives none.",
             "Each rank holds its share of the positions only; a foreign position has no row here, and some other token's row would be read."},
    RuleText{Rule::R4, "R4", "local position",
             "local(tok) = tok / (N*I) * I + tok % I; with N = 1 it is tok; with N*I > 2^31 - 1 the quotient is 0.",
             "A rank's cache is dense in its own positions: the global position points beyond what was written."},
    RuleText{Rule::R5, "R5", "request row",
             "req_id[t] outside [0, R) gives none for the whole (decode) row.",
             "Sentinel ids of padded graph rows would read memory in front of or behind the table: another user's blocks."},
    RuleText{Rule::R6, "R6", "block column",
             "column = local / S outside [0, B) gives none. B is the logical width, never the stride.",
             "The next column of a wider storage is another view's data, or the next request's first block."},
    RuleText{Rule::R7, "R7", "physical block",
             "base = block_table[req_id[t], column]. A negative base, or one >= num_blocks where that is given, gives none.",
             "Freed and never written table entries hold -1 or stale ids; multiplied out they are rows of nobody or of somebody else."},
    RuleText{Rule::R8, "R8", "slot",
             "slot = base * L + local % S, in exact arithmetic.",
             "Where layers interleave their pages, the block stride L is larger than S; with S in its place the row belongs to another layer."},
    RuleText{Rule::R9, "R9", "representable",
             "A slot or workspace row above 2^31 - 1 gives none; nothing wraps, ever, intermediate values and row offsets included.",
             "A wrapped product is a valid-looking row somewhere else in the cache."},
    RuleText{Rule::R10, "R10", "in place",
             "Without compaction, column k of the output is the entry of column k. Every column is written.",
             "Consumers pair slots with scores by column; an unwritten column keeps the last step's slot."},
    RuleText{Rule::R11, "R11", "count",
             "valid_counts[t] is the number of entries of row t that are not none. Duplicates count each time.",
             "The attention kernel reads that many entries: one too many is a read through -1 or stale data."},
    RuleText{Rule::R12, "R12", "compaction",
             "With compaction, row t holds its entries that are not none in [0, count), in their input order (stable), and -1 in every "
             "later column, whether or not counts were asked for, at every N, N = 1 included.",
             "A hole inside the counted prefix is read as a row; an order that depends on timing makes results irreproducible."},
    RuleText{Rule::R12u, "R12u", "compaction, order unspecified",
             "Where the caller asks for order unspecified: the same multiset in the prefix, the same exact tail.",
             "Faster kernels hand out places by atomics, and some callers do not mind."},
    RuleText{Rule::R13, "R13", "frame",
             "Exactly slots[0..T, 0..K) and, where asked for, valid_counts[0..T) are written (and scratch that the caller gave). Gaps "
             "between rows of a strided output, the inputs, everything else are untouched. What the outputs held before has no influence.",
             "Buffers are views into larger ones that other steps of the same graph use."},
    RuleText{Rule::R14, "R14", "determinism",
             "The result is a function of the inputs alone: the same bits for every tiling, CTA width, thread order, replay of a captured "
             "graph, and whatever the other rows hold. (Under R12u: the same up to the order of the prefix.)",
             "A result that moves from run to run is a race, and it hides every other fault."},
    RuleText{Rule::R15, "R15", "empty",
             "After validation: T = 0 succeeds and launches nothing; K = 0 writes zero counts; B = 0 or R = 0 gives all none (workspace "
             "rows excepted).",
             "Empty batches occur at every idle step, and a grid of zero CTAs is a launch error."},
    RuleText{Rule::V1, "V1", "whole rows",
             "The block stride is a multiple of head_dim; L = block stride / head_dim.",
             "Else the second block starts in the middle of a flat row."},
    RuleText{Rule::V2, "V2", "rows",
             "num_rows = (num_blocks - 1) * L + S; 0 for an empty cache. num_rows <= 2^31 - 1.",
             "Rows are addressed by int32 slots; a row count of num_blocks * L reaches past the last block."},
    RuleText{Rule::V3, "V3", "dense inside a block",
             "Inner strides are (head_dim, 1); the extents are (num_blocks, S, head_dim). Strides of extents of size 1 or 0 don't matter.",
             "A flat row view can say one stride only."},
    RuleText{Rule::V4, "V4", "no overlap",
             "L >= S where there is more than one block: different (block, offset) pairs get different rows, their memory disjoint.",
             "Two tokens in one row: the later writer wins, and both requests read it."},
    RuleText{Rule::V5, "V5", "gaps",
             "For b in [0, num_blocks - 1), rows b*L + S ... (b+1)*L - 1 belong to others. No slot made by R8 from a base in [0, num_blocks) "
             "is one of them, and the view does not reach past the last block's content.",
             "The gap rows are other layers' pages."},
    RuleText{Rule::VA1, "VA1", "negative extent", "A negative extent is refused.", "It cannot be meant."},
    RuleText{Rule::VA2, "VA2", "sizes", "head_dim < 1 or S < 1 is refused.", "There would be no row to speak of, and divisions by zero."},
    RuleText{Rule::VA3, "VA3", "not dense", "A cache that breaks V3 is refused.", "Rows of the view would cross rows of the cache."},
    RuleText{Rule::VA4, "VA4", "split row", "A block stride that breaks V1 is refused.", "Blocks would start inside a row of the view."},
    RuleText{Rule::VA5, "VA5", "overlap", "A block stride that breaks V4 is refused.", "Blocks would share rows."},
    RuleText{Rule::VA6, "VA6", "too many rows", "A cache that breaks V2's bound is refused.", "Its last rows have no int32 slot."},
    RuleText{Rule::P1, "P1", "partition",
             "Each column with tok >= 0 is owned by exactly one rank. If every rank's table covers its local length with valid ids and the "
             "N = 1 table covers n, the kept columns of the ranks partition the kept columns at N = 1, and the counts add up.",
             "A position that no rank owns is lost from attention; one that two own counts twice in the merged softmax."},
    RuleText{Rule::P2, "P2", "dense",
             "local maps a rank's positions in [0, n) one-to-one, in order, onto [0, local_length(n)); local_length sums to n over the "
             "ranks. local_length of a negative n is refused.",
             "Holes waste cache rows, and a length that is off by one drops or invents the newest token."},
    RuleText{Rule::P3, "P3", "alignment",
             "If S % I == 0, the I positions of a group lie in one block, at consecutive slots.",
             "Writers copy a whole group at once."},
    RuleText{Rule::P4, "P4", "writer and reader",
             "The slot that the reader computes is the one where the writer put the token: deal positions 0, 1, 2, ... to ranks in groups "
             "of I, lay each rank's share into its blocks one after another, and look the token up. A table of B blocks stores at most "
             "B*S*N positions.",
             "This is what the whole remap is for."},
    RuleText{Rule::G1, "G1", "one reason",
             "The diagnosis gives each entry (t, k) one reason: slot where the remap gives a slot, else the first of R1, R2, R3, R5, R6, R7, R9 "
             "that gives none: padding, workspace, foreign_rank, request_row, column, physical_block, unrepresentable. In a workspace row both "
             "R2 and R9 count as workspace: its start or id is at fault, not the cache. The order of the reasons that the outputs have is slot, "
             "padding, workspace, foreign_rank, request_row, column, physical_block, unrepresentable.",
             "All of R5-R9 are written -1, as padding is: a corrupt block table looks like a short context."},
    RuleText{Rule::G2, "G2", "counts of a row",
             "Where asked for, row_counts[t, c] is the number of entries of row t with reason c. The counts of a row sum to K.",
             "An entry that is counted twice or not at all hides another."},
    RuleText{Rule::G3, "G3", "totals",
             "totals[c], int64, grows by the number of entries of all rows with reason c, modulo 2^64; what it held before is kept. "
             "Calls on several streams of one device may share their totals.",
             "A server lets them run from call to call, and reads them when it likes."},
    RuleText{Rule::G4, "G4", "frame of the diagnosis",
             "Exactly row_counts[0..T, 0..8), where asked for, and totals[0..8) are written. No slots are, nor the gaps between rows of a strided "
             "row_counts. What row_counts held before has no influence.",
             "It runs beside a server's remap, on the same inputs."},
    RuleText{Rule::G5, "G5", "arguments of the diagnosis",
             "A call is refused by the first of A1-A13 and A15 that fails, with the outputs row_counts [T, 8] and totals [8] in place of slots and "
             "valid_counts, 8 in place of K for the width of row_counts, and 8-byte alignment for totals, which must be given (A2).",
             "What the remap refuses has no reasons to count."},
    RuleText{Rule::G6, "G6", "the same at every time",
             "What the diagnosis writes is a function of the inputs (and of what totals held) alone: no CTA width, order, placement or tile has "
             "a part. T = 0 launches nothing; K = 0 writes zero row counts and adds nothing.",
             "Two counts of one state must be comparable."},
    RuleText{Rule::A1, "A1", "negative extent", "A negative extent (T, K, R, B, P in this order) is refused.",
             "It would become a huge unsigned one."},
    RuleText{Rule::A2, "A2", "pointers", "A null or misaligned (not 4-byte) pointer of a tensor that has elements is refused.",
             "The device would fault asynchronously, far from the call."},
    RuleText{Rule::A3, "A3", "row counts",
             "Row counts of req_id, token_indices, prefill_request_id and outputs that differ, or an output width other than K, are refused.",
             "The kernel would read or write past the shortest of them."},
    RuleText{Rule::A4, "A4", "strides",
             "An output row stride below K where T > 1, a negative input row stride, and any row stride beyond 2^60 are refused. Inputs may "
             "have stride 0.",
             "Output rows would overlap, or offsets overflow."},
    RuleText{Rule::A5, "A5", "block size", "S < 1 is refused.", "Positions are divided by it."},
    RuleText{Rule::A6, "A6", "block stride", "L < S is refused.", "Blocks would overlap."},
    RuleText{Rule::A7, "A7", "limits", "A negative num_blocks or num_workspace_rows is refused.", "It cannot be meant."},
    RuleText{Rule::A8, "A8", "DCP size", "N < 1 is refused.", "Positions are divided by it."},
    RuleText{Rule::A9, "A9", "DCP rank", "r outside [0, N) is refused.", "Such a rank owns nothing, silently."},
    RuleText{Rule::A10, "A10", "interleave", "I < 1 is refused.", "Positions are divided by it."},
    RuleText{Rule::A11, "A11", "interleave and block", "S % I != 0 is refused.", "A group would be torn over two blocks (P3)."},
    RuleText{Rule::A12, "A12", "prefill pair", "Prefill ids without starts, or the reverse, are refused.",
             "Half of the pair is a mistake of the caller's."},
    RuleText{Rule::A13, "A13", "prefill under DCP", "Prefill with N > 1 is refused.",
             "Nobody has said how a workspace would be dealt to ranks."},
    RuleText{Rule::A14, "A14", "tile", "An explicit tile < 1 or not dividing K is refused.", "The last columns would be lost."},
    RuleText{Rule::A15, "A15", "overlap",
             "An output that shares an element (by row arithmetic, not by interval) with an input or the other output is refused.",
             "Some thread would read what another has already overwritten."},
};

constexpr bool table_follows_the_enumeration() {
  for (std::size_t i = 0; i < kRules.size(); ++i) {
    if (kRules[i].rule != Rule(i)) return false;
  }
  return kRules.size() == std::size_t(Rule::A15) + 1;
}
static_assert(table_follows_the_enumeration());

}  // namespace

std::span<const RuleText> rules() { return kRules; }
const RuleText& text_of(Rule rule) { return kRules[std::size_t(rule)]; }
std::string_view id_of(Rule rule) { return text_of(rule).id; }

std::optional<Rule> rule_of(std::string_view id) {
  for (const RuleText& text : kRules) {
    if (text.id == id) return text.rule;
  }
  return std::nullopt;
}

int argument_number_of(Rule rule) { return rule < Rule::A1 ? 0 : int(rule) - int(Rule::A1) + 1; }
Rule argument_rule_of(int number) { return Rule(int(Rule::A1) + number - 1); }

std::string_view name_of(NoneReason reason) {
  static constexpr std::array<std::string_view, kNumReasons> kNames = {"slot",        "padding", "workspace",      "foreign_rank",
                                                                       "request_row", "column",  "physical_block", "unrepresentable"};
  return kNames[std::size_t(reason)];
}

}  // namespace slotproof::spec
