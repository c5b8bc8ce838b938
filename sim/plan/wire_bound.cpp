#include "sim/plan/wire_bound.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "sim/base/index.hpp"

namespace linkcast::activities {

double nominal_Bps(const Platform& platform, int constraint) {
  const Constraint& one = platform.constraints()[at(constraint)];
  if (one.kind != ConstraintKind::kLink) return std::numeric_limits<double>::infinity();
  const Cable& cable = platform.topology().cables[at(one.cable)];
  return cable.count * cable.bandwidth.si;
}

double nominal_Bps(const Cluster& cluster, int key) {
  const int of_fabric = key - cluster.key_of_fabric_link(0);
  if (of_fabric < 0) return nominal_Bps(cluster.node(), key % cluster.key(1, 0));
  if (key >= cluster.first_engine_key()) return std::numeric_limits<double>::infinity();
  return cluster.fabric().classes()[at(cluster.fabric().link(of_fabric).link_class)].bandwidth.si;
}

bool is_hashed(const Cluster& cluster, int key) {
  const int of_fabric = key - cluster.key_of_fabric_link(0);
  if (cluster.routing() != FabricRouting::kEcmp || of_fabric < 0 || key >= cluster.first_engine_key()) return false;
  const FabricLink link = cluster.fabric().link(of_fabric);
  return std::min(link.from, link.to) >= cluster.fabric().endpoints();
}

double wire_bound_s(const Platform& platform, const Problem& problem) {
  std::vector<double> wire_B(problem.capacity_Bps.size(), 0);
  for (const Activity& activity : problem.activities)
    for (const Use& use : activity.uses) wire_B[at(use.constraint)] += use.weight * activity.work_B;
  double bound_s = 0;
  for (std::size_t i = 0; i < wire_B.size(); ++i)
    if (wire_B[i] > 0) bound_s = std::max(bound_s, wire_B[i] / nominal_Bps(platform, static_cast<int>(i)));
  return bound_s;
}

}  // namespace linkcast::activities
