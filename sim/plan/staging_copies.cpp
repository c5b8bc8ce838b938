#include "sim/plan/staging_copies.hpp"

#include <algorithm>
#include <numeric>

namespace linkcast::activities {
namespace {

// The root's node copies what it alone sends or receives, the second node stands for all others.
constexpr int kUnlikeNodes = 2;

// Both buffers of a rank come down before, one goes up after. source: as staging_times()
constexpr int kCopiesOfRank = 3;

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
int add_copy(ClusterProblem& problem, const StagedBuffers& buffers, ClusterGpu rank, bool down, double bytes,
             int after) {
  const Platform& node = problem.cluster().node();
  const int device = node.gpu(rank.gpu);
  const std::vector<int>& links = (down ? node.to_host(device) : node.from_host(device)).links;
  problem.pass_node(rank.node, links, MoveBy::kDma);
  problem.pass_host_memory(rank.node, links, bytes);
  Pace pace{buffers.costs.copy_s + (down ? buffers.costs.fresh_s(bytes) : 0), buffers.costs.copy_Bps};
  if (buffers.staging == Staging::kPinned) {
    const TransportModel& copy = node.transports().get(down ? "d2h" : "h2d");
    pace = copy.pace(bytes, problem.lone_rate());
    pace.delay_s += std::max(0.0, buffers.costs.copy_s - copy.regimes.front().startup.value);
  }
  Activity activity;
  activity.delay_s = pace.delay_s;
  activity.work_B = bytes;
  activity.rate_cap_Bps = pace.cap_Bps;
  if (after >= 0) activity.after = {after};
  return problem.add(std::move(activity));
}

}  // namespace

void add_staging_copies(const StagedBuffers& buffers, int nodes, ClusterProblem& in, ClusterProblem& out) {
  const int count = static_cast<int>(buffers.ranks.size());
  const bool both = buffers.staging == Staging::kPageable;
  for (int rank = 0; rank < count; ++rank) {
    const ClusterGpu place = buffers.ranks[static_cast<std::size_t>(rank)];
    if (place.node >= nodes) continue;
    const Buffers own = buffers_of(buffers.op, rank, count, buffers.size_B);
    int last = -1;
    if (own.send > 0) last = add_copy(in, buffers, place, true, own.send, last);
    if (own.receive > 0 && both) add_copy(in, buffers, place, true, own.receive, last);
    if (own.receive > 0) add_copy(out, buffers, place, false, own.receive, -1);
  }
}

StagingTimes staging_times(const Cluster& cluster, const StagedBuffers& buffers, Solver& solver) {
  StagingTimes times;
  const Transports& transports = cluster.node().transports();
  times.assumed = buffers.staging == Staging::kPageable && !buffers.costs.measured &&
                  !(transports.measured("d2h_pageable") && transports.measured("h2d_pageable"));
  ClusterProblem in(cluster), out(cluster);
  const int nodes = buffers.op.parts_B().empty() ? kUnlikeNodes : buffers.ranks.back().node + 1;
  add_staging_copies(buffers, nodes, in, out);
  if (!in.problem().activities.empty()) times.in_s = solver.run(in.problem()).makespan_s;
  if (!out.problem().activities.empty()) times.out_s = solver.run(out.problem()).makespan_s;
  const bool pageable = buffers.staging == Staging::kPageable;
  const int copies = pageable ? kCopiesOfRank : (times.in_s > 0 ? 1 : 0) + (times.out_s > 0 ? 1 : 0);
  const double starts_s = std::min(times.time_s(), copies * buffers.costs.copy_s);
  if (!pageable) {
    times.error_s = {buffers.costs.start_error.times(starts_s)};
    return times;
  }
  times.error_s = {buffers.costs.start_error.times(starts_s),
                   buffers.costs.rate_error.times(starts_s - times.time_s())};
  return times;
}

}  // namespace linkcast::activities
