// The diagnosis on the host as a shared object: what a planted fault of it is built into. It is loaded by the build that made it,
// so that plain C++ types may cross.

#include <slotproof/diagnosis.h>

extern "C" __attribute__((visibility("default"))) void slotproof_diagnosis_v1(const slotproof::DiagnoseArgs* args,
                                                                              const slotproof::HostOptions* options,
                                                                              slotproof::Status* status) {
  *status = slotproof::diagnose_on_host(*args, *options);
}
