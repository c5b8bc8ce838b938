#pragma once
// Collectives over several nodes of a cluster.
#include <string>

#include "sim/catalogue/catalogue.hpp"
#include "sim/collective/cluster_job.hpp"
#include "sim/records/object_reader.hpp"
#include "sim/uncertainty/interval.hpp"

namespace linkcast::collective {

/// Nodes, and the first GPUs of each.
struct AcrossNodes {
  int nodes = 2, gpus_per_node = 1;
};
/// Keys nodes and gpus_per_node. @throws InputError  more than the cluster has
AcrossNodes read_nodes(const Cluster& cluster, ObjectReader& r);
/// Key library, else that of the machine's time; where it is modelled for one node only, the oldest that is not.
std::string library_across(const Calibration& calibration, ObjectReader& r);

/// A collective over nodes as flows that share links with whatever else runs. Each is held to what it gets alone, so
/// that with nothing else going on it takes the forecast's time.
struct ClusterFlows {
  std::vector<Activity> flows{};  ///< the constraints of their uses are keys of the job's cluster
  uncertainty::Spread spread{};   ///< of the time alone
  Json warnings{};
};
/// Of messages (alltoall, gather, ...) one flow stands for all: each at the rate of the slowest, which alone takes as
/// long (reduced_alltoall.cpp) and beside others has the share of a link that so many messages have.
ClusterFlows cluster_collective_flows(ClusterJob job, Solver& solver);
/// The library of the machine's time; where that is modelled for one node only, the oldest that is not.
std::string usual_library_across(const Calibration& calibration);

/// Keys nodes and gpus_per_node instead of gpus: the first GPUs of the first nodes.
Json cluster_collective_answer(catalogue::Catalogue& catalogue, const std::string& platform_id, Solver& solver,
                               ObjectReader& r);

}  // namespace linkcast::collective
