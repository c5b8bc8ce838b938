#include "sim/plan/busy_links.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "sim/base/index.hpp"
#include "sim/plan/message_ways.hpp"
#include "sim/plan/wire_bound.hpp"

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

// Messages of one size that start together, at max-min fair rates, take as long as the fullest link, or as the slowest
// of them alone if that is longer. Proof: let r be the lowest of all fair shares, capacity / sum of weights, and of the
// messages' own caps. Filled progressively, all rates rise together, so that none is below r (Bertsekas and Gallager,
// Data Networks, section 6.5.2); when messages end, sums of weights only fall, so that none gets below r later. So all
// have ended after bytes / r. That is the time that the link or the message with share r needs whatever the rates of
// others are. It holds for any ways, so that one sum of bytes a link is all there is to know.

namespace {

constexpr double kTogether = 1 - 1e-9;  // source: ours, against rounding: as full as the fullest

/// Bytes on each constraint and link, and how long they take.
class Sums {
 public:
  Sums(const Cluster& cluster, const UniformTraffic& traffic, bool keep_loads)
      : cluster_(cluster),
        traffic_(traffic),
        keep_loads_(keep_loads),
        members_(traffic.gpus.size()),
        alltoall_(cluster, traffic),
        ways_(activities::message_ways(cluster, traffic.gpus, traffic.exits, traffic.stored)) {}
  [[nodiscard]] const SwitchPairs& pairs() const { return alltoall_.pairs(); }

  ReducedAlltoall take() {
    const double ranks = static_cast<double>(members_) * traffic_.nodes;
    sums_.messages = ranks * (ranks - 1);
    sums_.farthest_s = pairs().farthest_s();
    sums_.time_s = traffic_.bytes / traffic_.rate_cap_Bps;
    take_nodes();
    take_ports();
    take_fabric();
    std::set<int> limits;
    for (const auto& [key, seconds] : busy_)
      if (seconds >= kTogether * sums_.time_s) limits.insert(key);
    sums_.limits.assign(limits.begin(), limits.end());
    return std::move(sums_);
  }

 private:
  void busy(int key, double bytes) {
    if (bytes <= 0) return;
    busy_.emplace_back(key, bytes / cluster_.capacity(key));
    sums_.wire_s = std::max(sums_.wire_s, bytes / activities::nominal_Bps(cluster_, key));
    sums_.time_s = std::max(sums_.time_s, busy_.back().second);
  }
  void load(int key, double bytes) {
    if (keep_loads_ && bytes > 0) sums_.loads.push_back({key, bytes / traffic_.bytes});
  }

  /// The same in every node.
  void take_nodes() {
    std::vector<double> messages(cluster_.node().constraints().size(), 0);
    const auto add = [&](const activities::NodeWay& way, double count) {
      for (const Use& use : way.uses) messages[static_cast<std::size_t>(use.constraint)] += count * use.weight;
    };
    for (std::size_t i = 0; i < members_; ++i) {
      add(ways_.in[i], alltoall_.away());
      for (std::size_t j = 0; j < members_; ++j) {
        add(ways_.out[i][j], traffic_.nodes - 1);
        sums_.time_s = std::max(sums_.time_s, traffic_.bytes / ways_.out[i][j].rate_cap_Bps);
        if (i == j) continue;
        add(ways_.inside[i][j], 1);
        sums_.time_s = std::max(sums_.time_s, traffic_.bytes / ways_.inside[i][j].rate_cap_Bps);
        ++sums_.classes;
      }
    }
    for (std::size_t c = 0; c < messages.size(); ++c) {
      busy(cluster_.key(0, static_cast<int>(c)), messages[c] * traffic_.bytes);
      for (int node = 0; node < traffic_.nodes; ++node)
        load(cluster_.key(node, static_cast<int>(c)), messages[c] * traffic_.bytes);
    }
  }

  void take_ports() {
    for (std::size_t i = 0; i < members_; ++i) {
      busy(cluster_.key_of_fabric_link(pairs().port(i)), alltoall_.bytes_out(i));
      busy(cluster_.key_of_fabric_link(pairs().port(i) ^ 1), alltoall_.bytes_in(i));
    }
    std::map<int, double> bytes;  // members may share a port
    for (std::size_t rank = 0; keep_loads_ && rank < members_ * static_cast<std::size_t>(traffic_.nodes); ++rank) {
      bytes[pairs().port(rank)] = alltoall_.bytes_out(rank % members_);
      bytes[pairs().port(rank) ^ 1] = alltoall_.bytes_in(rank % members_);
    }
    take_engines();
    for (const auto& [link, sum] : bytes) load(cluster_.key_of_fabric_link(link), sum);
  }

  /// As much as the ports.
  void take_engines() {
    std::map<int, double> bytes;  // members may share a card
    for (int node = 0; node < (keep_loads_ ? traffic_.nodes : 1); ++node)
      for (std::size_t i = 0; i < members_; ++i) {
        const int card = cluster_.endpoint(node, alltoall_.nic(i));
        if (!cluster_.has_engine(card)) continue;
        bytes[cluster_.key_of_engine(card, true)] = alltoall_.bytes_out(i);
        bytes[cluster_.key_of_engine(card, false)] = alltoall_.bytes_in(i);
      }
    for (const auto& [key, sum] : bytes) {
      busy(key, sum);
      load(key, sum);
    }
  }

  void take_fabric() {
    const SwitchPairs::Traffic sums = alltoall_.between_switches();
    sums_.classes += static_cast<std::size_t>(
        std::count_if(sums.between.begin(), sums.between.end(), [](double sum) { return sum > 0; }));
    const std::vector<double> links = pairs().link_bytes(sums);
    for (std::size_t link = 0; link < links.size(); ++link) {
      busy(cluster_.key_of_fabric_link(static_cast<int>(link)), links[link]);
      load(cluster_.key_of_fabric_link(static_cast<int>(link)), links[link]);
    }
  }

  const Cluster& cluster_;
  const UniformTraffic& traffic_;
  bool keep_loads_;
  std::size_t members_;
  AlltoallTraffic alltoall_;
  activities::MessageWays ways_;
  std::vector<std::pair<int, double>> busy_;
  ReducedAlltoall sums_;
};

}  // namespace

std::variant<ReducedAlltoall, Irregular> reduce_alltoall(const Cluster& cluster, const UniformTraffic& traffic,
                                                         bool keep_loads) {
  Sums sums(cluster, traffic, keep_loads);
  if (!sums.pairs().irregular().empty()) return Irregular{sums.pairs().irregular()};
  return sums.take();
}

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
