// Messages of one size that start together, at max-min fair rates, take as long as the fullest link, or as the slowest
// of them alone if that is longer. Proof: let r be the lowest of all fair shares, capacity / sum of weights, and of the
// messages' own caps. Filled progressively, all rates rise together, so that none is below r (Bertsekas and Gallager,
// Data Networks, section 6.5.2); when messages end, sums of weights only fall, so that none gets below r later. So all
// have ended after bytes / r. That is the time that the link or the message with share r needs whatever the rates of
// others are. It holds for any ways, so that one sum of bytes a link is all there is to know.
#include "sim/forecast/reduced_alltoall.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "sim/forecast/message_ways.hpp"
#include "sim/forecast/switch_pairs.hpp"

namespace linkcast {
namespace {

constexpr double kTogether = 1 - 1e-9;  // source: ours, against rounding: as full as the fullest

std::vector<int> endpoints(const Cluster& cluster, const UniformTraffic& traffic) {
  std::vector<int> list;
  for (int node = 0; node < traffic.nodes; ++node)
    for (const int gpu : traffic.gpus) list.push_back(cluster.endpoint(node, cluster.nic_of(gpu)));
  return list;
}

/// Bytes on each constraint and link, and how long they take.
class Sums {
 public:
  Sums(const Cluster& cluster, const UniformTraffic& traffic)
      : cluster_(cluster),
        traffic_(traffic),
        members_(traffic.gpus.size()),
        pairs_(cluster, endpoints(cluster, traffic)),
        ways_(message_ways(cluster, traffic.gpus, traffic.stored)),
        sharing_(static_cast<std::size_t>(cluster.nics()), 0) {
    for (const int gpu : traffic.gpus) ++sharing_[nic(gpu)];
  }
  [[nodiscard]] const SwitchPairs& pairs() const { return pairs_; }

  ReducedAlltoall take() {
    const double ranks = static_cast<double>(members_) * traffic_.nodes;
    made_.messages = ranks * (ranks - 1);
    made_.farthest_s = pairs_.farthest_s();
    made_.time_s = traffic_.bytes / traffic_.rate_cap_Bps;
    take_nodes();
    take_ports();
    take_fabric();
    std::set<int> limits;
    for (const auto& [key, seconds] : busy_)
      if (seconds >= kTogether * made_.time_s) limits.insert(key);
    made_.limits.assign(limits.begin(), limits.end());
    return std::move(made_);
  }

 private:
  [[nodiscard]] std::size_t nic(int gpu) const { return static_cast<std::size_t>(cluster_.nic_of(gpu)); }
  /// Messages that one member sends to other nodes.
  [[nodiscard]] double away() const { return static_cast<double>(members_) * (traffic_.nodes - 1); }

  void busy(int key, double bytes) {
    if (bytes <= 0) return;
    busy_.emplace_back(key, bytes / cluster_.capacity(key));
    made_.time_s = std::max(made_.time_s, busy_.back().second);
  }

  /// The same in every node.
  void take_nodes() {
    std::vector<double> messages(cluster_.node().constraints().size(), 0);
    const auto add = [&](const NodeWay& way, double count) {
      for (const Use& use : way.uses) messages[static_cast<std::size_t>(use.constraint)] += count * use.weight;
    };
    for (std::size_t i = 0; i < members_; ++i) {
      add(ways_.out[i], away());
      add(ways_.in[i], away());
      for (std::size_t j = 0; j < members_; ++j) {
        if (i == j) continue;
        add(ways_.inside[i][j], 1);
        made_.time_s = std::max(made_.time_s, traffic_.bytes / ways_.inside[i][j].rate_cap_Bps);
        ++made_.classes;
      }
    }
    for (std::size_t c = 0; c < messages.size(); ++c)
      busy(cluster_.key(0, static_cast<int>(c)), messages[c] * traffic_.bytes);
  }

  [[nodiscard]] double port_bytes(int gpu) const {
    return sharing_[nic(gpu)] * away() * traffic_.bytes * traffic_.stored;
  }
  void take_ports() {
    for (std::size_t i = 0; i < members_; ++i)
      for (const int link : {pairs_.port(i), pairs_.port(i) ^ 1})
        busy(cluster_.key_of_fabric_link(link), port_bytes(traffic_.gpus[i]));
  }

  void take_fabric() {
    const auto switches = static_cast<std::size_t>(pairs_.switches());
    SwitchPairs::Traffic sums{std::vector<double>(switches * switches, 0), std::vector<double>(switches, 0)};
    std::vector<double> at(switches, 0);
    for (std::size_t end = 0; end < members_ * static_cast<std::size_t>(traffic_.nodes); ++end) {
      const auto here = static_cast<std::size_t>(pairs_.switch_of(end));
      ++at[here];
      const double capacity = cluster_.capacity(cluster_.key_of_fabric_link(pairs_.port(end)));
      sums.port_s[here] = std::max(sums.port_s[here], port_bytes(traffic_.gpus[end % members_]) / capacity);
    }
    for (std::size_t from = 0; from < switches; ++from)
      for (std::size_t to = 0; to < switches; ++to) sums.between[from * switches + to] = at[from] * at[to];
    leave_out_nodes(sums);
    for (double& between : sums.between) between *= traffic_.bytes * traffic_.stored;
    made_.classes += static_cast<std::size_t>(
        std::count_if(sums.between.begin(), sums.between.end(), [](double sum) { return sum > 0; }));
    const std::vector<double> links = pairs_.link_bytes(sums);
    for (std::size_t link = 0; link < links.size(); ++link)
      busy(cluster_.key_of_fabric_link(static_cast<int>(link)), links[link]);
  }

  /// What stays inside a node does not pass its switches.
  void leave_out_nodes(SwitchPairs::Traffic& messages) const {
    const auto switches = static_cast<std::size_t>(pairs_.switches());
    for (std::size_t first = 0; first < members_ * static_cast<std::size_t>(traffic_.nodes); first += members_)
      for (std::size_t i = first; i < first + members_; ++i)
        for (std::size_t j = first; j < first + members_; ++j)
          --messages.between[static_cast<std::size_t>(pairs_.switch_of(i)) * switches +
                             static_cast<std::size_t>(pairs_.switch_of(j))];
  }

  const Cluster& cluster_;
  const UniformTraffic& traffic_;
  std::size_t members_;
  SwitchPairs pairs_;
  MessageWays ways_;
  std::vector<int> sharing_;  ///< members by NIC
  std::vector<std::pair<int, double>> busy_;
  ReducedAlltoall made_;
};

}  // namespace

std::variant<ReducedAlltoall, Irregular> reduce_alltoall(const Cluster& cluster, const UniformTraffic& traffic) {
  Sums sums(cluster, traffic);
  if (!sums.pairs().irregular().empty()) return Irregular{sums.pairs().irregular()};
  return sums.take();
}

}  // namespace linkcast
