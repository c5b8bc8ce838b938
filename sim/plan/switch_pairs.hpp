#pragma once
// Ways between switches: what all messages from an endpoint of one switch to an endpoint of another have in common.
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "sim/machine/adaptive_routing.hpp"
#include "sim/machine/cluster.hpp"

namespace linkcast::congestion {

/// Switches in use, and what traffic between them puts on the links between switches.
class SwitchPairs {
 public:
  /// Bytes between every two switches, and seconds that the busiest port of a switch is busy.
  struct Traffic {
    std::vector<double> between;  ///< from, to
    std::vector<double> port_s;
  };

  /// @param endpoints  in use
  SwitchPairs(const Cluster& cluster, const std::vector<int>& endpoints);

  /// Why the routes are not those of the switches; empty where they are.
  [[nodiscard]] const std::string& irregular() const { return irregular_; }
  /// By place in the list of endpoints.
  [[nodiscard]] int switch_of(std::size_t endpoint) const { return switch_of_[endpoint]; }
  [[nodiscard]] int switches() const { return static_cast<int>(ends_.size()); }
  /// From an endpoint to its switch; the way back is the link ^ 1.
  [[nodiscard]] int port(std::size_t endpoint) const { return port_[endpoint]; }
  /// Latency of the longest minimal way between two endpoints.
  [[nodiscard]] double farthest_s() const { return farthest_s_; }

  /// Told the links between two switches, and which share of the bytes between these takes each: see each_pair().
  using TakePair = std::function<void(int from, int to, const std::vector<WeightedLink>& links)>;
  /// For all pairs of different switches with traffic, with the detours that adaptive routing takes.
  void each_pair(const Traffic& traffic, const TakePair& take) const;
  /// Bytes on each link of the fabric but the ports, by its number, with the detours that adaptive routing takes.
  [[nodiscard]] std::vector<double> link_bytes(const Traffic& traffic) const;

 private:
  struct Ends {
    int first = 0, last = 0;  ///< endpoints of one switch
  };
  bool find_switches(const std::vector<int>& endpoints);
  void look_at(const Ends& from, const Ends& to);
  /// Links between the switches, of all ways.
  [[nodiscard]] std::vector<int> inner_links(int from, int to);
  [[nodiscard]] Detours settle(const Traffic& traffic, const LinkOrbits& orbits) const;
  void each_pair(const Traffic& traffic, const LinkOrbits& orbits, const TakePair& take) const;
  [[nodiscard]] std::vector<double> turned_link_bytes(const Traffic& traffic, const LinkOrbits& orbits) const;
  /// Of traffic that is the same from turn to turn of the fabric between so many switches that one turn has to stand
  /// for all; else of one turn.
  [[nodiscard]] LinkOrbits orbits_of(const Traffic& traffic) const;
  /// By switch: which one it becomes in a turn. Empty if one is not in use.
  [[nodiscard]] std::vector<std::size_t> turned() const;

  const Cluster* cluster_;
  std::string irregular_;
  std::vector<int> switch_of_, port_;
  std::vector<Ends> ends_;     ///< per switch
  std::vector<int> vertices_;  ///< of the fabric, per switch
  double farthest_s_ = 0;
  std::vector<WeightedLink> way_;  ///< kept for its memory
  std::vector<int> whole_;         ///< likewise
};

}  // namespace linkcast::congestion
