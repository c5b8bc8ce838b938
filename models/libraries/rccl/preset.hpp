#pragma once
// Rings and trees of whole nodes that RCCL knows by heart.
#include <vector>

#include "models/libraries/rccl/release.hpp"
#include "sim/machine/cluster.hpp"
#include "sim/machine/communicator.hpp"

namespace linkcast::rccl {

/// Class of paths of XGMI links alone, as RCCL prints it.
inline constexpr const char* kXgmi = "XGMI";

/// By the name of the first member's model.
Generation generation_of(const Platform& platform, const std::vector<int>& gpus);

/// GB/s of all XGMI links of the member with most of them, as the library counts.
double links_GBps(const Platform& platform, const std::vector<int>& gpus);

/// Channels of one message inside a node: by the links of the pair with fewest.
int message_channels(const Platform& platform, const std::vector<int>& gpus, int nodes);

/// How often each ring of a search runs: `rings` times this are the channels.
int repeats(Generation generation, int ranks, int nodes, int rings);

/// A preset and the GPU number at each of its places.
struct Match {
  const Preset* preset = nullptr;  ///< null: none fits
  std::vector<int> gpus;
};
/// Presets are of whole nodes.
/// @param nics  that the library finds, on several nodes; 0: of one node
/// @param nic_of  the NIC next to each GPU number; empty: whichever
Match find_preset(const Platform& platform, const std::vector<int>& gpus, int nics, const std::vector<int>& nic_of);

/// The one that a communicator was built from. @returns nullptr  its rings were searched
const Preset* preset_of(const Platform& platform, const Communicator& communicator);

/// Over one node, or over several of a cluster.
Communicator preset_inside(const Match& match, const Platform& platform, const std::vector<int>& gpus);
Communicator preset_across(const Match& match, const Cluster& cluster, const std::vector<int>& gpus, int nodes);

}  // namespace linkcast::rccl
