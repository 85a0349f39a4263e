#include "reference/arguments.h"

#include <array>
#include <span>

namespace slotproof::reference {

using spec::Rule;

__extension__ typedef __int128 Wide;  // 2^31 rows, 2^60 elements apart, do not fit into 64 bits.

// Where the elements of a tensor lie. A vector has rows of one element.
struct Region {
  const char* name;
  const int32_t* data;
  int64_t rows, columns, row_stride;
  uintptr_t alignment = 4;
  bool has_elements() const { return rows > 0 && columns > 0; }
  uintptr_t address() const { return reinterpret_cast<uintptr_t>(data); }
  friend std::ostream& operator<<(std::ostream& out, const Region& region) {
    return out << region.name << " (" << region.rows << " x " << region.columns << ", row stride " << region.row_stride << ")";
  }
};

static Region matrix_of(const char* name, const auto& m) { return {name, m.data, m.rows, m.columns, m.row_stride}; }
static Region vector_of(const char* name, const auto& v) { return {name, v.data, v.size, 1, 1}; }
static Region vector_of(const char* name, const auto& v, int32_t rows) { return v ? vector_of(name, *v) : Region{name, nullptr, rows, 0, 0}; }

// Takes the rows of a one by one and finds by division the one row of b that could meet it.
static bool share_an_element(const Region& a, const Region& b) {
  if (!a.has_elements() || !b.has_elements()) return false;
  const Wide a_begin = (Wide(a.address()) - Wide(b.address())) / 4;  // in elements from b's first; exact, thanks to A2
  for (int64_t i = 0; i < a.rows; ++i) {
    const Wide begin = a_begin + Wide(i) * a.row_stride, end = begin + a.columns;
    // Row j of b is [j * row_stride, j * row_stride + columns). Its first row that ends behind `begin` is the one to look at:
    const Wide lowest = begin - b.columns + 1;  // of j * row_stride
    const Wide j = lowest <= 0 ? 0 : b.row_stride > 0 ? (lowest - 1) / b.row_stride + 1 : b.rows;  // stride 0: all alike
    if (j < b.rows && j * b.row_stride < end) return true;
  }
  return false;
}

// The outputs are `out`, [T, width] or absent as [T, 0] and a width of 0, and `counts`, which is p.valid_counts or no vector over T.
static std::optional<Refusal> first_refusal(const spec::RemapProblem& p, const Region& counts, const Region& out, int32_t width) {
  const int32_t T = p.num_tokens(), K = p.topk(), S = p.block_size;
  const int64_t L = p.block_stride_rows;
  const auto [N, r, I] = p.dcp;
  const std::array regions = {counts, out, vector_of("req_id", p.req_id), matrix_of("token_indices", p.token_indices),
                              vector_of("prefill_request_id", p.prefill_request_id, T), matrix_of("block_table", p.block_table),
                              vector_of("workspace_starts", p.workspace_starts, 0)};
  for (const Region& region : regions)
    if (region.rows < 0 || region.columns < 0) return refuse(Rule::A1, region, ": a negative extent");
  for (const Region& region : regions)
    if (region.has_elements() && (region.data == nullptr || region.address() % region.alignment != 0))
      return refuse(Rule::A2, region, " at ", static_cast<const void*>(region.data), ": null or not ", region.alignment, "-byte-aligned");
  for (const Region& region : std::span(regions).first(5).subspan(p.valid_counts ? 0 : 1))
    if (region.rows != T) return refuse(Rule::A3, region, ": not one row for each of token_indices.rows = ", T);
  if (out.columns != width) return refuse(Rule::A3, out, ": not ", width, " columns wide");
  if (T > 1 && out.row_stride < width) return refuse(Rule::A4, out, ": rows of ", width, " columns overlap");
  for (const Region& input : std::span(regions).subspan(2))
    if (input.row_stride < 0) return refuse(Rule::A4, input, ": a negative row stride");
  for (const Region& region : regions)
    if (region.row_stride > int64_t{1} << 60) return refuse(Rule::A4, region, ": a row stride beyond 2^60");

  if (S < 1) return refuse(Rule::A5, "block_size = ", S, " is below 1");
  if (L < S) return refuse(Rule::A6, "block_stride_rows = ", L, " is below block_size = ", S);
  if (p.num_blocks && *p.num_blocks < 0) return refuse(Rule::A7, "num_blocks = ", *p.num_blocks, " is negative");
  if (p.num_workspace_rows && *p.num_workspace_rows < 0) return refuse(Rule::A7, "num_workspace_rows = ", *p.num_workspace_rows, " < 0");
  if (N < 1) return refuse(Rule::A8, "dcp.size = ", N, " is below 1");
  if (r < 0 || r >= N) return refuse(Rule::A9, "dcp.rank = ", r, " is outside [0, dcp.size) with dcp.size = ", N);
  if (I < 1) return refuse(Rule::A10, "dcp.interleave = ", I, " is below 1");
  if (S % I != 0) return refuse(Rule::A11, "dcp.interleave = ", I, " does not divide block_size = ", S);
  if (p.prefill_request_id.has_value() != p.workspace_starts.has_value())
    return refuse(Rule::A12, p.workspace_starts ? "workspace_starts" : "prefill_request_id", " is given without its partner");
  if (p.prefill_request_id && N > 1) return refuse(Rule::A13, "prefill_request_id is given with dcp.size = ", N);
  if (p.tile && (*p.tile < 1 || K % *p.tile != 0)) return refuse(Rule::A14, "tile = ", *p.tile, " does not divide topk = ", K);
  for (size_t i = 0; i < 2; ++i)
    for (const Region& other : std::span(regions).subspan(i + 1))
      if (share_an_element(regions[i], other)) return refuse(Rule::A15, regions[i], " shares an element with ", other);
  return std::nullopt;
}

std::optional<Refusal> validate(const spec::RemapProblem& p) {
  return first_refusal(p, vector_of("valid_counts", p.valid_counts, 0), matrix_of("slots", p.slots), p.topk());
}

std::optional<Refusal> validate(const spec::RemapProblem& problem, const spec::DiagnosisOutputs& outputs) {
  spec::RemapProblem p = problem;
  p.valid_counts.reset(), p.tile.reset();
  const Region totals{"totals", reinterpret_cast<const int32_t*>(outputs.totals), 1, 2 * spec::kNumReasons, 0, alignof(int64_t)};
  if (outputs.row_counts) return first_refusal(p, totals, matrix_of("row_counts", *outputs.row_counts), spec::kNumReasons);
  return first_refusal(p, totals, {"row_counts", nullptr, p.num_tokens(), 0, 0}, 0);
}

}  // namespace slotproof::reference
