#pragma once
// Structure of a machine as `show` reports it: pair classes and counts, derived from devices and cables alone.
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/object_reader.hpp"
#include "sim/base/spelled.hpp"
#include "sim/machine/topology.hpp"

namespace linkcast::validate {

/// Pairs of GPUs that have something of their wiring in common.
enum class PairClass {
  kAll,
  kNvlink,     ///< direct links, any number
  kNvlink1,    ///< one direct link
  kNvlink2,    ///< two
  kNoNvlink,   ///< none
  kNvswitch1,  ///< one NVSwitch on the shortest route
  kNvswitch2,
  kPcieLevel1,  ///< below one PCIe switch next to both
  kPcieLevel2,  ///< below one PCIe switch, but not next to both
  kSharedPcieSwitch,
  kNoSharedPcieSwitch,
  kSameSocket,   ///< no shared PCIe switch, one CPU
  kCrossSocket,  ///< two CPUs
};
inline constexpr Spelling<PairClass> kPairClasses[] = {{PairClass::kAll, "all"},
                                                       {PairClass::kNvlink, "nvlink"},
                                                       {PairClass::kNvlink1, "nvlink_1"},
                                                       {PairClass::kNvlink2, "nvlink_2"},
                                                       {PairClass::kNoNvlink, "no_nvlink"},
                                                       {PairClass::kNvswitch1, "nvswitch_1"},
                                                       {PairClass::kNvswitch2, "nvswitch_2"},
                                                       {PairClass::kPcieLevel1, "pcie_level_1"},
                                                       {PairClass::kPcieLevel2, "pcie_level_2"},
                                                       {PairClass::kSharedPcieSwitch, "shared_pcie_switch"},
                                                       {PairClass::kNoSharedPcieSwitch, "no_shared_pcie_switch"},
                                                       {PairClass::kSameSocket, "same_socket"},
                                                       {PairClass::kCrossSocket, "cross_socket"}};
constexpr std::span<const Spelling<PairClass>> spellings(PairClass) { return kPairClasses; }

/// Numbers of a machine's wiring.
enum class Measure {
  kGpuLinks,     ///< links per GPU
  kPeerLinks,    ///< those of them to other GPUs
  kGpuSwitches,  ///< NVSwitches next to each GPU
  kPairLinks,    ///< direct links per pair of GPUs
  kPairWidest,   ///< nominal bytes/s of the best single route of a pair over direct links
  kPairHops,
  kPairSwitches,
  kCycleSizes,      ///< rings formed by the pairs with exactly so many links; 0 where they form none
  kCableBandwidth,  ///< nominal, bytes/s, per cable of a kind
  kSwitchGpuPorts,  ///< per NVSwitch
  kSwitchSwitchPorts,
  kGroupBandwidth,  ///< both directions together between two groups of NVSwitches
  kPcieLevels,      ///< switches from GPU to CPU
  kRingMinLinks,    ///< of a result of kind rings, per distinct ring
  kRingMaxLinks,
};
inline constexpr Spelling<Measure> kMeasures[] = {{Measure::kGpuLinks, "gpu_links"},
                                                  {Measure::kPeerLinks, "peer_links"},
                                                  {Measure::kGpuSwitches, "gpu_switches"},
                                                  {Measure::kPairLinks, "pair_links"},
                                                  {Measure::kPairWidest, "pair_widest"},
                                                  {Measure::kPairHops, "pair_hops"},
                                                  {Measure::kPairSwitches, "pair_switches"},
                                                  {Measure::kCycleSizes, "cycle_sizes"},
                                                  {Measure::kCableBandwidth, "cable_bandwidth"},
                                                  {Measure::kSwitchGpuPorts, "switch_gpu_ports"},
                                                  {Measure::kSwitchSwitchPorts, "switch_switch_ports"},
                                                  {Measure::kGroupBandwidth, "group_bandwidth"},
                                                  {Measure::kPcieLevels, "pcie_levels"},
                                                  {Measure::kRingMinLinks, "ring_min_links"},
                                                  {Measure::kRingMaxLinks, "ring_max_links"}};
constexpr std::span<const Spelling<Measure>> spellings(Measure) { return kMeasures; }

/// A number taken from the wiring (kind show) or the channels (kind rings) instead of from one key.
struct Structure {
  Spelled<Measure> measure;
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
  /// Every ordered pair of two GPUs of a class.
  [[nodiscard]] std::vector<GpuPair> pairs(Spelled<PairClass> pair_class, const std::vector<int>& among) const;
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

  /// Devices on a shortest route, ends included; empty if there is none.
  [[nodiscard]] std::vector<int> path(int from, int to, Net net) const;
  [[nodiscard]] bool may_pass(int device, Net net) const;
  void find_hosts();
  [[nodiscard]] std::vector<double> per_gpu(double (Wiring::*number)(std::size_t gpu) const) const;
  [[nodiscard]] double gpu_links(std::size_t gpu) const { return count_of(gpus_[gpu], std::nullopt); }
  [[nodiscard]] double peer_links(std::size_t gpu) const { return count_of(gpus_[gpu], DeviceKind::kGpu); }
  [[nodiscard]] double pcie_levels(std::size_t gpu) const { return static_cast<double>(pcie_switches_[gpu].size()); }
  [[nodiscard]] double gpu_switches(std::size_t gpu) const;
  [[nodiscard]] std::vector<double> per_switch(DeviceKind other_kind) const;
  [[nodiscard]] bool in_class(PairClass pair_class, int a, int b) const;
  [[nodiscard]] int switches_on(const std::vector<int>& route) const;
  [[nodiscard]] int count_of(int device, std::optional<DeviceKind> other_kind) const;
  /// Bytes/s of the best single route over GPUs: its narrowest bundle of links.
  [[nodiscard]] double widest(int gpu_a, int gpu_b) const;
  [[nodiscard]] double direct_bandwidth(int gpu_a, int gpu_b) const;
  [[nodiscard]] std::vector<double> per_pair(const Structure& structure) const;
  [[nodiscard]] std::vector<double> cycle_sizes(int links) const;
  [[nodiscard]] std::vector<double> group_bandwidths() const;

  [[nodiscard]] DeviceKind kind(int device) const { return kinds_[static_cast<std::size_t>(device)]; }

  std::vector<DeviceKind> kinds_;    ///< by device
  std::vector<std::string> groups_;  ///< by device
  std::vector<Cable> cables_;
  std::vector<int> gpus_;                        ///< device by GPU number
  std::vector<int> cpu_;                         ///< by GPU number: the CPU it hangs on, -1 if none
  std::vector<std::vector<int>> pcie_switches_;  ///< by GPU number: from the GPU to its CPU
};

}  // namespace linkcast::validate
