#include "sim/machine/placed_fabric.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "sim/base/index.hpp"
#include "sim/base/input_error.hpp"
#include "sim/base/random.hpp"

namespace linkcast {
namespace {

/// Switches that the NICs of a node hang at.
std::set<int> switches_of(const Cluster& cluster, int node) {
  std::set<int> found;
  const Fabric& fabric = cluster.fabric();
  std::vector<int> way;
  for (int nic = 0; nic < cluster.nics(); ++nic) {
    const int here = cluster.endpoint(node, nic);
    way.clear();
    fabric.minimal_way(here, here == 0 ? fabric.endpoints() - 1 : 0, 0, way);
    found.insert(fabric.link(way.front()).to);
  }
  return found;
}

}  // namespace

PlacedFabric::PlacedFabric(const Fabric& fabric, const std::vector<int>& first, int nics)
    : fabric_(fabric), first_(first), sorted_(first), nics_(nics) {
  std::sort(sorted_.begin(), sorted_.end());
  place_.reserve(first_.size());
  for (std::size_t i = 0; i < first_.size(); ++i) place_.emplace(first_[i], static_cast<int>(i));
}

int placed_node(const std::vector<int>& first, const std::vector<int>& sorted, int here) {
  const int placed = static_cast<int>(first.size());
  if (here < placed) return first[at(here)];
  int before = 0, more = placed;  // nodes of `first` that come before it in the fabric: between these two
  while (before < more) {
    const int middle = (before + more) / 2;
    if (sorted[at(middle)] - middle <= here - placed)
      before = middle + 1;
    else
      more = middle;
  }
  return here - placed + before;
}

int PlacedFabric::node_here(int there) const {
  if (const auto known = place_.find(there); known != place_.end()) return known->second;
  const auto before = std::lower_bound(sorted_.begin(), sorted_.end(), there) - sorted_.begin();
  return there + static_cast<int>(first_.size()) - static_cast<int>(before);
}

FabricLink PlacedFabric::link(int id) const {
  FabricLink link = fabric_.link(id);
  for (int* end : {&link.from, &link.to})
    if (*end < fabric_.endpoints()) *end = node_here(*end / nics_) * nics_ + *end % nics_;
  return link;
}

std::vector<int> random_order(int nodes, std::uint64_t seed) {
  std::vector<int> order = first_numbers(nodes);
  for (int i = nodes - 1; i > 0; --i) {  // Fisher and Yates
    const std::uint64_t draw = joined(mixed(seed), static_cast<std::uint64_t>(i));
    std::swap(order[at(i)], order[draw % (at(i) + 1)]);
  }
  return order;
}

std::vector<int> packed_order(const Cluster& cluster, const std::vector<int>& jobs) {
  std::vector<int> order;
  std::vector<bool> taken(at(cluster.nodes()));
  std::set<int> used;  // switches of the jobs before
  int next = 0;
  for (const int nodes : jobs) {
    const auto shares = [&](int node) {
      for (const int vertex : switches_of(cluster, node))
        if (used.count(vertex) > 0) return true;
      return false;
    };
    while (next < cluster.nodes() && shares(next)) ++next;
    std::set<int> own;
    for (int i = 0; i < nodes; ++i, ++next) {
      if (next >= cluster.nodes()) throw InputError("beside: not enough nodes at switches of their own");
      order.push_back(next);
      taken[at(next)] = true;
      own.merge(switches_of(cluster, next));
    }
    used.merge(own);
  }
  for (int node = 0; node < cluster.nodes(); ++node)
    if (!taken[at(node)]) order.push_back(node);
  return order;
}

std::unique_ptr<Cluster> placed_cluster(const Cluster& cluster, const std::vector<int>& first) {
  return std::make_unique<Cluster>(cluster.node(),
                                   std::make_unique<PlacedFabric>(cluster.fabric(), first, cluster.nics()),
                                   cluster.routing(), cluster.nic_ids(), cluster.flows());
}

}  // namespace linkcast
