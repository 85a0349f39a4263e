#include "property_tests/harness/call_memory.h"
#include "property_tests/harness/diagnosis_backend.h"
#include "property_tests/harness/kernel_arguments.h"
#include "spec/diagnosis.h"

#if SLOTPROOF_HAS_CUDA
#include <cuda_runtime_api.h>

#include <cstring>
#endif

namespace slotproof::harness {

#if SLOTPROOF_HAS_CUDA
namespace {

// Copies of the tensors of one call, a cudaMalloc of its exact size each, so that compute-sanitizer sees every overrun.
class DeviceTensors {
 public:
  explicit DeviceTensors(cudaStream_t stream) : stream_(stream) {}
  ~DeviceTensors() {
    for (const Copy& copy : copies_) cudaFree(copy.allocation);
  }
  DeviceTensors(const DeviceTensors&) = delete;
  DeviceTensors& operator=(const DeviceTensors&) = delete;

  // The device's copy of num_elements elements, as far from a 16-byte boundary as they are. Empty tensors keep their address.
  template <class Element>
  Element* copy_of(Element* data, int64_t num_elements, bool is_output) {
    if (num_elements <= 0) return data;
    const size_t lead = reinterpret_cast<uintptr_t>(data) % 16, num_bytes = size_t(num_elements) * sizeof(Element);
    Copy copy{nullptr, lead, num_bytes, is_output, const_cast<void*>(static_cast<const void*>(data))};
    note(cudaMalloc(&copy.allocation, lead + num_bytes));
    if (copy.allocation == nullptr) return data;
    copies_.push_back(copy);
    note(cudaMemcpyAsync(copy.begin(), data, num_bytes, cudaMemcpyHostToDevice, stream_));
    return reinterpret_cast<Element*>(copy.begin());
  }
  template <class Matrix>
  void move_matrix(Matrix& m, bool is_output) {
    if (m.rows > 0 && m.columns > 0) m.data = copy_of(m.data, (m.rows - 1) * m.row_stride + m.columns, is_output);
  }
  template <class Vector>
  void move_vector(Vector& v) {
    v.data = copy_of(v.data, v.size, false);
  }

  // Brings the outputs back. Says what went wrong: a CUDA call, or an input that is not what it was.
  std::string bring_back() {
    note(cudaStreamSynchronize(stream_));
    for (const Copy& copy : copies_) {
      std::vector<std::byte> bytes(copy.num_bytes);
      note(cudaMemcpy(bytes.data(), copy.begin(), copy.num_bytes, cudaMemcpyDeviceToHost));
      if (!error_.empty()) return error_;
      if (copy.is_output) std::memcpy(copy.host, bytes.data(), copy.num_bytes);
      else if (std::memcmp(copy.host, bytes.data(), copy.num_bytes) != 0) return "an input was written to";
    }
    return error_;
  }
  const std::string& error() const { return error_; }

 private:
  struct Copy {
    void* allocation;
    size_t lead, num_bytes;
    bool is_output;
    void* host;
    std::byte* begin() const { return static_cast<std::byte*>(allocation) + lead; }
  };
  void note(cudaError_t code) {
    if (code != cudaSuccess && error_.empty()) error_ = std::string("CUDA: ") + cudaGetErrorString(code);
    if (code != cudaSuccess) cudaGetLastError();
  }

  cudaStream_t stream_;
  std::vector<Copy> copies_;
  std::string error_;
};

class CudaDiagnosis final : public DiagnosisBackend {
 public:
  explicit CudaDiagnosis(std::unique_ptr<CallMemory> stream_owner) : stream_owner_(std::move(stream_owner)) {}

  // The schedule plays no part: the device has its own. A call that is to be refused launches nothing, so its pointers, which may
  // lead anywhere, stay as they are.
  RunOutcome run(const spec::RemapProblem& call, const spec::DiagnosisOutputs& host_outputs, const Schedule&) override {
    spec::RemapProblem problem = call;
    spec::DiagnosisOutputs outputs = host_outputs;
    const auto stream = static_cast<cudaStream_t>(stream_owner_->stream());
    DeviceTensors device(stream);
    if (!spec::refusal_of(problem, outputs)) {
      device.move_vector(problem.req_id);
      device.move_matrix(problem.block_table, false);
      device.move_matrix(problem.token_indices, false);
      if (problem.prefill_request_id) device.move_vector(*problem.prefill_request_id);
      if (problem.workspace_starts) device.move_vector(*problem.workspace_starts);
      if (outputs.row_counts) device.move_matrix(*outputs.row_counts, true);
      outputs.totals = device.copy_of(outputs.totals, spec::kNumReasons, true);
      if (!device.error().empty()) return fault(device.error());
    }
    const Status status = launch_remap_diagnose(diagnose_args_of(problem, outputs), stream);
    std::string error = device.bring_back();
    if (!error.empty()) return fault(std::move(error));
    return outcome_of(status);
  }

 private:
  std::unique_ptr<CallMemory> stream_owner_;
};

}  // namespace

DiagnosisBackendOrReason make_cuda_diagnosis_backend() {
  auto [memory, reason] = make_device_memory(Buffers::kExact);  // for its probe of the device and its stream
  if (memory == nullptr) return {nullptr, std::move(reason)};
  return {std::make_unique<CudaDiagnosis>(std::move(memory)), {}};
}

#else

DiagnosisBackendOrReason make_cuda_diagnosis_backend() { return {nullptr, "built without CUDA"}; }

#endif

}  // namespace slotproof::harness
