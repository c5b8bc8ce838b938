#include "sim/plan/alltoall_traffic.hpp"

#include <algorithm>
#include <cstddef>

#include "sim/base/index.hpp"

namespace linkcast::congestion {
namespace {

/// NICs by which members get messages.
std::vector<int> nics_of(const Cluster& cluster, const UniformTraffic& traffic) {
  std::vector<int> nics;
  for (std::size_t i = 0; i < traffic.gpus.size(); ++i)
    nics.push_back(activities::network_end(cluster, {0, traffic.gpus[i]}, activities::way_in(traffic.exits, i)).nic);
  return nics;
}

std::vector<int> endpoints(const Cluster& cluster, int nodes, const std::vector<int>& nics) {
  std::vector<int> list;
  for (int node = 0; node < nodes; ++node)
    for (const int nic : nics) list.push_back(cluster.endpoint(node, nic));
  return list;
}

}  // namespace

AlltoallTraffic::AlltoallTraffic(const Cluster& cluster, const UniformTraffic& traffic)
    : cluster_(cluster),
      traffic_(traffic),
      nics_(nics_of(cluster, traffic)),
      pairs_(cluster, endpoints(cluster, traffic.nodes, nics_)),
      member_of_(at(cluster.nics()), -1),
      leaving_(at(cluster.nics()), 0),
      coming_(leaving_),
      crossing_(at(cluster.nics()) * at(cluster.nics()), 0) {
  for (std::size_t i = 0; i < nics_.size(); ++i) {
    member_of_[at(nic(i))] = static_cast<int>(i);
    for (std::size_t j = 0; j < nics_.size(); ++j) {
      const int out =
          activities::network_end(cluster, {0, traffic.gpus[i]}, activities::way_out(traffic.exits, i, j)).nic;
      ++leaving_[at(out)];
      ++coming_[at(nic(j))];
      ++crossing_[index(out, nic(j))];
    }
  }
}

std::map<int, int> AlltoallTraffic::switches_of(int nic) const {
  std::map<int, int> switches;
  const auto member = at(member_of_[at(nic)]);
  for (int node = 0; node < traffic_.nodes; ++node) ++switches[pairs_.switch_of(at(node) * nics_.size() + member)];
  return switches;
}

SwitchPairs::Traffic AlltoallTraffic::between_switches() const {
  const auto switches = at(pairs_.switches());
  SwitchPairs::Traffic sums{std::vector<double>(switches * switches, 0), std::vector<double>(switches, 0)};
  for (std::size_t end = 0; end < nics_.size() * at(traffic_.nodes); ++end) {
    const std::size_t member = end % nics_.size();
    const double capacity = cluster_.capacity(cluster_.key_of_fabric_link(pairs_.port(end)));
    double& busiest = sums.port_s[at(pairs_.switch_of(end))];
    busiest = std::max(busiest, std::max(bytes_out(member), bytes_in(member)) / capacity);
  }
  for (int from = 0; from < cluster_.nics(); ++from)
    for (int to = 0; to < cluster_.nics(); ++to)
      if (crossing_[index(from, to)] > 0) add_between(from, to, sums);
  for (double& between : sums.between) between *= traffic_.bytes * traffic_.stored;
  return sums;
}

/// Every node to every other one: as many as there are of both, less those from a node to itself.
void AlltoallTraffic::add_between(int from_nic, int to_nic, SwitchPairs::Traffic& messages) const {
  const auto switches = at(pairs_.switches());
  const int each = crossing_[index(from_nic, to_nic)];
  const std::map<int, int> sending = switches_of(from_nic), getting = switches_of(to_nic);
  for (const auto& [here, senders] : sending)
    for (const auto& [there, getters] : getting)
      messages.between[at(here) * switches + at(there)] += 1.0 * each * senders * getters;
  const auto out = at(member_of_[at(from_nic)]), in = at(member_of_[at(to_nic)]);
  for (std::size_t first = 0; first < nics_.size() * at(traffic_.nodes); first += nics_.size())
    messages.between[at(pairs_.switch_of(first + out)) * switches + at(pairs_.switch_of(first + in))] -= each;
}

}  // namespace linkcast::congestion
