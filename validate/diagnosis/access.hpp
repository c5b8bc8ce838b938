#pragma once
#include <set>
#include <string>
#include <utility>

#include "sim/machine/platform.hpp"
#include "sim/records/measurement.hpp"

namespace linkcast::diagnosis {

/// Pairs between which p2pBandwidthLatencyTest had no peer access although the platform allows it.
struct NoAccess {
  std::set<std::pair<std::string, std::string>> pairs{};  ///< ids of source and target
  std::string where{};  ///< "all pairs", "pairs across sockets", "gpu6", "GPUs of cpu1", or their number; empty: none
};
NoAccess without_access(const Platform& platform, const Measurement& measurement);

}  // namespace linkcast::diagnosis
