#pragma once
#include "sim/machine/platform.hpp"
#include "sim/records/measurement.hpp"

namespace linkcast::validate {

/// Whether these GPUs have a direct way that the measurement was told not to take.
bool without_peers(const Platform& platform, const Measurement& measurement, const MeasuredCollective& c);

}  // namespace linkcast::validate
