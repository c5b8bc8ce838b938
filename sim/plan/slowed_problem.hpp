#pragma once
// A problem of a cluster again, with some of its crossings of the fabric slowed down: a byte that waits in a queue
// holds the ports and links on its way for as long. Nothing is routed again.
#include <functional>
#include <vector>

#include "sim/machine/noise.hpp"
#include "sim/plan/cluster_problem.hpp"

namespace linkcast::congestion {

/// How many times as long a byte takes, at least 1.
using Slowdown = std::function<double(const NoisyWay&)>;
/// Of a crossing by an activity of the problem.
using CrossingSlowdown = std::function<double(const NoisyWay&, int activity)>;

class SlowedProblem {
 public:
  /// @param made  keeps its crossings; outlives this
  explicit SlowedProblem(activities::ClusterProblem& made);
  /// Valid until the next call.
  const Problem& slowed(const CrossingSlowdown& slowdown);

 private:
  struct Part {  ///< of one crossing on one use
    std::size_t activity = 0, use = 0, crossing = 0;
    double weight = 0;
  };
  const Problem& quiet_;
  Problem problem_;
  std::vector<NoisyWay> ways_;  ///< per crossing
  std::vector<int> by_;         ///< per crossing: its activity
  std::vector<double> factor_;
  std::vector<Part> parts_;
};

}  // namespace linkcast::congestion
