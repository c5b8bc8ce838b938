#include "sim/congestion/busy_links.hpp"

#include <algorithm>

#include "sim/units/index.hpp"

namespace linkcast::congestion {

void BusyLinks::hold(const NoisyWay& way, int key, double seconds) {
  const auto [pair, fresh] = pair_.try_emplace({way.from_switch, way.to_switch}, pairs_.size());
  if (fresh) {
    pairs_.push_back(way);
    held_.emplace_back();
  }
  held_[pair->second].push_back({link_.try_emplace(key, link_.size()).first->second, seconds});
}

BusyLinks BusyLinks::of_messages(activities::ClusterProblem& made) {
  BusyLinks busy;
  const Problem& problem = made.problem();
  std::map<int, NoisyWay> last;  // by sender
  for (const activities::ClusterProblem::Crossed& crossed : made.crossed()) {
    const NoisyWay way = noisy_way(made.cluster().fabric(), crossed.from, crossed.to);
    const double bytes = problem.activities[static_cast<std::size_t>(crossed.activity)].work_B;
    for (const Use& use : crossed.uses)
      busy.hold(way, use.constraint,
                bytes * use.weight / problem.capacity_Bps[static_cast<std::size_t>(use.constraint)]);
    last[crossed.from] = way;
  }
  for (const auto& [from, way] : last) busy.last_.push_back(way);
  return busy;
}

/// An alltoall, one rank standing for all of its switch.
class BusyLinks::FromAlltoall {
 public:
  FromAlltoall(const Cluster& cluster, const UniformTraffic& traffic)
      : cluster_(cluster),
        traffic_(traffic),
        alltoall_(cluster, traffic),
        ranks_(at(alltoall_.pairs().switches()), 0),
        first_(ranks_) {
    for (int rank = count() - 1; rank >= 0; --rank) {
      const std::size_t here = at(switch_of(rank));
      ++ranks_[here];
      first_[here] = rank;
      busy_.last_.push_back(noisy_way(cluster.fabric(), endpoint(rank), endpoint((rank + count() / 2) % count())));
    }
  }

  BusyLinks take() {
    const int switches = alltoall_.pairs().switches();
    for (int from = 0; from < switches; ++from)
      for (int to = 0; to < switches; ++to) hold_ports(from, to);
    const SwitchPairs::Traffic sums = alltoall_.between_switches();
    alltoall_.pairs().each_pair(sums, [&](int from, int to, const std::vector<WeightedLink>& links) {
      const double bytes = sums.between[at(from) * at(switches) + at(to)];
      for (const WeightedLink& passed : links) hold(way(from, to), passed.link, passed.share * bytes);
    });
    return std::move(busy_);
  }

 private:
  [[nodiscard]] int members() const { return static_cast<int>(traffic_.gpus.size()); }
  [[nodiscard]] int count() const { return traffic_.nodes * members(); }
  [[nodiscard]] int gpu(int rank) const { return traffic_.gpus[at(rank % members())]; }
  [[nodiscard]] int endpoint(int rank) const { return cluster_.endpoint(rank / members(), cluster_.nic_of(gpu(rank))); }
  [[nodiscard]] int switch_of(int rank) const { return alltoall_.pairs().switch_of(at(rank)); }
  /// Crosses no link between switches if they are the same one.
  [[nodiscard]] NoisyWay way(int from, int to) const {
    return from == to ? NoisyWay{} : noisy_way(cluster_.fabric(), endpoint(first_[at(from)]), endpoint(first_[at(to)]));
  }
  /// Of a switch, those that a rank's messages cross the fabric for.
  [[nodiscard]] int peers(int rank, int there) const {
    int own = 0;
    for (int member = 0; member < members(); ++member)
      if (switch_of(rank / members() * members() + member) == there) ++own;
    return ranks_[at(there)] - own;
  }

  void hold(const NoisyWay& way, int link, double bytes) {
    const int key = cluster_.key_of_fabric_link(link);
    busy_.hold(way, key, bytes / cluster_.capacity(key));
  }
  void hold_ports(int from, int to) {
    const double bytes = traffic_.bytes * traffic_.stored;
    const int out = first_[at(from)], in = first_[at(to)];
    hold(way(from, to), alltoall_.pairs().port(at(out)), alltoall_.sharing(gpu(out)) * peers(out, to) * bytes);
    hold(way(from, to), alltoall_.pairs().port(at(in)) ^ 1, alltoall_.sharing(gpu(in)) * peers(in, from) * bytes);
  }

  const Cluster& cluster_;
  const UniformTraffic& traffic_;
  AlltoallTraffic alltoall_;
  std::vector<int> ranks_, first_;  ///< per switch: how many, and one of them
  BusyLinks busy_;
};

BusyLinks BusyLinks::of_alltoall(const Cluster& cluster, const UniformTraffic& traffic) {
  return FromAlltoall(cluster, traffic).take();
}

double BusyLinks::busiest_s(const Slowdown& slowdown) const {
  std::vector<double> seconds(link_.size(), 0);
  for (std::size_t pair = 0; pair < pairs_.size(); ++pair) {
    const double factor = slowdown(pairs_[pair]);
    for (const Held& held : held_[pair]) seconds[held.link] += factor * held.seconds;
  }
  return seconds.empty() ? 0 : *std::max_element(seconds.begin(), seconds.end());
}

}  // namespace linkcast::congestion
