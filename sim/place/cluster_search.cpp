#include "sim/place/cluster_search.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "sim/base/limits.hpp"
#include "sim/place/objective.hpp"

namespace linkcast::placement {
namespace {

constexpr double kNearBound = 1e-3;  // source: ours: what a better placement could still gain is not worth a forecast

class Search {
 public:
  explicit Search(const ClusterQuestion& question) : q_(question) {
    for (std::size_t i = 0; i < q_.others.size(); ++i)
      found_.others_before_s.push_back(call_s(*q_.others[i].traffic, others_but(i, nullptr), capacity()));
  }

  ClusterSearch run() {
    evaluate("packed", packed_nodes(q_.groups, q_.free, q_.nodes));
    found_.bound_s = bytes_bound_s(q_.cluster, found_.choices.front().traffic);
    evaluate("first-fit", first_nodes(q_.free, q_.nodes));
    if (!good_enough()) evaluate("spread", spread_nodes(q_.groups, q_.free, q_.nodes));
    for (const std::vector<int>& nodes : in_few_groups()) {
      if (good_enough() || found_.evaluated >= q_.most_forecasts) break;
      evaluate("packed", nodes);
    }
    improve();
    return std::move(found_);
  }

 private:
  [[nodiscard]] Capacity capacity() const {
    return [this](int key) { return q_.cluster.capacity(key); };
  }
  /// All that runs beside one of the others.
  [[nodiscard]] std::vector<Background> others_but(std::size_t one, const Background* job) const {
    std::vector<Background> beside;
    for (std::size_t i = 0; i < q_.others.size(); ++i)
      if (i != one) beside.push_back(q_.others[i]);
    if (job != nullptr) beside.push_back(*job);
    return beside;
  }

  void evaluate(const std::string& rule, const std::vector<int>& nodes) {
    work::look();
    if (!seen_.insert(nodes).second) return;
    ClusterChoice choice{rule, nodes, q_.traffic_on(nodes)};
    choice.built = found_.evaluated++;
    choice.time_s = call_s(choice.traffic, q_.others, capacity());
    const Background job{&choice.traffic, q_.compute_s + choice.time_s, q_.compute_s};
    for (std::size_t i = 0; i < q_.others.size() && q_.objective != PlaceObjective::kTime; ++i) {
      choice.others_s.push_back(call_s(*q_.others[i].traffic, others_but(i, &job), capacity()));
      const double compute_s = q_.others[i].compute_s;
      choice.loss += (compute_s + choice.others_s.back()) / (compute_s + found_.others_before_s[i]) - 1;
    }
    choice.cost = q_.objective == PlaceObjective::kTime         ? choice.time_s
                  : q_.objective == PlaceObjective::kNeighbours ? choice.loss
                                                                : choice.loss + own_share(choice);
    // Of equally good ones the one that was built first stays: packed keeps groups whole.
    const auto place = std::find_if(found_.choices.begin(), found_.choices.end(),
                                    [&](const ClusterChoice& other) { return choice.cost < other.cost * (1 - kSame); });
    found_.choices.insert(place, std::move(choice));
  }
  /// One scale for all: an iteration alone on the first choice.
  double own_share(const ClusterChoice& choice) {
    if (scale_s_ == 0) scale_s_ = q_.compute_s + choice.traffic.alone_s;
    return (q_.compute_s + choice.time_s) / scale_s_;
  }

  [[nodiscard]] bool good_enough() const {
    const ClusterChoice& best = found_.choices.front();
    const bool fast = best.time_s <= found_.bound_s * (1 + kNearBound);
    return q_.objective == PlaceObjective::kTime ? fast
           : best.loss > kSame                   ? false
                                                 : fast || q_.objective == PlaceObjective::kNeighbours;
  }

