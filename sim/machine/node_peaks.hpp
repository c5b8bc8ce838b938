#pragma once
// What the direct links between the GPUs of a node can carry at most, by counting; for comparison with forecasts.
#include <optional>

#include "sim/machine/topology.hpp"

namespace linkcast::bounds {

/// @source  D. De Sensi et al., Exploring GPU-to-GPU Communication, SC24, sections IV-A and IV-C
struct NodePeaks {
  double forwarding_index = 0;  ///< most shortest ways over one link, if every GPU sends to every other one; at least 1
  BytesPerSecond alltoall;      ///< of a GPU: the rate of all its links by the forwarding index (GPU with the fewest)
  int rings = 0;                ///< rings through all GPUs that share no link, each direction counted
  BytesPerSecond allreduce;     ///< all links of a GPU where every two GPUs share one; else half the rate of all rings
};

/// Empty where direct links alone do not join the GPUs, or where there are more than 10 of them: counting rings is
/// exponential.
std::optional<NodePeaks> node_peaks(const Topology& topology);

}  // namespace linkcast::bounds
