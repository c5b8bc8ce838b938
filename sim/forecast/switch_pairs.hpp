#pragma once
// Ways between switches: what all messages from an endpoint of one switch to an endpoint of another have in common.
#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/platform/adaptive_routing.hpp"
#include "sim/platform/cluster.hpp"

namespace linkcast {

/// Switches in use, and the links between each two of them with the share of the traffic that crosses each.
class SwitchPairs {
 public:
  struct Crossing {
    int link = 0;      ///< index into links()
    double share = 0;  ///< of the pair's bytes
  };
  struct Pair {
    const Crossing* begin = nullptr;
    const Crossing* end = nullptr;
  };
  /// Bytes between every two switches, and at each endpoint of a switch one way.
  struct Traffic {
    std::vector<double> between;  ///< from, to
    std::vector<double> port;     ///< negative: not the same at all of them
  };

  /// @param endpoints  in use
  SwitchPairs(const Cluster& cluster, const std::vector<int>& endpoints);

  /// Adaptive routing: which share of each pair takes detours (adaptive_routing.hpp).
  void settle(const Cluster& cluster, const Traffic& traffic);
  /// settle() had too many ways to look at and left all traffic on minimal ways, some of which are busier than ports.
  [[nodiscard]] bool minimal_only() const { return minimal_only_; }

  /// Empty, or why the ways are not those of the switches.
  [[nodiscard]] const std::string& irregular() const { return irregular_; }
  /// By place in the list of endpoints.
  [[nodiscard]] int switch_of(std::size_t endpoint) const { return switch_of_[endpoint]; }
  [[nodiscard]] int switches() const { return static_cast<int>(ends_.size()); }
  /// Links of the fabric between switches.
  [[nodiscard]] const std::vector<int>& links() const { return links_; }
  /// The links between an endpoint and its switch.
  [[nodiscard]] int port_out(std::size_t endpoint) const { return port_out_[endpoint]; }
  [[nodiscard]] int port_in(std::size_t endpoint) const { return port_out_[endpoint] ^ 1; }
  [[nodiscard]] Pair pair(int from, int to) const;
  /// Latency of the longest minimal way between two endpoints.
  [[nodiscard]] double farthest_s() const { return farthest_s_; }

 private:
  struct Ends {
    int first = 0, last = 0;  ///< endpoints of one switch
  };
  bool find_switches(const Cluster& cluster, const std::vector<int>& endpoints);
  bool find_ways(const Cluster& cluster);
  bool add_pair(const Cluster& cluster, const Ends& from, const Ends& to);
  void add_crossings(const std::vector<int>& inner, double share_of_one);
  [[nodiscard]] bool some_hot(const Cluster& cluster, const Traffic& traffic) const;
  /// @returns  false if there are too many ways
  [[nodiscard]] bool demands_of(const Cluster& cluster, const Traffic& traffic, std::vector<Demand>& demands) const;
  [[nodiscard]] std::unordered_map<int, double> port_seconds(const Cluster& cluster, const Traffic& traffic) const;
  void take_detours(const Cluster& cluster, const std::vector<double>& shares);
  int number_of(int link);

  std::string irregular_;
  std::vector<int> switch_of_, port_out_;
  std::vector<Ends> ends_;    ///< per switch
  std::vector<int> port_of_;  ///< per switch: of its first endpoint, outwards
  std::vector<int> links_, number_;
  std::vector<Crossing> crossings_;
  std::vector<std::size_t> first_;  ///< per pair: its first crossing; one more at the end
  bool minimal_only_ = false;
  double farthest_s_ = 0;
  std::vector<WeightedLink> way_;  ///< kept for their memory
  std::vector<int> inner_, other_;
};

}  // namespace linkcast
