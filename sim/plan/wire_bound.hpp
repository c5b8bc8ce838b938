#pragma once
// The time that wires at their nominal rates need: no machine is faster, whatever was fitted to it.
#include "sim/engine/problem.hpp"
#include "sim/machine/cluster.hpp"

namespace linkcast::activities {

/// Rate of a link by the data sheets of its cables, bytes/s of one direction; infinity for constraints that are no
/// links: duplex limits, memories, engines of NICs. @param key  of the cluster
double nominal_Bps(const Cluster& cluster, int key);
/// Whether it is a link between switches of a fabric that hashes (ecmp): with another hash it carries other bytes.
bool is_hashed(const Cluster& cluster, int key);
/// Rate of a constraint of a node.
double nominal_Bps(const Platform& platform, int constraint);

/// Lower bound of the time of a node's copies, in any order, seconds: each link carries its bytes at its nominal rate.
/// @param problem  with the node's own constraints
double wire_bound_s(const Platform& platform, const Problem& problem);

}  // namespace linkcast::activities
