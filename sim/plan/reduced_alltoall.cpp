// Messages of one size that start together, at max-min fair rates, take as long as the fullest link, or as the slowest
// of them alone if that is longer. Proof: let r be the lowest of all fair shares, capacity / sum of weights, and of the
// messages' own caps. Filled progressively, all rates rise together, so that none is below r (Bertsekas and Gallager,
// Data Networks, section 6.5.2); when messages end, sums of weights only fall, so that none gets below r later. So all
// have ended after bytes / r. That is the time that the link or the message with share r needs whatever the rates of
// others are. It holds for any ways, so that one sum of bytes a link is all there is to know.
#include "sim/plan/reduced_alltoall.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "sim/plan/message_ways.hpp"
#include "sim/plan/wire_bound.hpp"

namespace linkcast::congestion {
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

}  // namespace linkcast::congestion
