#pragma once
// What a campaign found, for people and for machines.

#include "cli/campaign.h"

#include <string>
#include <vector>

namespace slotproof::cli {

struct AbsentBackend {
  std::string name;
  std::string reason;
};

// Corners of a set with their counts; `unit` says what was counted, missed ones are listed where that means something.
std::string corner_lines(const std::array<int64_t, harness::kNumCorners>& counts, const harness::CornerSet& set, std::string_view unit, bool lists_missed);
std::string grouped(int64_t value);  // 1234567 -> "1,234,567"
std::string program();               // the command by which this program can be called again from here

std::string table_of(const CampaignReport& report, const std::vector<AbsentBackend>& absent);
std::string text_of(const Counterexample& counterexample, const BackendTally& backend);
std::string json_of(const CampaignReport& report, const std::vector<AbsentBackend>& absent);
std::string junit_of(const CampaignReport& report, const std::vector<AbsentBackend>& absent);

}  // namespace slotproof::cli
