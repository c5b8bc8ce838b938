#include "sim/congestion/busy_links.hpp"

#include <algorithm>
#include <set>

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
        ends_(at(alltoall_.pairs().switches()), std::vector<int>(traffic.gpus.size(), 0)),
        first_(ends_.size(), 0) {
    for (int rank = count() - 1; rank >= 0; --rank) {
      const std::size_t here = at(switch_of(rank));
      ++ends_[here][at(rank % members())];
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
  [[nodiscard]] int endpoint(int rank) const {
    return cluster_.endpoint(rank / members(), alltoall_.nic(at(rank % members())));
  }
  [[nodiscard]] int switch_of(int rank) const { return alltoall_.pairs().switch_of(at(rank)); }
  /// Crosses no link between switches if they are the same one.
  [[nodiscard]] NoisyWay way(int from, int to) const {
    return from == to ? NoisyWay{} : noisy_way(cluster_.fabric(), endpoint(first_[at(from)]), endpoint(first_[at(to)]));
  }
  /// Messages that leave by the NIC of a rank, or come by it, for NICs of a switch in other nodes.
  [[nodiscard]] double messages(int rank, int there, bool sends) const {
    double sum = 0;
    std::set<int> counted;  // members may share a NIC
    for (int member = 0; member < members(); ++member) {
      if (!counted.insert(alltoall_.nic(at(member))).second) continue;
      const auto own = at(rank % members()), other = at(member);
      const int each = sends ? alltoall_.crossing(own, other) : alltoall_.crossing(other, own);
      if (each == 0) continue;
      int away = ends_[at(there)][at(member)];
      if (switch_of(rank / members() * members() + member) == there) --away;
      sum += each * away;
    }
    return sum;
  }

  void hold(const NoisyWay& way, int link, double bytes) {
    const int key = cluster_.key_of_fabric_link(link);
    busy_.hold(way, key, bytes / cluster_.capacity(key));
  }
  void hold_ports(int from, int to) {
    const double bytes = traffic_.bytes * traffic_.stored;
    const int out = first_[at(from)], in = first_[at(to)];
    hold(way(from, to), alltoall_.pairs().port(at(out)), messages(out, to, true) * bytes);
    hold(way(from, to), alltoall_.pairs().port(at(in)) ^ 1, messages(in, from, false) * bytes);
  }

  const Cluster& cluster_;
  const UniformTraffic& traffic_;
  AlltoallTraffic alltoall_;
  std::vector<std::vector<int>> ends_;  ///< per switch: how many ranks of each member
  std::vector<int> first_;              ///< per switch: one of its ranks
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
