#include <algorithm>
#include <map>
#include <tuple>

#include "sim/placement/cluster_search.hpp"
#include "sim/placement/collective_traffic.hpp"
#include "sim/scheduling/machine.hpp"
#include "sim/units/index.hpp"
#include "sim/units/random.hpp"
#include "sim/units/sequence.hpp"

namespace linkcast::scheduling {
namespace {

// source: ours, below the error of any forecast: not worth leaving groups in pieces for
constexpr double kNotWorth = 0.02;
constexpr int kMostIdle = 300;      // ours: of the idle machine, once for all jobs alike
constexpr int kMostForecasts = 40;  // ours: of one job; a day of 600 jobs takes minutes

/// Jobs of up to a node's GPUs get one node; larger ones as many GPUs of each of several nodes that have these free.
class ClusterMachine final : public Machine {
 public:
  ClusterMachine(catalogue::Catalogue& catalogue, std::string platform_id, int nodes, std::string library)
      : catalogue_(catalogue),
        id_(std::move(platform_id)),
        library_(std::move(library)),
        cluster_(catalogue.cluster(id_)),
        groups_(cluster_),
        node_(node_machine(catalogue, id_, library_)),
        nodes_(nodes) {
    if (nodes_ < 1 || nodes_ > cluster_.nodes())
      throw InputError("nodes: must be 1 to " + std::to_string(cluster_.nodes()) + ", as many as the fabric has");
  }

  [[nodiscard]] int gpus() const override { return nodes_ * node_->gpus(); }
  [[nodiscard]] std::vector<std::string> policies() const override { return node_->policies(); }
  [[nodiscard]] double capacity_Bps(int key) const override { return cluster_.capacity(key); }

  std::optional<std::vector<int>> choose(const std::string& policy, const ScheduledJob& job,
                                         const std::vector<char>& free, const std::vector<const Allocation*>& running,
                                         std::uint64_t seed) override {
    const int count = nodes_for(job), each = job.gpus / count;
    std::vector<char> fits(static_cast<std::size_t>(cluster_.nodes()), 0);
    for (int node = 0; node < nodes_; ++node) fits[at(node)] = free_on(free, node) >= each ? 1 : 0;
    if (std::count(fits.begin(), fits.end(), 1) < count) return std::nullopt;
    if (count == 1) return on_one(policy, job, free, fits, seed);
    std::vector<int> gpus;
    for (const int node : choose_nodes(policy, job, fits, running, seed)) {
      const std::vector<int> taken = free_of(free, node, each);
      gpus.insert(gpus.end(), taken.begin(), taken.end());
    }
    return gpus;
  }

  placement::Traffic traffic(const ScheduledJob& job, const std::vector<int>& gpus) override {
    if (job.op.empty() || gpus.size() < 2) return {};
    const int of_node = node_->gpus();
    collective::PlacedNodes where;
    for (const int gpu : gpus) {
      if (where.nodes.empty() || where.nodes.back() != gpu / of_node) where.nodes.push_back(gpu / of_node);
      if (where.nodes.size() == 1) where.gpus.push_back(gpu % of_node);
    }
    if (where.nodes.size() > 1) return over(job, where);
    placement::Traffic inside = node_->traffic(job, where.gpus);
    for (Activity& flow : inside.flows)
      for (Use& use : flow.uses)
        if (!activities::is_own_limit(use.constraint))
          use.constraint = cluster_.key(where.nodes.front(), use.constraint);
    return inside;
  }

  double best_s(const ScheduledJob& job) override {
    if (job.op.empty() || job.gpus < 2) return 0;
    const int count = nodes_for(job);
    if (count == 1) return node_->best_s(job);
    const auto [known, added] = best_s_.try_emplace({job.op, job.size_B, job.gpus});
    if (added) {
      std::vector<char> fits(static_cast<std::size_t>(cluster_.nodes()), 0);
      std::fill(fits.begin(), fits.begin() + nodes_, 1);
      known->second = search(job, fits, {}, kMostIdle).choices.front().time_s;
    }
    return known->second;
  }

 private:
  [[nodiscard]] int nodes_for(const ScheduledJob& job) const {
    const int of_node = node_->gpus();
    if (job.gpus <= of_node) return 1;
    if (job.gpus % of_node != 0)
      throw InputError("job " + job.id + " wants " + std::to_string(job.gpus) + " GPUs: over nodes, a multiple of " +
                       std::to_string(of_node));
    return job.gpus / of_node;
  }
  [[nodiscard]] int free_on(const std::vector<char>& free, int node) const {
    const auto begin = free.begin() + static_cast<std::ptrdiff_t>(node) * node_->gpus();
    return static_cast<int>(std::count(begin, begin + node_->gpus(), 1));
  }
  [[nodiscard]] std::vector<char> mask_of(const std::vector<char>& free, int node) const {
    const auto begin = free.begin() + static_cast<std::ptrdiff_t>(node) * node_->gpus();
    return {begin, begin + node_->gpus()};
  }
  [[nodiscard]] std::vector<int> free_of(const std::vector<char>& free, int node, int count) const {
    std::vector<int> gpus;
    for (int gpu = node * node_->gpus(); static_cast<int>(gpus.size()) < count; ++gpu)
      if (free[at(gpu)] != 0) gpus.push_back(gpu);
    return gpus;
  }

