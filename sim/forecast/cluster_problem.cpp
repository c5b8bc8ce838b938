#include "sim/forecast/cluster_problem.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace linkcast {

void ClusterProblem::use(int key, double weight) {
  const auto [entry, fresh] = number_.try_emplace(key, static_cast<int>(keys_.size()));
  if (fresh) {
    keys_.push_back(key);
    place_.push_back(-1);
    problem_.capacity_Bps.push_back(cluster_->capacity(key));
  }
  int& place = place_[static_cast<std::size_t>(entry->second)];
  if (place < 0) {
    place = static_cast<int>(uses_.size());
    uses_.push_back({entry->second, 0});
  }
  uses_[static_cast<std::size_t>(place)].weight += weight;
}

void ClusterProblem::pass_node(int node, const std::vector<int>& links, MoveBy by, double weight) {
  for (const Use& one : node_.uses(links, by)) use(cluster_->key(node, one.constraint), one.weight * weight);
}

void ClusterProblem::pass_fabric(int from_endpoint, int to_endpoint, double weight) {
  way_.clear();
  add_fabric_links(cluster_->fabric(), spread_.routing, from_endpoint, to_endpoint, way_, spread_.most_ways);
  for (const WeightedLink& passed : way_) use(cluster_->key_of_fabric_link(passed.link), passed.share * weight);
}

void ClusterProblem::pass_network(ClusterGpu from, ClusterGpu to, double weight) {
  pass_node(from.node, cluster_->to_nic(from.gpu).links, MoveBy::kDma, weight);
  pass_fabric(cluster_->endpoint(from.node, cluster_->nic_of(from.gpu)),
              cluster_->endpoint(to.node, cluster_->nic_of(to.gpu)), weight);
  pass_node(to.node, cluster_->from_nic(to.gpu).links, MoveBy::kDma, weight);
}

double ClusterProblem::lone_rate() const {
  double rate = std::numeric_limits<double>::infinity();
  for (const Use& one : uses_)
    rate = std::min(rate, problem_.capacity_Bps[static_cast<std::size_t>(one.constraint)] / one.weight);
  return rate;
}

int ClusterProblem::add(Activity activity) {
  for (const Use& one : uses_) place_[static_cast<std::size_t>(one.constraint)] = -1;
  activity.uses = std::move(uses_);
  uses_.clear();
  problem_.activities.push_back(std::move(activity));
  return static_cast<int>(problem_.activities.size()) - 1;
}

}  // namespace linkcast
