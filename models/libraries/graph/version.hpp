#pragma once
// What differs between the versions of NCCL's graph era: data only. Bandwidths are the library's own, GB/s one
// direction.
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/libraries/ring_operation.hpp"

namespace linkcast::graph {

/// LOC the same place; NVL NVLink; NVB NVLink through one GPU in between; C2C CPU and GPU on one module; PIX one PCI
/// switch; PXB several; P2C a NIC reached over C2C; PXN a NIC reached through another GPU; PHB through a CPU; SYS from
/// CPU to CPU; NET another node.
enum class PathClass { kLoc, kNvl, kNvb, kC2c, kPix, kPxb, kP2c, kPxn, kPhb, kSys, kNet };

inline const std::string& to_text(PathClass path_class) {
  static const std::array<std::string, 11> kNames = {"LOC", "NVL", "NVB", "C2C", "PIX", "PXB",
                                                     "P2C", "PXN", "PHB", "SYS", "NET"};  // in the order of PathClass
  return kNames.at(static_cast<std::size_t>(path_class));
}

/// nullopt: no such name.
inline std::optional<PathClass> path_class_of(const std::string& name) {
  for (std::size_t i = 0; i <= static_cast<std::size_t>(PathClass::kNet); ++i)
    if (to_text(static_cast<PathClass>(i)) == name) return static_cast<PathClass>(i);
  return std::nullopt;
}

/// NVLink figure of one link by the least compute capability it applies to.
using BySm = std::map<int, double>;

/// The figure of the highest key that is not above `sm`; of the lowest if all are.
double by_sm(const BySm& figures, int sm);

/// Hops tried before an attempt of the search ends with the best so far.
struct Budgets {
  long all = 0;        ///< of all attempts for one graph
  long different = 0;  ///< rings of different orders
  long trees = 0;      ///< trees of different orders
  long same = 0;       ///< all channels in one order
};

/// Up to which class of path GPUs access each other's memory.
enum class PeerRule {
  kByIntelModel,  ///< Intel: PXB up to Broadwell, PHB after; AMD and POWER: SYS; ARM: PXB
  kIntelPxb,      ///< Intel and ARM: PXB; AMD: SYS for two GPUs, else PXB; POWER: SYS
  kPxb            ///< PXB; AMD: SYS for two GPUs
};

struct CpuLinks {  ///< between two CPUs
  double broadwell = 0, skylake = 0, sapphire_rapids = 0, emerald_rapids = 0, amd = 0, power = 0, arm = 0;
};

/// What the search for rings and trees depends on.
struct SearchTraits {
  BySm nvlink;
  CpuLinks cpu;
  double intel_peer_overhead = 1;     ///< PCIe bandwidth that peer traffic through an Intel CPU takes, per byte
  std::vector<PathClass> classes;     ///< that this version knows, best first
  bool nvlink_through_power = false;  ///< NVLink up, across and down between POWER CPUs is of class NVL
  bool relays = false;                ///< NVLink through one GPU in between
  bool class_before_width = false;    ///< a path of a better class wins, however narrow and long
  bool reverse_link_by_kind = false;  ///< false: of several links between two nodes a path takes the first one back
  bool driver_decides_peers = false;  ///< PCIe peer access needs the driver's consent
  PeerRule peers = PeerRule::kPxb;
  std::map<int, std::vector<double>> speeds;  ///< tried for a channel, fastest first, by least compute capability
  std::map<int, std::vector<double>> network_speeds;  ///< the same between nodes
  bool proxies_to_nic = false;  ///< a GPU may send by the NIC of another one it has an NVLink to (PXN)
  Budgets budgets;
  int max_channels = 0;                  ///< of the finished communicator
  bool many_hopper_stay_single = false;  ///< after Ampere, more than 4 channels below 50 GB/s are not split in two
  bool trees_match_rings = false;        ///< trees are asked for exactly as many channels as there are rings
  bool plain_trees = false;              ///< after Ampere, trees that branch at one member are tried too
};

constexpr int kProtocols = 3;
using PerProtocol = std::array<double, kProtocols>;  ///< LL, LL128, Simple

struct Latency {  ///< microseconds
  PerProtocol base{}, nvlink_hop{}, pci_hop{}, network_hop{};
};

/// A limit between nodes: for two, and for more.
struct NetworkLimit {
  double two = 0, more = 0;  ///< GB/s; 0: none
  [[nodiscard]] double at(int nodes) const { return nodes == 2 ? two : more; }
};

/// What NVLS counts on for all_gather and reduce_scatter.
enum class NvlsParts {
  kNone,    ///< it has them not
  kShare,   ///< what it counts on for all_reduce
  kWhole,   ///< all bandwidth of its channels
  kOthers,  ///< that for all_reduce times ((n - 1) / n)^2
};

/// What the tuner depends on. GB/s and microseconds; caps are those of one node if nothing else is said.
struct TunerTraits {
  Latency tree, ring;
  double nvls_hop_us = 0;  ///< 0: this version has no NVLS
  BySm nvls_efficiency;    ///< share of its channels' bandwidth that it counts on
  NvlsParts nvls_parts = NvlsParts::kNone;
  double nvls_network_us = 0;           ///< up to the switches between nodes, which reduce, and back
  double nvls_tree_network_hop_us = 0;  ///< of a tree between nodes whose nodes reduce and store by multicast
  double collnet_hop_us = 0;            ///< between the GPUs of a node: of CollNet direct and, the lower one, chain
  double collnet_chain_hop_us = 0;
  double collnet_network_us = 0, collnet_chain_network_us = 0;
  double pat_base_us = 0;  ///< 0: this version has no PAT
  double pat_network_hop_us = 0, pat_rank_us = 0;
  bool ll_half = false;  ///< ring LL carries 1/2 of the bus bandwidth; false: 1/4 or 1/3 by operation
  BySm ll_max;           ///< most that LL moves; empty: no limit
  std::map<RingOperation, double> ring_ll128_by_op;  ///< a channel; empty: ring_ll128
  BySm ring_ll128;                                   ///< a channel
  double ring_ll128_alone = 0;                       ///< of the bus bandwidth, with one member a node
  double tree_share = 0;                             ///< of the bus bandwidth
  BySm tree_channel;                                 ///< most a channel; empty: tree_total
  double tree_total = 0, tree_total_a100_ll128 = 0;
  BySm tree_ll128;                                           ///< most a channel; empty: no limit
  double a100_total = 0;                                     ///< most on compute capability 8.0; 0: no limit
  NetworkLimit network_ll, network_ll_amd;                   ///< all channels
  std::map<int, NetworkLimit> network_tree_channel;          ///< by least compute capability; empty: network_tree_total
  NetworkLimit network_tree_total, network_tree_ll128_a100;  ///< all channels
  std::map<int, NetworkLimit> network_tree_ll128;            ///< a channel
  double network_tree_ll128_share = 0;                       ///< of a tree's bandwidth
  double network_ll_stretch = 1;                             ///< of hops inside a node in LL, between nodes
  double send_us = 0, send_us_amd = 0;  ///< least that a ring's step takes between nodes, thrice that in Simple
  bool last_step_inside = false;        ///< all_reduce crosses between nodes 2 (nodes - 1) times in a row, not 2 nodes
  double plateau = 0, plateau_ampere = 0;  ///< ring Simple all_reduce between nodes: latency times this at mid sizes
  bool late_corrections = false;           ///< the later of two tables that correct trees for the size
  bool cells = false;                      ///< work is cut into whole cells before channels get it
  bool whole_chunks = false;               ///< trees in Simple take whole chunks, however few
  bool plugin_tuners = false;              ///< plug-ins may set what an algorithm and protocol cost
};

struct Version {
  std::string name;        ///< nccl-2.18
  std::string tag;         ///< v2.18.5
  std::string stands_for;  ///< 2.18 to 2.21
  SearchTraits search;
  TunerTraits tuner;
};

/// Oldest first.
const std::vector<Version>& versions();

}  // namespace linkcast::graph
