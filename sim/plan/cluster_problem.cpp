#include "sim/plan/cluster_problem.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "sim/base/index.hpp"
#include "sim/base/limits.hpp"
#include "sim/engine/plan_record.hpp"
#include "sim/plan/fabric_traffic.hpp"
#include "sim/plan/host_memory.hpp"
#include "sim/plan/link_name.hpp"
#include "sim/plan/wire_bound.hpp"

namespace linkcast::activities {

void ClusterProblem::include_node(int node) {
  const std::vector<double>& capacity_Bps = node_.problem().capacity_Bps;
  if (!number_.empty()) {  // some of the node's may have their numbers already
    for (int i = 0; i < static_cast<int>(capacity_Bps.size()); ++i) number(cluster_->key(node, i));
    return;
  }
  if (static_cast<int>(first_.size()) <= node) first_.resize(static_cast<std::size_t>(node) + 1, -1);
  int& first = first_[static_cast<std::size_t>(node)];
  if (first >= 0) return;
  first = static_cast<int>(keys_.size());
  keys_.resize(keys_.size() + capacity_Bps.size());
  std::iota(keys_.begin() + first, keys_.end(), cluster_->key(node, 0));
  place_.resize(keys_.size(), -1);
  problem_.capacity_Bps.insert(problem_.capacity_Bps.end(), capacity_Bps.begin(), capacity_Bps.end());
}

void ClusterProblem::include_used(int node, std::vector<Use> uses) {
  std::sort(uses.begin(), uses.end(), [](const Use& a, const Use& b) { return a.constraint < b.constraint; });
  for (const Use& one : uses) number(cluster_->key(node, one.constraint));
}

int ClusterProblem::number(int key) {
  if (!first_.empty()) {
    const int node = key / cluster_->key(1, 0);  // of what is not of a node it is beyond the last
    const int first = first_of(node);
    if (first >= 0) return first + key - cluster_->key(node, 0);
  }
  int& constraint = number_[key];
  if (constraint < 0) {
    constraint = static_cast<int>(keys_.size());
    keys_.push_back(key);
    place_.push_back(-1);
    problem_.capacity_Bps.push_back(cluster_->capacity(key));
  }
  return constraint;
}

void ClusterProblem::take(int constraint, double weight) {
  int& place = place_[static_cast<std::size_t>(constraint)];
  if (place < 0) {
    place = static_cast<int>(uses_.size());
    uses_.push_back({constraint, 0});
  }
  uses_[static_cast<std::size_t>(place)].weight += weight;
  if (within_) crossed_.back().uses.push_back({constraint, weight});
}

int ClusterProblem::add_in_node(int node, Activity activity, const std::vector<Use>& idle) {
  pass_constraints(node, activity.uses);
  for (const Use& one : idle) idle_.push_back({number(cluster_->key(node, one.constraint)), one.weight});
  return add(std::move(activity));
}

void ClusterProblem::pass_node(int node, const std::vector<int>& links, MoveBy by, double weight) {
  for (const Use& one : node_.uses(links, by)) use(cluster_->key(node, one.constraint), one.weight * weight);
}

void ClusterProblem::pass_host_memory(int node, const std::vector<int>& links, double bytes) {
  for (const Use& one : host_memory_uses(cluster_->node(), links, bytes))
    use(cluster_->key(node, one.constraint), one.weight);
}

void ClusterProblem::pass_constraints(int node, const std::vector<Use>& uses, double wire_share) {
  const int first = first_of(node);
  for (const Use& one : uses) {
    const int constraint = first >= 0 ? first + one.constraint : number(cluster_->key(node, one.constraint));
    take(constraint, one.weight);
    if (wire_share < 1) idle_.push_back({constraint, one.weight * (1 - wire_share)});
  }
}

void ClusterProblem::pass_fabric(int from_endpoint, int to_endpoint, double weight) {
  way_.clear();
  if (cluster_->routing() != FabricRouting::kAdaptive) {
    add_fabric_links(cluster_->fabric(), cluster_->routing(), from_endpoint, to_endpoint, way_, most_ways_,
                     cluster_->flows());
    if (cluster_->routing() == FabricRouting::kEcmp)
      hashed_.push_back({static_cast<int>(problem_.activities.size()), from_endpoint, to_endpoint, weight});
    if (keeps_) crossed_.push_back({static_cast<int>(problem_.activities.size()), from_endpoint, to_endpoint, weight});
    within_ = keeps_;
    for (const WeightedLink& passed : way_) use(cluster_->key_of_fabric_link(passed.link), passed.share * weight);
    within_ = false;
    return;
  }
  crossings_.push_back({static_cast<int>(problem_.activities.size()), from_endpoint, to_endpoint, weight});
  whole_.clear();
  cluster_->fabric().minimal_way(from_endpoint, to_endpoint, 0, whole_);
  for (const int port : {whole_.front(), whole_.back()})
    port_rate_ = std::min(port_rate_, cluster_->capacity(cluster_->key_of_fabric_link(port)) / weight);
}

void ClusterProblem::pass_engines(int from_endpoint, int to_endpoint, double weight) {
  if (cluster_->has_engine(from_endpoint)) use(cluster_->key_of_engine(from_endpoint, true), weight);
  if (cluster_->has_engine(to_endpoint)) use(cluster_->key_of_engine(to_endpoint, false), weight);
}

void ClusterProblem::start_in_engine(int from_endpoint, double weight) {
  if (weight > 0) use(cluster_->key_of_engine(from_endpoint, false), weight);
}

void ClusterProblem::pass_network(const NetworkEnd& from, const NetworkEnd& to, double weight) {
  pass_node(from.gpu.node, links_out(*cluster_, from), MoveBy::kDma, weight);
  pass_fabric(cluster_->endpoint(from.gpu.node, from.nic), cluster_->endpoint(to.gpu.node, to.nic), weight);
  pass_node(to.gpu.node, links_in(*cluster_, to), MoveBy::kDma, weight);
}

double ClusterProblem::lone_rate() const {
  double rate = port_rate_;
  for (const Use& one : uses_)
    rate = std::min(rate, problem_.capacity_Bps[static_cast<std::size_t>(one.constraint)] / one.weight);
  return rate;
}

int ClusterProblem::add(Activity activity) {
  work::look();
  for (const Use& one : uses_) place_[static_cast<std::size_t>(one.constraint)] = -1;
  activity.uses.assign(uses_.begin(), uses_.end());
  for (const int queue : activity.queues) problem_.queue_count = std::max(problem_.queue_count, queue + 1);
  uses_.clear();
  for (const Use& one : idle_) idle_B_[one.constraint] += one.weight * activity.work_B;
  idle_.clear();
  port_rate_ = std::numeric_limits<double>::infinity();
  problem_.activities.push_back(std::move(activity));
  return static_cast<int>(problem_.activities.size()) - 1;
}

const Problem& ClusterProblem::problem() {
  settle();
  if (PlanRecord* record = PlanRecord::current())
    record->name_links(problem_, [this](int constraint) {
      return link_name(*cluster_, keys_[at(constraint)], cluster_->nodes() > 1);
    });
  return problem_;
}

double ClusterProblem::wire_bound_s() {
  std::vector<double> wire_B = loads_B();
  for (const auto& [constraint, bytes] : idle_B_) wire_B[at(constraint)] -= bytes;
  double bound_s = 0, hashed_s = 0;
  for (std::size_t i = 0; i < wire_B.size(); ++i) {
    if (wire_B[i] <= 0) continue;
    double& bound = is_hashed(*cluster_, keys_[i]) ? hashed_s : bound_s;
    bound = std::max(bound, wire_B[i] / nominal_Bps(*cluster_, keys_[i]));
  }
  if (hashed_s > bound_s) hashed_s = std::min(hashed_s, spread_bound_s());
  return std::max(bound_s, hashed_s);
}

void add_loads(const Problem& problem, std::vector<double>& loads_B) {
  std::vector<double> of_trunks_B(problem.trunks.size(), 0);
  for (const Activity& activity : problem.activities) {
    for (const Use& use : activity.uses) loads_B[at(use.constraint)] += use.weight * activity.work_B;
    if (activity.trunk != kNoTrunk) of_trunks_B[at(activity.trunk)] += activity.work_B;
  }
  for (std::size_t t = 0; t < of_trunks_B.size(); ++t)
    for (const Use& use : problem.trunks[t]) loads_B[at(use.constraint)] += use.weight * of_trunks_B[t];
}

/// Bound by links between switches, if what is hashed shared all its shortest routes evenly.
double ClusterProblem::spread_bound_s() const {
  std::map<std::pair<int, int>, double> bytes_of;  // by ends
  for (const FabricCrossing& one : hashed_)
    bytes_of[{one.from, one.to}] += one.weight * problem_.activities[at(one.activity)].work_B;
  std::map<int, double> wire_B;  // by key
  std::vector<WeightedLink> links;
  for (const auto& [ends, bytes] : bytes_of) {
    work::look();
    links.clear();
    add_fabric_links(cluster_->fabric(), FabricRouting::kAdaptive, ends.first, ends.second, links);
    for (const WeightedLink& one : links) wire_B[cluster_->key_of_fabric_link(one.link)] += one.share * bytes;
  }
  double bound_s = 0;
  for (const auto& [key, bytes] : wire_B)
    if (is_hashed(*cluster_, key)) bound_s = std::max(bound_s, bytes / nominal_Bps(*cluster_, key));
  return bound_s;
}

double ClusterProblem::links_bound_s() {
  const std::vector<double> loads = loads_B();
  double bound_s = 0;
  for (std::size_t i = 0; i < loads.size(); ++i) bound_s = std::max(bound_s, loads[i] / problem_.capacity_Bps[i]);
  return bound_s;
}

std::vector<double> ClusterProblem::loads_B() {
  std::vector<double> loads(problem().capacity_Bps.size(), 0);
  add_loads(problem_, loads);
  return loads;
}

void ClusterProblem::pass_way(const std::vector<int>& fabric_links, double weight) {
  for (const int link : fabric_links) use(cluster_->key_of_fabric_link(link), weight);
}

void ClusterProblem::add_uses(int activity, const std::function<void()>& pass) {
  work::look();
  std::vector<Use>& own = problem_.activities[static_cast<std::size_t>(activity)].uses;
  uses_.assign(own.begin(), own.end());
  for (std::size_t i = 0; i < uses_.size(); ++i)
    place_[static_cast<std::size_t>(uses_[i].constraint)] = static_cast<int>(i);
  pass();
  for (const Use& one : uses_) place_[static_cast<std::size_t>(one.constraint)] = -1;
  own.assign(uses_.begin(), uses_.end());
  uses_.clear();
}

/// Ports at both ends become uses of the next activity, the rest is the trunk.
int ClusterProblem::trunk_of(const FabricCrossing& crossing, double detoured, int choices) {
  const Fabric& fabric = cluster_->fabric();
  whole_.clear();
  fabric.minimal_way(crossing.from, crossing.to, 0, whole_);
  const int out = whole_.front(), in = whole_.back();
  use(cluster_->key_of_fabric_link(out), crossing.weight);
  use(cluster_->key_of_fabric_link(in), crossing.weight);
  const auto [known, fresh] = trunk_of_.try_emplace({fabric.link(out).to, fabric.link(in).from, crossing.weight},
                                                    static_cast<int>(problem_.trunks.size()));
  if (!fresh) return known->second;
  std::vector<WeightedLink> links;
  add_adaptive_links(fabric, crossing.from, crossing.to, {detoured, choices}, links);
  std::map<int, double> weights;
  for (const WeightedLink& passed : links)
    if (passed.link != out && passed.link != in)
      weights[number(cluster_->key_of_fabric_link(passed.link))] += passed.share * crossing.weight;
  std::vector<Use>& trunk = problem_.trunks.emplace_back();
  for (const auto& [constraint, weight] : weights) trunk.push_back({constraint, weight});
  return known->second;
}

void ClusterProblem::settle() {
  if (crossings_.empty()) return;
  const Fabric& fabric = cluster_->fabric();
  const CrossingDemands crossed =
      demands_of(crossings_, [&](int activity) { return problem_.activities[at(activity)].work_B; });
  const auto busy_s = [&](int link) { return 1 / cluster_->capacity(cluster_->key_of_fabric_link(link)); };
  const Detours detours = endpoint_detours(fabric, busy_s, crossed.demands);
  const auto pass = [&](std::size_t i) {
    const FabricCrossing& crossing = crossings_[i];
    const double detoured = detours.shares[crossed.of_crossing[i]];
    if (shares_) {
      problem_.activities[at(crossing.activity)].trunk = trunk_of(crossing, detoured, detours.choices);
      return;
    }
    way_.clear();
    add_adaptive_links(fabric, crossing.from, crossing.to, {detoured, detours.choices, most_ways_}, way_);
    for (const WeightedLink& passed : way_)
      use(cluster_->key_of_fabric_link(passed.link), passed.share * crossing.weight);
  };
  for (std::size_t first = 0; first < crossings_.size();) {
    std::size_t last = first;
    while (last < crossings_.size() && crossings_[last].activity == crossings_[first].activity) ++last;
    add_uses(crossings_[first].activity, [&] {
      for (std::size_t i = first; i < last; ++i) {
        if (keeps_)
          crossed_.push_back({crossings_[i].activity, crossings_[i].from, crossings_[i].to, crossings_[i].weight});
        within_ = keeps_;
        pass(i);
        within_ = false;
      }
    });
    first = last;
  }
  if (keeps_adaptive_) adaptive_.insert(adaptive_.end(), crossings_.begin(), crossings_.end());
  crossings_.clear();
}

}  // namespace linkcast::activities
