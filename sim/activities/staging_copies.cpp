#include "sim/activities/staging_copies.hpp"

#include <algorithm>
#include <numeric>

namespace linkcast::activities {
namespace {

// Pageable memory against the way's own rate, where it was not measured. source: models/params/hgx-h200.json, 18.5 of
// 55 GB/s down
constexpr double kPageableShare = 0.34;

// The root's node copies what it alone sends or receives, the second node stands for all others.
constexpr int kUnlikeNodes = 2;

struct Buffers {
  double send = 0, receive = 0;  ///< bytes
};

double sent_share(const CollectiveTraits& traits, bool root, double part) {
  if (traits.reduces) return 1;
  if (traits.gathers) return part;
  return traits.root && !root ? 0 : 1;
}

double received_share(const Collective& op, bool root, double part) {
  const CollectiveTraits traits = op.traits();
  if (!traits.root) return traits.reduces && !traits.gathers ? part : 1;
  if (traits.reduces || traits.gathers) return root ? 1 : 0;
  if (op.shape() == Shape::kPairs) return part;
  return root ? 0 : 1;
}

/// Where parts differ in size.
Buffers buffers_of_parts(const Collective& op, int rank, int ranks) {
  const std::vector<double>& parts_B = op.parts_B();
  Buffers buffers;
  if (op.traits().parts == PartSizes::kOfPairs) {
    for (int other = 0; other < ranks; ++other) {
      buffers.send += parts_B[static_cast<std::size_t>(rank * ranks + other)];
      buffers.receive += parts_B[static_cast<std::size_t>(other * ranks + rank)];
    }
    return buffers;
  }
  const double own = parts_B[static_cast<std::size_t>(rank)];
  const double all = std::accumulate(parts_B.begin(), parts_B.end(), 0.0);
  return op.traits().gathers ? Buffers{own, all} : Buffers{all, own};
}

Buffers buffers_of(const Collective& op, int rank, int ranks, double size_B) {
  if (!op.parts_B().empty()) return buffers_of_parts(op, rank, ranks);
  const double part = 1.0 / ranks;
  return {sent_share(op.traits(), rank == 0, part) * size_B, received_share(op, rank == 0, part) * size_B};
}

/// One buffer of one rank, after the copy of its own before.
int add_copy(ClusterProblem& problem, ClusterGpu rank, bool down, double bytes, Staging staging, int after) {
  const Platform& node = problem.cluster().node();
  const std::string pinned = down ? "d2h" : "h2d", name = staging == Staging::kPageable ? pinned + "_pageable" : pinned;
  const int device = node.gpu(rank.gpu);
  problem.pass_node(rank.node, (down ? node.to_host(device) : node.from_host(device)).links, MoveBy::kDma);
  const bool slow = staging == Staging::kPageable && !node.transports().measured(name);
  const double lone = problem.lone_rate();
  const Pace pace = node.transports().get(name).pace(bytes, lone);
  Activity activity;
  activity.delay_s = pace.delay_s;
  activity.work_B = bytes;
  activity.rate_cap_Bps = slow ? std::min(pace.cap_Bps, kPageableShare * lone) : pace.cap_Bps;
  if (after >= 0) activity.after = {after};
  return problem.add(std::move(activity));
}

}  // namespace

void add_staging_copies(const std::vector<ClusterGpu>& ranks, int nodes, const Collective& op, double size_B,
                        Staging staging, ClusterProblem& in, ClusterProblem& out) {
  const int count = static_cast<int>(ranks.size());
  for (int rank = 0; rank < count; ++rank) {
    const ClusterGpu place = ranks[static_cast<std::size_t>(rank)];
    if (place.node >= nodes) continue;
    const Buffers buffers = buffers_of(op, rank, count, size_B);
    int last = -1;
    if (buffers.send > 0) last = add_copy(in, place, true, buffers.send, staging, last);
    if (buffers.receive > 0 && staging == Staging::kPageable) add_copy(in, place, true, buffers.receive, staging, last);
    if (buffers.receive > 0) add_copy(out, place, false, buffers.receive, staging, -1);
  }
}

StagingTimes staging_times(const Cluster& cluster, const std::vector<ClusterGpu>& ranks, const Collective& op,
                           double size_B, Staging staging, Solver& solver) {
  StagingTimes times;
  const Transports& transports = cluster.node().transports();
  times.assumed =
      staging == Staging::kPageable && !(transports.measured("d2h_pageable") && transports.measured("h2d_pageable"));
  ClusterProblem in(cluster), out(cluster);
  const int nodes = op.parts_B().empty() ? kUnlikeNodes : 1;
  add_staging_copies(ranks, nodes, op, size_B, staging, in, out);
  if (!in.problem().activities.empty()) times.in_s = solver.run(in.problem()).makespan_s;
  if (!out.problem().activities.empty()) times.out_s = solver.run(out.problem()).makespan_s;
  return times;
}

}  // namespace linkcast::activities
