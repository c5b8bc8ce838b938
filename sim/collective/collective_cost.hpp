#pragma once
// What a collective costs beside the bytes on the links: fitted on this machine, else the library's own table.
#include <limits>
#include <string>

#include "sim/platform/platform.hpp"
#include "sim/plugin/library.hpp"

namespace linkcast::collective {

// The library's own figure for a hop between nodes stands in for one never measured. source: as kTableError of
// collective_cost.cpp
inline constexpr double kNetworkHopError = 0.35;

struct CollectiveCost {
  double base_s = 0, hop_s = 0;
  double error_s = 0;                                            ///< standard error of both, over all steps
  double channel_Bps = std::numeric_limits<double>::infinity();  ///< payload that one thread block moves
  double turn_steps = 0;                                         ///< steps of a round in which a block sends nothing
  bool measured = false;
};

/// @param algorithm  ring or tree
/// @param steps  hops one after the other, for the error
CollectiveCost collective_cost(const Platform& platform, const RingLibrary& library, const Communicator& communicator,
                               const std::string& algorithm, const std::string& protocol, int steps);

/// Of an algorithm that was never measured: the library's own latency of all its steps.
CollectiveCost library_cost(Seconds latency);

/// Share of a thread block's rate that is left where blocks of the buffer start at multiples of `distance_B`: threads
/// move 16 bytes at once, or the largest power of two that divides the distance. 1 for LL, whose unit is 8 bytes.
double alignment_share(const std::string& protocol, double distance_B);

/// The same of a group of sends and receives.
CollectiveCost message_cost(const Platform& platform, const RingLibrary& library, const Communicator& communicator,
                            const std::string& protocol);

}  // namespace linkcast::collective
