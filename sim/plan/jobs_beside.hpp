#pragma once
// What jobs beside a collective cost each of its hops between nodes (head_of_line.hpp).
#include <functional>
#include <vector>

#include "sim/plan/cluster_problem.hpp"
#include "sim/plan/network_load.hpp"
#include "sim/plan/slowed_problem.hpp"

namespace linkcast::congestion {

// Lossless links without congestion control: what cannot move on fills the buffers behind it, back to its source, and
// what shares a queue with it waits at the head of the line.

/// Bytes from one port to another, evenly over several routes, on one service level.
struct QueuedFlow {
  int port = 0;           ///< of the source: a switch serves its ports in turn
  double wanted_Bps = 0;  ///< what the port would send if nothing were in the way
  int service_level = 0;
  std::vector<std::vector<int>> ways{};  ///< links in order
};

/// What each flow gets, of what it wants. A queue is a link and a service level.
///   1. A queue is given its link's rate; levels share a link in turn, as much as each has to send. Where more arrives
///      than leaves, all are held back alike: first in, first out serves in proportion of arrivals.
///   2. The bytes of a held-back flow stand in every queue on their way before that one. The queue is served in turns,
///      port after port, and a turn ends only when its packet moves: so no port gets more through it than the fastest
///      of the ports that are held back there.
///   3. What 2 holds back stands in queues itself: repeated until nothing changes. None falls below the share that the
///      flows to the hot spot have.
/// A flow's share is the average over its ways.
/// @source  Pfister and Norton, "Hot spot" contention and combining in multistage interconnection networks, IEEE Trans.
///          Computers C-34 (1985): tree saturation; Gran et al., First experiences with congestion control in
///          InfiniBand hardware, IPDPS 2010: victims fall to the rate of the flows to the hot spot
std::vector<double> head_of_line_shares(const std::vector<QueuedFlow>& flows,
                                        const std::function<double(int link)>& capacity_Bps);

/// A collective alone, whose activities move in one round or in several. Its nodes are the first of the cluster, those
/// of the jobs beside it follow (place_jobs).
struct LoneJob {
  activities::ClusterProblem& made;  ///< keeps its crossings
  const std::vector<int>& gpus;      ///< of each node, of all jobs
  int nodes = 0;
  std::vector<double> moving_s{};  ///< per activity: time of its bytes
  std::vector<int> round{};        ///< per activity: those of one number move together, each round by itself
};

/// @param out  gets "beside": what each of the others gets of what it would send, on average
/// @throws InputError  too many messages of others
CrossingSlowdown slowed_beside(const LoneJob& job, const NetworkLoad& load, Json& out);

}  // namespace linkcast::congestion
