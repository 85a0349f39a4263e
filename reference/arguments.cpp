#include "reference/arguments.h"

#include <array>
#include <span>

namespace slotproof::reference {
namespace {

using spec::Rule;

__extension__ typedef __int128 Wide;  // 2^31 rows, 2^60 elements apart, do not fit into 64 bits.

// Where the elements of a tensor lie. A vector is one row; an absent tensor has no elements.
struct Region {
  const char* name;
  const int32_t* data;
  int64_t rows, columns, row_stride;
  bool has_elements() const { return rows > 0 && columns > 0; }
  uintptr_t address() const { return reinterpret_cast<uintptr_t>(data); }
  friend std::ostream& operator<<(std::ostream& out, const Region& region) {
    return out << region.name << " (" << region.rows << " x " << region.columns << ", row stride " << region.row_stride << ")";
  }
};

// All tensors of a call, the outputs first.
constexpr size_t kNumOutputs = 2;
std::array<Region, 7> regions_of(const spec::RemapProblem& p) {
  const auto matrix = [](const char* name, const auto& m) { return Region{name, m.data, m.rows, m.columns, m.row_stride}; };
  const auto vector = [](const char* name, const auto& v) { return Region{name, v.data, 1, v.size, 0}; };
  const auto optional = [&](const char* name, const auto& v) { return v ? vector(name, *v) : Region{name, nullptr, 0, 0, 0}; };
  return {matrix("slots", p.slots), optional("valid_counts", p.valid_counts),
          vector("req_id", p.req_id), matrix("block_table", p.block_table), matrix("token_indices", p.token_indices),
          optional("prefill_request_id", p.prefill_request_id), optional("workspace_starts", p.workspace_starts)};
}

// Takes the rows of a one by one and finds by division the one row of b that could meet it.
bool share_an_element(const Region& a, const Region& b) {
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

}  // namespace

std::optional<Refusal> validate_all_but_overlap(const spec::RemapProblem& p) {
  const auto regions = regions_of(p);
  const int32_t T = p.num_tokens(), K = p.topk(), S = p.block_size;
  const int64_t L = p.block_stride_rows;
  const auto [N, r, I] = p.dcp;
  const auto size_of = [](const auto& vector, int32_t absent) { return vector ? vector->size : absent; };
  const struct { const char* name; int32_t value; } extents[] = {
      {"token_indices.rows", T}, {"req_id.size", p.req_id.size}, {"slots.rows", p.slots.rows},
      {"prefill_request_id.size", size_of(p.prefill_request_id, T)}, {"valid_counts.size", size_of(p.valid_counts, T)},
      {"token_indices.columns", K}, {"slots.columns", p.slots.columns}, {"block_table.rows", p.block_table.rows},
      {"block_table.columns", p.block_table.columns}, {"workspace_starts.size", size_of(p.workspace_starts, 0)}};
  for (const auto& [name, value] : extents)
    if (value < 0) return refuse(Rule::A1, name, " = ", value, " is negative");

  for (const Region& region : regions)
    if (region.has_elements() && (region.data == nullptr || region.address() % 4 != 0))
      return refuse(Rule::A2, region, " at ", static_cast<const void*>(region.data), ": null or not 4-byte-aligned");

  for (const auto& [name, value] : std::span(extents).first(5))
    if (value != T) return refuse(Rule::A3, name, " = ", value, " differs from token_indices.rows = ", T);
  if (p.slots.columns != K) return refuse(Rule::A3, "slots.columns = ", p.slots.columns, ", token_indices.columns = ", K);

  if (T > 1 && p.slots.row_stride < K) return refuse(Rule::A4, "slots.row_stride = ", p.slots.row_stride, ", topk = ", K);
  for (const Region& input : std::span(regions).subspan(kNumOutputs))
    if (input.row_stride < 0) return refuse(Rule::A4, input, ": a negative row stride");
  for (const Region& region : regions)
    if (region.row_stride > int64_t{1} << 60) return refuse(Rule::A4, region, ": a row stride beyond 2^60");

  if (S < 1) return refuse(Rule::A5, "block_size = ", S, " is below 1");
  if (L < S) return refuse(Rule::A6, "block_stride_rows = ", L, " is below block_size = ", S);
  if (p.num_blocks && *p.num_blocks < 0) return refuse(Rule::A7, "num_blocks = ", *p.num_blocks, " is negative");
  if (p.num_workspace_rows && *p.num_workspace_rows < 0) return refuse(Rule::A7, "num_workspace_rows = ", *p.num_workspace_rows, " is negative");
  if (N < 1) return refuse(Rule::A8, "dcp.size = ", N, " is below 1");
  if (r < 0 || r >= N) return refuse(Rule::A9, "dcp.rank = ", r, " is outside [0, dcp.size) with dcp.size = ", N);
  if (I < 1) return refuse(Rule::A10, "dcp.interleave = ", I, " is below 1");
  if (S % I != 0) return refuse(Rule::A11, "dcp.interleave = ", I, " does not divide block_size = ", S);
  if (p.prefill_request_id.has_value() != p.workspace_starts.has_value())
    return refuse(Rule::A12, p.workspace_starts ? "workspace_starts" : "prefill_request_id", " is given without its partner");
  if (p.prefill_request_id && N > 1) return refuse(Rule::A13, "prefill_request_id is given with dcp.size = ", N);
  if (p.tile && (*p.tile < 1 || K % *p.tile != 0)) return refuse(Rule::A14, "tile = ", *p.tile, " does not divide topk = ", K);
  return std::nullopt;
}

std::optional<Refusal> validate(const spec::RemapProblem& p) {
  if (auto refusal = validate_all_but_overlap(p)) return refusal;
  const auto regions = regions_of(p);
  for (size_t out = 0; out < kNumOutputs; ++out)
    for (const Region& other : std::span(regions).subspan(out + 1))
      if (share_an_element(regions[out], other)) return refuse(Rule::A15, regions[out], " shares an element with ", other);
  return std::nullopt;
}

}  // namespace slotproof::reference
