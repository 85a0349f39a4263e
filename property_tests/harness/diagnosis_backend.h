#pragma once
// What can diagnose a problem: the reference, our kernel on the host or on the device, a planted fault of it.

#include "property_tests/harness/backend.h"

namespace slotproof::harness {

class DiagnosisBackend {
 public:
  virtual ~DiagnosisBackend() = default;
  // Diagnoses the problem and leaves the counts where `outputs` says. Both point into the host's memory.
  virtual RunOutcome run(const spec::RemapProblem& problem, const spec::DiagnosisOutputs& outputs, const Schedule& schedule) = 0;
};

struct DiagnosisBackendOrReason {
  std::unique_ptr<DiagnosisBackend> backend;
  std::string reason;  // "no CUDA device"
};
// "reference", "host", "cuda", or "plugin:PATH" for a shared object made by slotproof_add_fault with property_tests/faults/diagnosis_plugin.cpp.
// A plug-in runs in this process: its memory is checked, so that it ends in a status whatever it does wrong.
DiagnosisBackendOrReason make_diagnosis_backend(const std::string& name);
DiagnosisBackendOrReason make_cuda_diagnosis_backend();

}  // namespace slotproof::harness