  /// The job in each group that holds it, nearest groups first; where none does, in each two that do: cables between
  /// two groups may end at other switches than those between other two.
  [[nodiscard]] std::vector<std::vector<int>> in_few_groups() const {
    std::vector<std::vector<int>> all;
    for (int level = 0; level < q_.groups.levels(); ++level) {
      std::map<int, std::vector<char>> of_group;
      for (int node = 0; node < q_.groups.nodes(); ++node) {
        if (q_.free[static_cast<std::size_t>(node)] == 0) continue;
        auto& mask = of_group[q_.groups.group(level, node)];
        mask.resize(q_.free.size(), 0);
        mask[static_cast<std::size_t>(node)] = 1;
      }
      const std::size_t before = all.size();
      for (const auto& [group, mask] : of_group) add_packed(mask, all);
      if (all.size() > before) continue;
      for (auto one = of_group.begin(); one != of_group.end(); ++one)
        for (auto two = std::next(one); two != of_group.end(); ++two) {
          std::vector<char> mask = one->second;
          for (std::size_t node = 0; node < mask.size(); ++node) mask[node] |= two->second[node];
          add_packed(mask, all);
        }
    }
    return all;
  }
  void add_packed(const std::vector<char>& mask, std::vector<std::vector<int>>& all) const {
    work::look();
    if (std::count(mask.begin(), mask.end(), 1) >= q_.nodes) all.push_back(packed_nodes(q_.groups, mask, q_.nodes));
  }

  /// Changes one node of the best choice for a free one as long as that helps.
  void improve() {
    for (bool better = true; better && !good_enough();) {
      better = false;
      const ClusterChoice best = found_.choices.front();
      for (std::size_t i = 0; i < best.nodes.size() && !better; ++i)
        for (const int node : one_of_each_group(best.nodes)) {
          if (found_.evaluated >= q_.most_forecasts) return;
          std::vector<int> nodes = best.nodes;
          nodes[i] = node;
          std::sort(nodes.begin(), nodes.end());
          evaluate("improved", nodes);
          if (found_.choices.front().nodes == best.nodes) continue;
          better = true;
          break;
        }
    }
  }
  /// A free node of each nearest group, that the job does not have.
  [[nodiscard]] std::vector<int> one_of_each_group(const std::vector<int>& taken) const {
    std::map<int, int> node_of;
    for (int node = 0; node < q_.groups.nodes(); ++node)
      if (q_.free[static_cast<std::size_t>(node)] != 0 && std::find(taken.begin(), taken.end(), node) == taken.end())
        node_of.try_emplace(q_.groups.group(0, node), node);
    std::vector<int> nodes;
    for (const auto& [group, node] : node_of) nodes.push_back(node);
    return nodes;
  }

  const ClusterQuestion& q_;
  ClusterSearch found_;
  std::set<std::vector<int>> seen_;
  double scale_s_ = 0;
};

}  // namespace

const ClusterChoice& ClusterSearch::first_within(double share) const {
  const ClusterChoice* first = &choices.front();
  for (const ClusterChoice& choice : choices)
    if (choice.cost <= choices.front().cost * (1 + share) && choice.built < first->built) first = &choice;
  return *first;
}

ClusterSearch search_cluster(const ClusterQuestion& question) { return Search(question).run(); }

double bytes_bound_s(const Cluster& cluster, const Traffic& traffic) {
  const int first_link = cluster.key_of_fabric_link(0), endpoints = cluster.fabric().endpoints();
  std::map<int, double> bytes;
  double bound_s = 0;
  for (const Activity& flow : traffic.flows) {
    work::look();
    for (const Use& use : flow.uses)
      if (!activities::is_own_limit(use.constraint)) bytes[use.constraint] += flow.work_B * use.weight;
  }
  for (const auto& [key, sum_B] : bytes) {
    if (key >= first_link && key < cluster.first_engine_key()) {
      const FabricLink link = cluster.fabric().link(key - first_link);
      if (link.from >= endpoints && link.to >= endpoints) continue;
    }
    bound_s = std::max(bound_s, sum_B / cluster.capacity(key));
  }
  return bound_s;
}

}  // namespace linkcast::placement
