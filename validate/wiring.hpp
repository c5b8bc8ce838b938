#pragma once
// Structure of a machine as `show` reports it: pair classes and counts, derived from devices and cables alone.
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/object_reader.hpp"

namespace linkcast::validate {

/// A number taken from the wiring (kind show) or the channels (kind rings) instead of from one key.
struct Structure {
  std::string measure;
  std::optional<int> links;  ///< cycle_sizes: pairs with this many links
  std::string cable;         ///< cable_bandwidth: kind of cable
  std::vector<int> among;    ///< links_per_pair: only these GPUs; empty: all
};

using GpuPair = std::pair<int, int>;

class Wiring {
 public:
  /// @param shown  result of a query of kind show: devices [{id, kind, group?}], cables [{a, b, kind, count,
  /// bandwidth_Bps}]
  /// @throws InputError  a key is missing
  explicit Wiring(const Json& shown);

  [[nodiscard]] int gpus() const { return static_cast<int>(gpus_.size()); }
  /// NVLink-like links that join two GPUs directly, 0 if none.
  [[nodiscard]] int links(int gpu_a, int gpu_b) const;
  /// Every ordered pair of two GPUs of a class (see pair_classes).
  [[nodiscard]] std::vector<GpuPair> pairs(const std::string& pair_class, const std::vector<int>& among) const;
  /// GPUs joined to both by a direct link, ascending.
  [[nodiscard]] std::vector<int> relays(int gpu_a, int gpu_b) const;
  /// Numbers of a measure that needs the wiring only.
  [[nodiscard]] std::vector<double> measure(const Structure& structure) const;
  /// Per distinct ring of `channels` (direction and start do not matter): fewest or most links of its hops.
  [[nodiscard]] std::vector<double> ring_links(const Json& channels, bool fewest) const;

 private:
  struct Cable {
    int a = 0, b = 0, count = 1;
    std::string kind;
    double bandwidth_Bps = 0;
    bool accelerator = false, pcie = false;
  };
  enum class Net { kAccelerator, kPcie };

  /// Devices on a shortest way, ends included; empty if there is none.
  [[nodiscard]] std::vector<int> path(int from, int to, Net net) const;
  [[nodiscard]] bool may_pass(int device, Net net) const;
  void find_hosts();
  [[nodiscard]] std::vector<double> per_gpu(const std::string& measure) const;
  [[nodiscard]] std::vector<double> per_switch(const std::string& other_kind) const;
  [[nodiscard]] bool in_class(const std::string& pair_class, int a, int b) const;
  [[nodiscard]] int count_of(int device, const std::string& other_kind) const;
  /// Bytes/s of the best single way over GPUs: its narrowest bundle of links.
  [[nodiscard]] double widest(int gpu_a, int gpu_b) const;
  [[nodiscard]] double direct_bandwidth(int gpu_a, int gpu_b) const;
  [[nodiscard]] std::vector<double> per_pair(const Structure& structure) const;
  [[nodiscard]] std::vector<double> cycle_sizes(int links) const;
  [[nodiscard]] std::vector<double> group_bandwidths() const;

  std::vector<std::string> kinds_, groups_;  ///< by device
  std::vector<Cable> cables_;
  std::vector<int> gpus_;                        ///< device by GPU number
  std::vector<int> cpu_;                         ///< by GPU number: the CPU it hangs on, -1 if none
  std::vector<std::vector<int>> pcie_switches_;  ///< by GPU number: from the GPU to its CPU
};

/// all; nvlink, nvlink_1, nvlink_2, no_nvlink: direct links of the pair; nvswitch_1, nvswitch_2: switches on the way;
/// pcie_level_1: below one switch next to both; pcie_level_2: below one switch, but not the next one;
/// shared_pcie_switch, no_shared_pcie_switch; same_socket: no shared switch, one CPU; cross_socket: two CPUs.
const std::vector<std::string>& pair_classes();
/// gpu_links: links per GPU; peer_links: those of them to other GPUs; gpu_switches: NVSwitches next to each GPU;
/// pair_links, pair_hops, pair_switches: per pair of GPUs; pair_widest: nominal bytes/s of the best single way of a
/// pair over direct links; cycle_sizes: rings formed by the pairs with exactly so many links (0 where they form none);
/// cable_bandwidth: nominal, bytes/s, per cable of a kind; switch_gpu_ports, switch_switch_ports: per NVSwitch;
/// group_bandwidth: both directions together between two groups of NVSwitches; pcie_levels: switches from GPU to CPU;
/// ring_min_links, ring_max_links: of a result of kind rings, per distinct ring.
const std::vector<std::string>& measures();

}  // namespace linkcast::validate
