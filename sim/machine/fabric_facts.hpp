#pragma once
// Facts of a fabric, found by walking all minimal routes once, nothing simulated, nothing fitted: cuts, ports of a
// switch, groups; and peaks of the direct links between the GPUs of a node.
#include <optional>
#include <vector>

#include "sim/machine/fabric.hpp"
#include "sim/machine/topology.hpp"

namespace linkcast {

/// The least that must be cut to part two sets of endpoints.
struct Cut {
  int cables = 0;
  BytesPerSecond bandwidth;  ///< one direction
};

/// The minimum cut between the first `half` endpoints and the others: what the first half can send to the second one at
/// most, whatever the routing. Ends where work::look() says so. Nodes fill a fabric in order, so this is the cut
/// between two neighbouring jobs.
Cut bisection(const Fabric& fabric, int half);

}  // namespace linkcast

namespace linkcast::bounds {

struct ClassPorts {
  int switches = 0;             ///< that have such a link
  int most = 0;                 ///< such links at one switch
  int parts_without = 0;        ///< into how many parts, single vertices included, the fabric falls without the class
  int endpoints_of_a_part = 0;  ///< in the largest of them
};

/// @param link_class  index into fabric.classes()
ClassPorts class_ports(const Fabric& fabric, int link_class);

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