  /// linkcast: the node whose best set is fastest, then the fullest, then one whose switch has least room anyway.
  std::vector<int> on_one(const std::string& policy, const ScheduledJob& job, const std::vector<char>& free,
                          const std::vector<char>& fits, std::uint64_t seed) {
    std::vector<int> open;
    for (int node = 0; node < nodes_; ++node)
      if (fits[at(node)] != 0) open.push_back(node);
    int best = open.front();
    if (policy == "random") best = open[joined(seed, open.size()) % open.size()];
    if (policy == "packed" || policy == "spread" || policy == "linkcast") {
      std::map<int, int> room;  // whole nodes that are free, by nearest group
      for (int node = 0; node < nodes_; ++node)
        room[groups_.group(0, node)] += free_on(free, node) == node_->gpus() ? 1 : 0;
      const auto rank = [&](int node) {
        const int left = free_on(free, node);
        const double time_s = policy == "linkcast" ? set_s(job, mask_of(free, node)) : 0;
        return std::make_tuple(time_s, policy == "spread" ? -left : left, room[groups_.group(0, node)], node);
      };
      best = *std::min_element(open.begin(), open.end(), [&](int a, int b) { return rank(a) < rank(b); });
    }
    std::vector<int> gpus = *node_->choose(policy, job, mask_of(free, best), {}, seed);
    for (int& gpu : gpus) gpu += best * node_->gpus();
    return gpus;
  }
  /// Of one call on the best of these GPUs of a node.
  double set_s(const ScheduledJob& job, const std::vector<char>& mask) {
    const auto [known, added] = set_s_.try_emplace({job.op, job.size_B, job.gpus, mask});
    if (added) known->second = node_->traffic(job, *node_->choose("linkcast", job, mask, {}, 0)).alone_s;
    return known->second;
  }

  std::vector<int> choose_nodes(const std::string& policy, const ScheduledJob& job, const std::vector<char>& fits,
                                const std::vector<const Allocation*>& running, std::uint64_t seed) {
    const int count = nodes_for(job);
    if (policy == "packed") return placement::packed_nodes(groups_, fits, count);
    if (policy == "spread") return placement::spread_nodes(groups_, fits, count);
    if (policy == "random") return placement::random_nodes(fits, count, seed);
    if (policy != "linkcast" || job.op.empty()) return placement::first_nodes(fits, count);
    std::vector<placement::Background> others;
    for (const Allocation* one : running)
      if (!one->traffic.flows.empty()) others.push_back({&one->traffic, one->iteration_s, one->compute_s});
    return search(job, fits, std::move(others), kMostForecasts).first_within(kNotWorth).nodes;
  }

  placement::ClusterSearch search(const ScheduledJob& job, const std::vector<char>& fits,
                                  std::vector<placement::Background> others, int most_forecasts) {
    const std::vector<int> all = first_numbers(node_->gpus());
    return placement::search_cluster({cluster_, groups_,
                                      [&](const std::vector<int>& nodes) {
                                        return over(job, {nodes, all});
                                      },
                                      nodes_for(job), fits, std::move(others), placement::PlaceObjective::kBoth,
                                      most_forecasts, job.compute_s});
  }

  /// Remembered: the same nodes are looked at again and again.
  placement::Traffic over(const ScheduledJob& job, const collective::PlacedNodes& where) {
    const auto [known, added] = over_.try_emplace({job.op, job.size_B, where.nodes, where.gpus});
    if (added) known->second = placement::nodes_traffic(catalogue_, id_, library_, job.op, job.size_B, where);
    return known->second;
  }

  catalogue::Catalogue& catalogue_;
  std::string id_, library_;
  const Cluster& cluster_;
  placement::FabricGroups groups_;
  std::unique_ptr<Machine> node_;
  int nodes_;
  std::map<std::tuple<std::string, double, int>, double> best_s_;
  std::map<std::tuple<std::string, double, int, std::vector<char>>, double> set_s_;
  std::map<std::tuple<std::string, double, std::vector<int>, std::vector<int>>, placement::Traffic> over_;
};

}  // namespace

std::unique_ptr<Machine> cluster_machine(catalogue::Catalogue& catalogue, const std::string& platform_id, int nodes,
                                         const std::string& library) {
  return std::make_unique<ClusterMachine>(catalogue, platform_id, nodes, library);
}

}  // namespace linkcast::scheduling
