#pragma once
// The library's cost model: latency + size / bandwidth for each algorithm and protocol. What it believes.
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "models/libraries/graph/version.hpp"
#include "models/libraries/ring_operation.hpp"
#include "sim/machine/communicator.hpp"
#include "sim/records/calibration.hpp"

namespace linkcast::graph {

/// Compute capabilities of the members, and whose CPUs they hang on.
struct Generations {
  int least = 0, most = 0;
  bool amd = false, power = false;
};

/// Places of protocols in tables.
inline constexpr std::size_t kLL = 0, kLL128 = 1, kSimple = 2;
inline const std::array<std::string, kProtocols> kProtocolNames = {"LL", "LL128", "Simple"};
/// Payload bytes / bytes stored. source: models/libraries/SOURCES.md (LL 8 of 16 bytes, LL128 120 of 128)
inline constexpr PerProtocol kPayloadShare = {8.0 / 16, 120.0 / 128, 1};
/// What the library counts on for one ring: between nodes every ring crosses the network at one speed.
inline BytesPerSecond channel_bandwidth(const Communicator& made) {
  return made.nodes > 1 ? made.network_channel_bandwidth : made.library_channel_bandwidth;
}
/// The same for one tree: up to two nodes that inside a node; beyond that half of what a NIC carries, since each serves
/// a parent and a child, or two children.
/// @source  models/libraries/SOURCES.md, "Between nodes"
inline BytesPerSecond tree_bandwidth(const Communicator& made) {
  constexpr int kFewNodes = 2;
  constexpr double kHalf = 0.5;  // source: as above
  if (made.nodes > kFewNodes) return {made.network_channel_bandwidth.si * (made.gpus.size() > 1 ? kHalf : 1)};
  return made.nodes > 1 && made.gpus.size() == 1 ? made.network_channel_bandwidth : made.tree_channel_bandwidth;
}
/// An algorithm as the tuner knows it.
struct TunedAlgorithm {
  std::string_view name{};  ///< that it is registered by (sim/forecast/algorithm.hpp)
  bool multicast = false;   ///< the NVSwitch of each node reduces and stores
  bool ring = false;        ///< each step moves one part of as many as there are ranks
  /// Start-up of one that is no ring and no tree of GPUs.
  AlgorithmLatency (*latency)(const TunerTraits& traits, const Communicator& communicator) = nullptr;
};
/// From the table of them; one with nothing of a name that the tuner does not have.
const TunedAlgorithm& tuned(std::string_view algorithm);

std::size_t protocol_index(const std::string& protocol);

/// @source  models/libraries/SOURCES.md, "Graph era: tuner"
/// @limits  NVLS of all_gather and reduce_scatter in one node; CollNet of all_reduce
std::vector<TunerEntry> tuner_table(const TunerTraits& traits, const Communicator& communicator,
                                    const Generations& generations, const TunerRequest& request);

/// Whether a request lets a library take a row; a forced one need not be enabled.
bool may_take(const TunerEntry& row, const TunerRequest& request);
/// The least time among the rows that it may take. @throws InputError  there is none: names the library
const TunerEntry& least_row(const std::string& library, const std::vector<TunerEntry>& rows,
                            const TunerRequest& request);

/// Share of the rate of kernels on a GPU's links that multicast attains on GPUs of this compute capability.
Prior multicast_share(int sm);

/// Rows of algorithms that are no ring and no tree of GPUs.
std::vector<TunerEntry> switch_rows(const TunerTraits& traits, const Communicator& communicator,
                                    const Generations& generations, const TunerRequest& request);

/// Blocks and threads of a row: fewer while the size leaves them idle.
TunerChoice with_blocks(const TunerTraits& traits, const Communicator& communicator, const TunerEntry& entry,
                        const TunerRequest& request);

/// Channels and protocol of one message of a group. The channels that all messages may use are those of the rings,
/// rounded up to a power of two; each message gets an equal share of them, more if its parts would be large.
MessageChoice message_of(const Communicator& communicator, double size_B, int forced);

}  // namespace linkcast::graph
