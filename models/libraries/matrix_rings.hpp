#pragma once
// The rings the matrix era of NCCL builds over the members of one communicator on one node.
#include <string>
#include <vector>

#include "models/libraries/pair_transports.hpp"

namespace linkcast {

struct RingPlan {
  std::vector<std::vector<int>> rings;  ///< member indices
  double links_per_ring = 0;            ///< NVLinks; 0 where no NVLink ring exists
  bool fallback = false;                ///< one ring with no closed NVLink ring under it, not over PCIe alone
  bool duplicated = false;              ///< each ring is run by two blocks as far as the cap allows
  std::string why;
};

/// Rings the library keeps at most, duplicates included. source: models/libraries/SOURCES.md
inline constexpr int kMaxRings = 16;

/// @param gpus  GPU numbers by member index, for the text only
/// @source  models/libraries/SOURCES.md (NCCL 2.3.7)
/// @limits  several domains: the facts say only that host memory joins them; taken as one ring, domain after domain
RingPlan plan_rings(const PairTable& pairs, const std::vector<int>& gpus);

}  // namespace linkcast
