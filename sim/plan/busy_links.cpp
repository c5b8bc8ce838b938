#include "sim/plan/busy_links.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "sim/base/index.hpp"

namespace linkcast::congestion {
namespace {

constexpr double kRounded = 1 + 1e-9;  // source: ours, against rounding

}  // namespace

std::size_t BusyLinks::pair_of(const NoisyWay& way) {
  const auto [pair, fresh] = pair_.try_emplace({way.from_switch, way.to_switch}, pairs_.size());
  if (fresh) {
    pairs_.push_back(way);
    of_pair_.emplace_back();
  }
  return pair->second;
}

void BusyLinks::hold(std::size_t pair, int key, double seconds) {
  int& link = link_[key];
  if (link < 0) {
    link = static_cast<int>(links_.size());
    links_.emplace_back();
  }
  of_pair_[pair].push_back({link, static_cast<int>(pair), seconds});
}

void BusyLinks::arrange() {
  std::vector<std::size_t> count(links_.size(), 0), order(links_.size()), place(links_.size());
  for (const std::vector<Held>& of_pair : of_pair_)
    for (const Held& held : of_pair) {
      ++count[at(held.link)];
      links_[at(held.link)].seconds += held.seconds;
    }
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return links_[a].seconds > links_[b].seconds; });
  std::vector<Link> arranged;
  std::size_t end = 0;
  for (const std::size_t link : order) {
    place[link] = end;
    arranged.push_back({links_[link].seconds, end += count[link]});
  }
  held_.resize(end);
  for (const std::vector<Held>& of_pair : of_pair_)
    for (const Held& held : of_pair) held_[place[at(held.link)]++] = held;
  of_pair_.clear();
  links_ = std::move(arranged);
}

BusyLinks BusyLinks::of_messages(activities::ClusterProblem& made) {
  BusyLinks busy;
  const Problem& problem = made.problem();
  std::map<int, NoisyWay> last;  // by sender
  for (const activities::ClusterProblem::Crossed& crossed : made.crossed()) {
    const NoisyWay way = noisy_way(made.cluster().fabric(), crossed.from, crossed.to);
    const double bytes = problem.activities[at(crossed.activity)].work_B;
    const std::size_t pair = busy.pair_of(way);
    for (const Use& use : crossed.uses)
      busy.hold(pair, use.constraint, bytes * use.weight / problem.capacity_Bps[at(use.constraint)]);
    last[crossed.from] = way;
  }
  for (const auto& [from, way] : last) busy.last_.push_back(way);
  busy.arrange();
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
        first_(ends_.size(), 0),
        capacity_Bps_(at(cluster.fabric().links()), 0) {
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
      if (links.empty()) return;
      const std::size_t pair = busy_.pair_of(way(from, to));
      for (const WeightedLink& passed : links) hold(pair, passed.link, passed.share * bytes);
    });
    busy_.arrange();
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

  void hold(std::size_t pair, int link, double bytes) {
    const int key = cluster_.key_of_fabric_link(link);
    double& capacity_Bps = capacity_Bps_[at(link)];
    if (capacity_Bps == 0) capacity_Bps = cluster_.capacity(key);
    busy_.hold(pair, key, bytes / capacity_Bps);
  }
  void hold_ports(int from, int to) {
    const double bytes = traffic_.bytes * traffic_.stored;
    const int out = first_[at(from)], in = first_[at(to)];
    const std::size_t pair = busy_.pair_of(way(from, to));
    hold(pair, alltoall_.pairs().port(at(out)), messages(out, to, true) * bytes);
    hold(pair, alltoall_.pairs().port(at(in)) ^ 1, messages(in, from, false) * bytes);
  }

  const Cluster& cluster_;
  const UniformTraffic& traffic_;
  AlltoallTraffic alltoall_;
  std::vector<std::vector<int>> ends_;  ///< per switch: how many ranks of each member
  std::vector<int> first_;              ///< per switch: one of its ranks
  std::vector<double> capacity_Bps_;    ///< per link of the fabric, of those that were asked for
  BusyLinks busy_;
};

BusyLinks BusyLinks::of_alltoall(const Cluster& cluster, const UniformTraffic& traffic) {
  return FromAlltoall(cluster, traffic).take();
}

double BusyLinks::busiest_s(const Slowdown& slowdown) const {
  std::vector<double> factors;
  for (const NoisyWay& pair : pairs_) factors.push_back(slowdown(pair));
  const double most = factors.empty() ? 1 : kRounded * *std::max_element(factors.begin(), factors.end());
  double most_s = 0;
  std::size_t i = 0;
  for (const Link& link : links_) {
    if (most * link.seconds < most_s) break;  // as busy as the busiest can only be one that is not far from it
    double seconds = 0;
    for (; i < link.end; ++i) seconds += factors[at(held_[i].pair)] * held_[i].seconds;
    most_s = std::max(most_s, seconds);
  }
  return most_s;
}

}  // namespace linkcast::congestion
