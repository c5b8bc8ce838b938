#include "sim/forecast/busy_links.hpp"

#include <algorithm>

#include "sim/forecast/alltoall_parts.hpp"

namespace linkcast {

void BusyLinks::hold(const NoisyWay& way, int key, double seconds) {
  const auto [pair, fresh] = pair_.try_emplace({way.from_switch, way.to_switch}, pairs_.size());
  if (fresh) {
    pairs_.push_back(way);
    held_.emplace_back();
  }
  held_[pair->second].push_back({link_.try_emplace(key, link_.size()).first->second, seconds});
}

BusyLinks BusyLinks::of_messages(ClusterProblem& made) {
  BusyLinks busy;
  const Problem& problem = made.problem();
  std::map<int, NoisyWay> last;  // by sender
  for (const ClusterProblem::Crossed& crossed : made.crossed()) {
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

BusyLinks BusyLinks::of_alltoall(const Cluster& cluster, const UniformTraffic& traffic) {
  BusyLinks busy;
  const AlltoallParts parts(cluster, traffic);
  const SwitchPairs& pairs = parts.pairs();
  const int switches = pairs.switches(), members = static_cast<int>(traffic.gpus.size());
  const auto rank = [&](int number) {
    return cluster.endpoint(number / members, cluster.nic_of(traffic.gpus[static_cast<std::size_t>(number % members)]));
  };
  std::vector<int> ranks(static_cast<std::size_t>(switches), 0), first(ranks);
  const int count = traffic.nodes * members;
  for (int number = count - 1; number >= 0; --number) {
    const auto here = static_cast<std::size_t>(pairs.switch_of(static_cast<std::size_t>(number)));
    ++ranks[here];
    first[here] = number;
    busy.last_.push_back(noisy_way(cluster.fabric(), rank(number), rank((number + count / 2) % count)));
  }
  std::vector<int> sharing(static_cast<std::size_t>(cluster.nics()), 0);  // GPUs at each NIC
  for (const int gpu : traffic.gpus) ++sharing[static_cast<std::size_t>(cluster.nic_of(gpu))];
  const double bytes = traffic.bytes * traffic.stored;
  for (int from = 0; from < switches; ++from)
    for (int to = 0; to < switches; ++to) {
      const auto a = static_cast<std::size_t>(from), b = static_cast<std::size_t>(to);
      const NoisyWay way = from == to ? NoisyWay{}  // crosses no link between switches
                                      : noisy_way(cluster.fabric(), rank(first[a]), rank(first[b]));
      const auto hold = [&](int link, double crossing) {
        const int key = cluster.key_of_fabric_link(link);
        busy.hold(way, key, crossing * bytes / cluster.capacity(key));
      };
      const int own = from == to ? members : 0;  // stay in the node
      const auto at_port = [&](int number) {
        return sharing[static_cast<std::size_t>(
            cluster.nic_of(traffic.gpus[static_cast<std::size_t>(number % members)]))];
      };
      hold(pairs.port_out(static_cast<std::size_t>(first[a])),  // one port stands for all of a switch
           at_port(first[a]) * (ranks[b] - own));
      hold(pairs.port_in(static_cast<std::size_t>(first[b])), at_port(first[b]) * (ranks[a] - own));
      if (from == to) continue;
      const SwitchPairs::Pair ways = pairs.pair(from, to);
      for (const auto* one = ways.begin; one != ways.end; ++one)
        hold(pairs.links()[static_cast<std::size_t>(one->link)], one->share * ranks[a] * ranks[b]);
    }
  return busy;
}

double BusyLinks::busiest_s(const Slowdown& slowdown) const {
  std::vector<double> seconds(link_.size(), 0);
  for (std::size_t pair = 0; pair < pairs_.size(); ++pair) {
    const double factor = slowdown(pairs_[pair]);
    for (const Held& held : held_[pair]) seconds[held.link] += factor * held.seconds;
  }
  return seconds.empty() ? 0 : *std::max_element(seconds.begin(), seconds.end());
}

}  // namespace linkcast
