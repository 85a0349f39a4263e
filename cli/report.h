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

std::string table_of(const CampaignReport& report, const std::vector<AbsentBackend>& absent);
std::string text_of(const Counterexample& counterexample, const BackendTally& backend);
std::string json_of(const CampaignReport& report, const std::vector<AbsentBackend>& absent);
std::string junit_of(const CampaignReport& report, const std::vector<AbsentBackend>& absent);

}  // namespace slotproof::cli
