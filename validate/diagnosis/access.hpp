#pragma once
#include <string>

#include "sim/platform/platform.hpp"
#include "sim/records/measurement.hpp"

namespace linkcast::diagnosis {

/// Pairs between which p2pBandwidthLatencyTest had no peer access although the platform allows it: "all pairs",
/// "pairs across sockets", "gpu6", "GPUs of cpu1", or their number; empty where there are none.
std::string without_access(const Platform& platform, const Measurement& measurement);

}  // namespace linkcast::diagnosis
