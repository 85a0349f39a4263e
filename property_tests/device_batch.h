#pragma once
// One step of decoding on the device, in the four kinds of launch, and what must come out of it: what the same body writes on the
// host.

#include "property_tests/device.h"

#include <slotproof/remap.h>

#include <ostream>
#include <random>
#include <string>

namespace slotproof {

inline constexpr int32_t kTokens = 24, kTopk = 2048, kRequests = 8, kBlocks = 32, kBlockSize = 64;

struct Kind {
  Placement placement;
  RankOwnership dcp;
};
inline std::string name_of(const Kind& kind) {
  return std::string(kind.placement == Placement::kCompacted ? "Compacted" : "InPlace") + (kind.dcp.size > 1 ? "Dcp" : "");
}
inline void PrintTo(const Kind& kind, std::ostream* os) {
  *os << name_of(kind);
}
inline constexpr Kind kKinds[] = {
    {Placement::kInPlace, {1, 0, 1}}, {Placement::kInPlace, {4, 1, 16}}, {Placement::kCompacted, {1, 0, 1}}, {Placement::kCompacted, {4, 1, 16}}};

// What changes from one step of decoding to the next. Rows at and behind `batch` are the padding of a batch that is smaller than
// the graph's: no request, no positions.
struct HostInputs {
  std::vector<int32_t> req_id, block_table, token_indices;
};

inline HostInputs inputs_of(uint32_t seed, int32_t batch) {
  std::mt19937 random(seed);
  const auto below = [&random](int32_t end) { return static_cast<int32_t>(random() % static_cast<uint32_t>(end)); };
  HostInputs inputs{std::vector<int32_t>(kTokens, -1), std::vector<int32_t>(kRequests * kBlocks), std::vector<int32_t>(size_t(kTokens) * kTopk, -1)};
  for (int32_t& base : inputs.block_table) base = below(100000);
  for (int32_t t = 0; t < batch; ++t) {
    inputs.req_id[size_t(t)] = below(kRequests);
    for (int32_t k = 0; k < kTopk; ++k) {
      if (below(6) != 0) inputs.token_indices[size_t(t) * kTopk + size_t(k)] = below(kBlocks * kBlockSize * 5);
    }
  }
  return inputs;
}

inline RemapArgs args_of(const Kind& kind, const int32_t* req_id, const int32_t* block_table, const int32_t* token_indices, int32_t* outputs) {
  RemapArgs args;
  args.req_id = {req_id, kTokens};
  args.block_table = {block_table, kRequests, kBlocks, kBlocks};
  args.token_indices = {token_indices, kTokens, kTopk, kTopk};
  args.block_size = kBlockSize;
  args.block_stride_rows = kBlockSize;
  args.placement = kind.placement;
  args.dcp = kind.dcp;
  args.slots = {outputs, kTokens, kTopk, kTopk};
  args.valid_counts = MutableVector{outputs + size_t(kTokens) * kTopk, kTokens};
  return args;
}
inline constexpr size_t kOutputWords = size_t(kTokens) * kTopk + kTokens;

inline std::vector<int32_t> expected_of(const Kind& kind, const HostInputs& inputs) {
  std::vector<int32_t> outputs(kOutputWords, 7);
  const Status status = remap_on_host(args_of(kind, inputs.req_id.data(), inputs.block_table.data(), inputs.token_indices.data(), outputs.data()));
  EXPECT_TRUE(status.ok()) << status.message();
  return outputs;
}

// A batch on the device.
struct Batch {
  explicit Batch(const HostInputs& inputs)
      : req_id(inputs.req_id), block_table(inputs.block_table), token_indices(inputs.token_indices), outputs(kOutputWords) {}
  RemapArgs args(const Kind& kind) const { return args_of(kind, req_id.data(), block_table.data(), token_indices.data(), outputs.data()); }
  DeviceWords req_id, block_table, token_indices, outputs;
};

inline void launch(const RemapArgs& args, cudaStream_t stream) {
  const Status status = launch_remap(args, stream);
  if (!status.ok()) throw std::runtime_error(std::string("launch_remap: ") + status.message());
}

// Page-locked, so that copies to it do not stop the stream's thread.
struct Pinned {
  Pinned() { SLOTPROOF_CUDA(cudaMallocHost(&data, kOutputWords * sizeof(int32_t))); }
  ~Pinned() { cudaFreeHost(data); }
  void* data = nullptr;
};

}  // namespace slotproof
