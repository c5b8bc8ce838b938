#include "sim/congestion/alltoall_traffic.hpp"

#include <algorithm>
#include <cstddef>

namespace linkcast::congestion {
namespace {

std::vector<int> endpoints(const Cluster& cluster, const UniformTraffic& traffic) {
  std::vector<int> list;
  for (int node = 0; node < traffic.nodes; ++node)
    for (const int gpu : traffic.gpus) list.push_back(cluster.endpoint(node, cluster.nic_of(gpu)));
  return list;
}

}  // namespace

AlltoallTraffic::AlltoallTraffic(const Cluster& cluster, const UniformTraffic& traffic)
    : cluster_(cluster),
      traffic_(traffic),
      pairs_(cluster, endpoints(cluster, traffic)),
      sharing_(static_cast<std::size_t>(cluster.nics()), 0) {
  for (const int gpu : traffic.gpus) ++sharing_[nic(gpu)];
}

SwitchPairs::Traffic AlltoallTraffic::between_switches() const {
  const auto switches = static_cast<std::size_t>(pairs_.switches());
  const std::size_t members = traffic_.gpus.size();
  SwitchPairs::Traffic sums{std::vector<double>(switches * switches, 0), std::vector<double>(switches, 0)};
  std::vector<double> at(switches, 0);
  for (std::size_t end = 0; end < members * static_cast<std::size_t>(traffic_.nodes); ++end) {
    const auto here = static_cast<std::size_t>(pairs_.switch_of(end));
    ++at[here];
    const double capacity = cluster_.capacity(cluster_.key_of_fabric_link(pairs_.port(end)));
    sums.port_s[here] = std::max(sums.port_s[here], port_bytes(traffic_.gpus[end % members]) / capacity);
  }
  for (std::size_t from = 0; from < switches; ++from)
    for (std::size_t to = 0; to < switches; ++to) sums.between[from * switches + to] = at[from] * at[to];
  leave_out_nodes(sums);
  for (double& between : sums.between) between *= traffic_.bytes * traffic_.stored;
  return sums;
}

void AlltoallTraffic::leave_out_nodes(SwitchPairs::Traffic& messages) const {
  const auto switches = static_cast<std::size_t>(pairs_.switches());
  const std::size_t members = traffic_.gpus.size();
  for (std::size_t first = 0; first < members * static_cast<std::size_t>(traffic_.nodes); first += members)
    for (std::size_t i = first; i < first + members; ++i)
      for (std::size_t j = first; j < first + members; ++j)
        --messages.between[static_cast<std::size_t>(pairs_.switch_of(i)) * switches +
                           static_cast<std::size_t>(pairs_.switch_of(j))];
}

}  // namespace linkcast::congestion
