#pragma once
// Answers about messages between the nodes of a cluster.
#include "sim/activities/cluster_message.hpp"
#include "sim/engine/problem.hpp"
#include "sim/log/progress.hpp"
#include "sim/platform/cluster.hpp"
#include "sim/records/object_reader.hpp"
#include "sim/uncertainty/verdict.hpp"

namespace linkcast::copy {

/// True if the query names its ends as node<number>/<device>.
bool names_nodes(const Json& query);

/// How sure the time of one message alone is.
uncertainty::Uncertainty uncertainty_of(const Cluster& cluster, const activities::PlannedMessage& plan, double bytes,
                                        double time_s, uncertainty::Verdict& verdict);

Json cluster_p2p_answer(const Cluster& cluster, Solver& solver, ObjectReader& r, log::Progress& progress);
/// Minimal ways and detours between two nodes, up to `k` of each, each as if the message took it alone, fastest first.
Json cluster_routes_answer(const Cluster& cluster, Solver& solver, ObjectReader& r);

}  // namespace linkcast::copy
