// A launch can be captured in a graph, as one kernel and nothing else, and replays give what eager launches give.

#include "property_tests/device_batch.h"

#include <slotproof/diagnosis.h>

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>

namespace slotproof {
namespace {

struct Graph {
  ~Graph() {
    if (exec != nullptr) cudaGraphExecDestroy(exec);
    if (graph != nullptr) cudaGraphDestroy(graph);
  }
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
};

// In the strictest mode no thread of the process may allocate, free or wait for the device meanwhile.
void capture(Graph& graph, const Stream& stream, const RemapArgs& args) {
  SLOTPROOF_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  launch(args, stream);
  SLOTPROOF_CUDA(cudaStreamEndCapture(stream, &graph.graph));
}

using DeviceGraphs = DeviceTest;

TEST_F(DeviceGraphs, HaveOneKernelNodeALaunchAndNoOther) {
  const Batch batch(inputs_of(1, kTokens));
  Stream stream;
  for (const Kind& kind : kKinds) {
    for (const int32_t topk : {0, 100, 600, 1100, 2048}) {
      RemapArgs args = batch.args(kind);
      args.token_indices.columns = args.slots.columns = topk;
      Graph graph;
      capture(graph, stream, args);
      size_t num_nodes = 0;
      SLOTPROOF_CUDA(cudaGraphGetNodes(graph.graph, nullptr, &num_nodes));
      ASSERT_EQ(num_nodes, 1u);
      cudaGraphNode_t node = nullptr;
      SLOTPROOF_CUDA(cudaGraphGetNodes(graph.graph, &node, &num_nodes));
      cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
      SLOTPROOF_CUDA(cudaGraphNodeGetType(node, &type));
      EXPECT_EQ(type, cudaGraphNodeTypeKernel);
    }
  }
}

TEST_F(DeviceGraphs, HaveNoNodeWhereNothingIsToBeWritten) {
  const Batch batch(inputs_of(1, kTokens));
  Stream stream;
  RemapArgs args = batch.args(kKinds[0]);
  args.req_id.size = args.token_indices.rows = args.slots.rows = args.valid_counts->size = 0;
  Graph graph;
  capture(graph, stream, args);
  size_t num_nodes = 1;
  SLOTPROOF_CUDA(cudaGraphGetNodes(graph.graph, nullptr, &num_nodes));
  EXPECT_EQ(num_nodes, 0u);
}

TEST_F(DeviceGraphs, HoldTheDiagnosisAsOneNodeWhoseTotalsRunOnFromReplayToReplay) {
  constexpr int64_t kReplays = 1000;
  using Totals = std::array<int64_t, kNumReasons>;
  const HostInputs inputs = inputs_of(1, kTokens - 5);
  const Batch batch(inputs);
  Stream stream;
  for (const Kind& kind : kKinds) {
    std::vector<int32_t> unused(kOutputWords);
    Totals due{};
    DiagnoseArgs on_host;
    on_host.inputs = args_of(kind, inputs.req_id.data(), inputs.block_table.data(), inputs.token_indices.data(), unused.data());
    on_host.totals = due.data();
    ASSERT_TRUE(diagnose_on_host(on_host).ok());
    const DeviceWords totals(std::vector<int32_t>(2 * size_t(kNumReasons), 0));
    DiagnoseArgs args;
    args.inputs = batch.args(kind);
    args.totals = reinterpret_cast<int64_t*>(totals.data());
    Graph graph;
    SLOTPROOF_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    const Status status = launch_remap_diagnose(args, stream);
    SLOTPROOF_CUDA(cudaStreamEndCapture(stream, &graph.graph));
    ASSERT_TRUE(status.ok()) << status.message();
    size_t num_nodes = 0;
    SLOTPROOF_CUDA(cudaGraphGetNodes(graph.graph, nullptr, &num_nodes));
    EXPECT_EQ(num_nodes, 1u);
    SLOTPROOF_CUDA(cudaGraphInstantiate(&graph.exec, graph.graph, 0));
    for (int64_t replay = 0; replay < kReplays; ++replay) SLOTPROOF_CUDA(cudaGraphLaunch(graph.exec, stream));
    stream.synchronize();
    Totals got{};
    const std::vector<int32_t> words = totals.words();
    std::memcpy(got.data(), words.data(), sizeof got);
    for (int32_t reason = 0; reason < kNumReasons; ++reason) EXPECT_EQ(got[size_t(reason)], kReplays * due[size_t(reason)]) << name_of(NoneReason(reason)) << ", " << name_of(kind);
  }
}

class GraphReplays : public DeviceTest, public testing::WithParamInterface<Kind> {};

TEST_P(GraphReplays, AreBitEqualToEagerLaunchesTenThousandTimes) {
  constexpr int kReplays = 10000, kSets = 16;
  const Kind& kind = GetParam();
  Stream stream;
  std::vector<std::unique_ptr<Batch>> sets;
  std::vector<std::vector<int32_t>> eager;
  for (int32_t i = 0; i < kSets; ++i) {
    // From the whole batch to none of it.
    const HostInputs inputs = inputs_of(uint32_t(100 + i), kTokens - i * kTokens / (kSets - 1));
    const Batch& batch = *sets.emplace_back(std::make_unique<Batch>(inputs));
    SLOTPROOF_CUDA(cudaMemsetAsync(batch.outputs.data(), 0x5a, batch.outputs.size_bytes(), stream));
    launch(batch.args(kind), stream);
    stream.synchronize();
    eager.push_back(batch.outputs.words());
    ASSERT_EQ(eager.back(), expected_of(kind, inputs)) << "set " << i;
  }
  const Batch batch(inputs_of(1, kTokens));
  const Pinned outputs;
  Graph graph;
  capture(graph, stream, batch.args(kind));
  SLOTPROOF_CUDA(cudaGraphInstantiate(&graph.exec, graph.graph, 0));
  std::mt19937 random(1);
  for (int replay = 0; replay < kReplays; ++replay) {
    const size_t set = random() % kSets;
    const auto copy_in = [&](const DeviceWords& to, const DeviceWords& from) {
      SLOTPROOF_CUDA(cudaMemcpyAsync(to.data(), from.data(), to.size_bytes(), cudaMemcpyDeviceToDevice, stream));
    };
    copy_in(batch.req_id, sets[set]->req_id);
    copy_in(batch.block_table, sets[set]->block_table);
    copy_in(batch.token_indices, sets[set]->token_indices);
    SLOTPROOF_CUDA(cudaMemsetAsync(batch.outputs.data(), replay & 0xff, batch.outputs.size_bytes(), stream));
    SLOTPROOF_CUDA(cudaGraphLaunch(graph.exec, stream));
    SLOTPROOF_CUDA(cudaMemcpyAsync(outputs.data, batch.outputs.data(), batch.outputs.size_bytes(), cudaMemcpyDeviceToHost, stream));
    stream.synchronize();
    ASSERT_EQ(std::memcmp(outputs.data, eager[set].data(), batch.outputs.size_bytes()), 0) << "replay " << replay << " with input set " << set;
  }
}
INSTANTIATE_TEST_SUITE_P(Kinds, GraphReplays, testing::ValuesIn(kKinds), [](const auto& tested) { return name_of(tested.param); });

}  // namespace
}  // namespace slotproof
