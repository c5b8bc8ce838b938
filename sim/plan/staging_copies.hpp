#pragma once
// Buffers copied through host memory before and after a collective.
#include <string>
#include <vector>

#include "sim/engine/problem.hpp"
#include "sim/machine/cluster.hpp"
#include "sim/machine/library.hpp"
#include "sim/plan/cluster_problem.hpp"
#include "sim/plan/mpi_costs.hpp"

namespace linkcast::activities {

struct StagingTimes {
  double in_s = 0, out_s = 0;
  bool assumed = false;              ///< copies of such memory were not measured on this machine
  std::vector<ErrorPart> error_s{};  ///< standard error of the times
  [[nodiscard]] double time_s() const { return in_s + out_s; }
};

struct StagedBuffers {
  std::vector<ClusterGpu> ranks;
  const Collective& op;
  double size_B = 0;
  Staging staging = Staging::kNone;
  StagingCosts costs;
};

/// The copies of the ranks of the first `nodes` nodes as activities. @param in, out  empty: those before and after
void add_staging_copies(const StagedBuffers& buffers, int nodes, ClusterProblem& in, ClusterProblem& out);

/// The ranks of all nodes copy at once; of equal parts only the first node, where a root is, differs from the others.
/// kPageable: both buffers come down before, as Open MPI does it. kPinned: the send buffer alone.
/// @source  Open MPI 4.1.4, ompi/mca/coll/cuda/coll_cuda_allreduce.c; paper 002 (SC24), section III-A
StagingTimes staging_times(const Cluster& cluster, const StagedBuffers& buffers, Solver& solver);

}  // namespace linkcast::activities
