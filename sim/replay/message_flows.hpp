#pragma once
#include <set>
#include <string>

#include "sim/activities/cluster_message.hpp"
#include "sim/activities/plan.hpp"
#include "sim/engine/problem.hpp"

namespace linkcast::replay {

struct MessageFlows {
  activities::Plan plan;  ///< with keys of the cluster
  int network = 0;        ///< activity that crosses the network
};

/// A message of a measured curve, in a node or between two: its stages follow each other.
/// @param warnings  receives what stands in for it. @throws InputError  no such message was measured
MessageFlows message_flows(const Cluster& cluster, const activities::Message& message, Solver& solver,
                           std::set<std::string>& warnings);

}  // namespace linkcast::replay
