#pragma once
// What a collective costs beside the bytes on the links: fitted on this machine, else the library's own table.
#include <limits>
#include <string>
#include <vector>

#include "sim/platform/platform.hpp"
#include "sim/plugin/library.hpp"
#include "sim/records/learned.hpp"

namespace linkcast::collective {

struct CollectiveCost {
  double base_s = 0, hop_s = 0, network_hop_s = 0;
  ErrorPart base_spread, hop_spread, network_hop_spread;         ///< standard deviations of their logarithms
  ErrorPart slowness_spread;                                     ///< of base and hops together, those of a tree
  double channel_Bps = std::numeric_limits<double>::infinity();  ///< payload that one thread block moves
  std::vector<ErrorPart> channel_spread{};                       ///< of its logarithm
  double network_Bps = std::numeric_limits<double>::infinity();  ///< the same between nodes
  ErrorPart network_spread;
  double link_share = 1;  ///< of multicast: RingLibrary::multicast_share()
  ErrorPart link_spread;
  bool rate_measured = false;  ///< the share was
  double host_wait = 1;        ///< RingLibrary::host_wait()
  double turn_steps = 0;       ///< steps of a round in which a block sends nothing
  bool measured = false;       ///< base and hop were
  bool network_measured = false;

  /// Of the first byte. @param inside, between  hops one after the other in nodes and between them
  [[nodiscard]] double latency_s(double inside, double between) const {
    return base_s + inside * hop_s + between * network_hop_s;
  }
  /// Standard error of that, seconds.
  [[nodiscard]] std::vector<ErrorPart> latency_error_s(double inside, double between) const;
};

/// Parameters `nccl.<algorithm>.<protocol>.*` of the machine; where they were not measured what the library believes of
/// base and hops, and wide assumptions of rates.
/// @param algorithm  ring or tree
/// @param blocks  thread blocks in use: they slow each other down
CollectiveCost collective_cost(const Platform& platform, const RingLibrary& library, const Communicator& communicator,
                               const std::string& algorithm, const std::string& protocol, int blocks);

/// Share of a thread block's rate that is left to an operation whose last step sends nothing: a reduce_scatter.
/// @param steps  that do send
double tail_share(const Platform& platform, const Communicator& communicator, const std::string& protocol,
                  const CollectiveTraits& traits, int steps);

/// The same of an algorithm that is no ring and no tree of GPUs: all steps are in base_s, of which the library's table
/// is believed until it was measured.
CollectiveCost switch_cost(const Platform& platform, const RingLibrary& library, const Communicator& communicator,
                           const std::string& algorithm, const std::string& protocol, int blocks);

/// The same of a group of sends and receives.
CollectiveCost message_cost(const Platform& platform, const RingLibrary& library, const Communicator& communicator,
                            const std::string& protocol);

}  // namespace linkcast::collective
