#include "property_tests/harness/diagnosis_backend.h"

#include "property_tests/harness/kernel_arguments.h"
#include "reference/diagnosis.h"

#include <dlfcn.h>

namespace slotproof::harness {
namespace {

class ReferenceDiagnosis final : public DiagnosisBackend {
 public:
  RunOutcome run(const spec::RemapProblem& problem, const spec::DiagnosisOutputs& outputs, const Schedule&) override {
    const auto refusal = reference::diagnose(problem, outputs);
    if (refusal) return {RunOutcome::Kind::kRefused, refusal->rule, refusal->message};
    return {};
  }
};

using PluginDiagnose = void (*)(const DiagnoseArgs*, const HostOptions*, Status*);

HostOptions host_options_of(const Schedule& schedule) { return {schedule.team_width, schedule.thread_order_seed, schedule.cta_order_seed, schedule.planned_rows}; }

class HostDiagnosis final : public DiagnosisBackend {
 public:
  RunOutcome run(const spec::RemapProblem& problem, const spec::DiagnosisOutputs& outputs, const Schedule& schedule) override {
    return outcome_of(diagnose_on_host(diagnose_args_of(problem, outputs), host_options_of(schedule)));
  }
};

class PluginDiagnosis final : public DiagnosisBackend {
 public:
  PluginDiagnosis(void* library, PluginDiagnose diagnose) : library_(library), diagnose_(diagnose) {}
  ~PluginDiagnosis() override { dlclose(library_); }
  PluginDiagnosis(const PluginDiagnosis&) = delete;
  PluginDiagnosis& operator=(const PluginDiagnosis&) = delete;

  RunOutcome run(const spec::RemapProblem& problem, const spec::DiagnosisOutputs& outputs, const Schedule& schedule) override {
    const DiagnoseArgs args = diagnose_args_of(problem, outputs);
    const HostOptions options = host_options_of(schedule);
    Status status;
    diagnose_(&args, &options, &status);
    return outcome_of(status);
  }

 private:
  void* library_;
  PluginDiagnose diagnose_;
};

DiagnosisBackendOrReason make_plugin(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return {nullptr, dlerror()};
  const auto diagnose = reinterpret_cast<PluginDiagnose>(dlsym(library, "slotproof_diagnosis_v1"));
  if (diagnose == nullptr) {
    dlclose(library);
    return {nullptr, path + " exports no slotproof_diagnosis_v1"};
  }
  return {std::make_unique<PluginDiagnosis>(library, diagnose), {}};
}

}  // namespace

DiagnosisBackendOrReason make_diagnosis_backend(const std::string& name) {
  if (name == "reference") return {std::make_unique<ReferenceDiagnosis>(), {}};
  if (name == "host") return {std::make_unique<HostDiagnosis>(), {}};
  if (name == "cuda") return make_cuda_diagnosis_backend();
  if (name.starts_with("plugin:")) return make_plugin(name.substr(7));
  return {nullptr, "there is no diagnosis by the back end " + name};
}

}  // namespace slotproof::harness
