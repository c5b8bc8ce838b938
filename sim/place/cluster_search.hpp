#pragma once
// Nodes for a job on a cluster: built up by groups of the fabric, then improved node by node, with a bound that no
// placement can beat.
#include <functional>
#include <vector>

#include "sim/place/fabric_groups.hpp"
#include "sim/place/place_request.hpp"
#include "sim/place/traffic.hpp"

namespace linkcast::placement {

/// Traffic of the job on these nodes, in rank order.
using TrafficOn = std::function<Traffic(const std::vector<int>& nodes)>;

struct ClusterQuestion {
  const Cluster& cluster;
  const FabricGroups& groups;
  TrafficOn traffic_on;
  int nodes = 0;                     ///< of the job, at least 2
  const std::vector<char>& free;     ///< per node
  std::vector<Background> others{};  ///< jobs that run
  PlaceObjective objective = PlaceObjective::kTime;
  int most_forecasts = 0;
  double compute_s = 0;  ///< of the job's iteration, besides the call: what it loses is a share of the iteration
};

struct ClusterChoice {
  std::string rule;  ///< what it was built up by: packed, first-fit, spread; "improved" if a node was changed
  std::vector<int> nodes;
  Traffic traffic{};
  double time_s = 0;               ///< beside the others
  std::vector<double> others_s{};  ///< time of a call of each of the others beside it
  double loss = 0;                 ///< of the others together, in shares of their iterations
  double cost = 0;                 ///< what the objective makes of these
  int built = 0;                   ///< how many were built before it
};

struct ClusterSearch {
  std::vector<ClusterChoice> choices;  ///< best first
  double bound_s = 0;                  ///< no placement takes less
  int evaluated = 0;
  std::vector<double> others_before_s{};  ///< of a call of each of the others without the job

  /// Of those whose cost is within this share of the best one's, the first that was built: rules that keep groups whole
  /// come first.
  [[nodiscard]] const ClusterChoice& first_within(double share) const;
};

ClusterSearch search_cluster(const ClusterQuestion& question);

/// Bytes over rate of what every placement crosses: inside the nodes, and between a node and its first switch. Rates of
/// the flows themselves do not count: they are what each gets where it is.
double bytes_bound_s(const Cluster& cluster, const Traffic& traffic);

}  // namespace linkcast::placement
