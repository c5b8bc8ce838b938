#pragma once
// What a fabric can carry, found by walking all minimal ways once: nothing simulated, nothing fitted.
#include <vector>

#include "sim/machine/bisection.hpp"
#include "sim/machine/fabric.hpp"

namespace linkcast::bounds {

/// How many ways cross a link when every endpoint sends to every other one, each pair's traffic spread evenly over its
/// minimal ways. The largest is the edge forwarding index.
/// @source  M. Heydemann et al., On forwarding indices of networks, Discrete Applied Mathematics 23(2), 1989
struct LinkLoad {
  double mean = 0, most = 0;
};

struct FabricFacts {
  int diameter = 0;             ///< links of the longest minimal way
  double average_links = 0;     ///< of a minimal way, over all ordered pairs
  std::vector<double> pairs;    ///< ordered pairs of endpoints at each of fabric.distances()
  std::vector<int> cables;      ///< of each class
  std::vector<LinkLoad> loads;  ///< of each class
  Cut bisection;                ///< between the first and the second half of the nodes
  /// Bytes per second of an endpoint, every link at its nominal rate, whatever the nodes can send.
  BytesPerSecond alltoall;   ///< to all others together: pairs share the link of the highest load per rate
  int alltoall_limit = 0;    ///< class of that link
  BytesPerSecond allreduce;  ///< buffer over time: a ring through all carries the buffer twice
};

/// @param nics_per_node  nodes are not torn apart by the bisection
FabricFacts fabric_facts(const Fabric& fabric, int nics_per_node);

}  // namespace linkcast::bounds
