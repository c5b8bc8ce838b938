#pragma once
// Algorithms that are no ring and no tree of GPUs: NVSwitches that reduce and multicast (NVLS), switches between nodes
// that reduce (CollNet), and parallel aggregated trees (PAT).
#include <vector>

#include "sim/activities/cluster_channels.hpp"
#include "sim/activities/cluster_problem.hpp"
#include "sim/collective/collective_job.hpp"

namespace linkcast::collective {

struct CollectivePlan;
struct Taken;

/// Whether the NVSwitch of each node reduces and stores: nvls, or nvls_tree between nodes.
bool by_multicast(const Taken& taken);
/// Whether the switches between nodes reduce.
bool by_collnet(const Taken& taken, int nodes);
/// Any of the algorithms of this file.
bool by_switches(const Taken& taken);
/// GPUs of each node that have a part: those that multicast, between nodes one next to each NIC.
std::vector<int> multicast_heads(const Communicator& communicator);

/// Adds the collective's activities, and what comes before them to `made`. @throws InputError  as plan()
void plan_by_switches(const CollectiveJob& job, activities::ClusterProblem& problem, CollectivePlan& made);

/// What waiting on each hop between nodes adds, seconds.
double switch_delay_s(const CollectiveJob& job, const Taken& taken, const activities::HopDelay& wait_s);

}  // namespace linkcast::collective
