#pragma once
// Algorithms by NVSwitches that reduce and multicast (NVLS): heads, rates of their blocks, what was never measured.
#include <string>
#include <vector>

#include "sim/forecast/collective_plan.hpp"

namespace linkcast {

/// GPUs of each node that have a part: those that multicast, between nodes one next to each NIC.
std::vector<int> multicast_heads(const Communicator& communicator);
/// One route a head.
std::vector<std::vector<int>> multicast_orders(const Communicator& communicator);

/// Rates of links and thread blocks; base and hops as the library's table of the algorithm says, or its rows.
collective::CollectiveCost multicast_cost(const collective::CostRequest& request, const std::string& algorithm,
                                          const collective::LatencyRows& rows);
/// Rows of what all of them have, as those of nvls.
std::vector<const ParameterRow*> multicast_parameters();

/// How the library cuts the buffer for its heads and thread blocks: each block takes a chunk of every head's part at a
/// time, in a round; three groups of its warps pass the chunks on, from the input to the head, through the switch, and
/// to the output.
struct MulticastRounds {
  double rounds = 1;  ///< until the buffer is done; less than one is one
  int stages = 0;     ///< that wait for the first round of the one before
  /// Rounds until the last chunk is out: each of them costs what its flags and barriers take.
  [[nodiscard]] collective::Hops hops() const { return {rounds + stages}; }
  /// Time of the bytes with that of the stages that wait, over that of the bytes.
  [[nodiscard]] double fill() const { return 1 + stages / rounds; }
};
/// @param tree  of nvls_tree, which cuts in another way
MulticastRounds multicast_rounds(const collective::CollectiveJob& job, int blocks, bool tree);

/// Where the links' share was not measured.
std::vector<std::string> multicast_warnings(const collective::CollectiveJob& job,
                                            const collective::CollectivePlan& plan);

}  // namespace linkcast
