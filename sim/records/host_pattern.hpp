#pragma once
// What measurements show of host memory: copies of several GPUs that start together, and collectives through it.
#include "sim/records/measurement.hpp"

namespace linkcast {

enum class HostPattern { kNone, kWrite, kRead, kBoth };

/// kNone: some copy has no end in host memory, or only one GPU is concerned.
HostPattern host_pattern(const MeasuredFlows& group);

/// Whether a fit takes them: by copy engines, and so large that the CPU's caches hold little of them.
bool shows_host_memory(const MeasuredFlows& group);

/// Whether a fit takes a collective without peer access: small or very large ones of two GPUs. Those of more GPUs, and
/// sizes between, are left for comparison.
bool shows_host_path(const Measurement& measurement, const MeasuredCollective& c);

}  // namespace linkcast
