#pragma once
// Memory for one bulk batch, and the steps of a batch. On the device everything is enqueued on one stream that all slots share; only
// wait(), read() and write() wait for it. Each step returns an error, empty where it went well.

#include "property_tests/device/bulk_verdict.h"
#include "property_tests/harness/bulk.h"

#include <memory>
#include <string>
#include <vector>

namespace slotproof::harness {

class BulkSlot {
 public:
  virtual ~BulkSlot() = default;
  virtual std::string make(const BulkView& batch) = 0;  // fills the arena; batch's own arena does not matter
  virtual std::string run() = 0;                        // launches the kernel under test by the public interface
  virtual std::string check() = 0;                      // judges, and sends the verdict back
  // The verdict of the last check(), and the device's seconds from make() to its end.
  virtual std::string wait(BulkVerdict& verdict, double& seconds) = 0;

  virtual std::string read(int64_t word, int64_t num_words, int32_t* to) = 0;  // words of the arena
  virtual std::string write(int64_t word, int32_t value) = 0;
  // The device's reference for row i % T and positions[i], whatever the batch's own positions are.
  virtual std::string reference_entries(const std::vector<int32_t>& positions, std::vector<int32_t>& entries) = 0;

  const BulkView& view() const { return view_; }

 protected:
  BulkView view_;
};

struct BulkSlotsOrReason {
  std::vector<std::unique_ptr<BulkSlot>> slots;
  std::string reason;  // "built without CUDA", "no CUDA driver", "no CUDA device", too little memory
};
BulkSlotsOrReason make_bulk_slots(int num_slots, const BulkScale& scale);

// One slot in host memory. The kernel's body runs under checked memory there, or for speed.
enum class HostKernel : uint8_t { kChecked, kFast };
std::vector<std::unique_ptr<BulkSlot>> make_host_bulk_slots(HostKernel kernel = HostKernel::kChecked);

}  // namespace slotproof::harness
