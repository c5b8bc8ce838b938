#pragma once
// The node as NCCL's graph era sees it: members, the PCI switches and CPUs above them, one NVSwitch, and between nodes
// the NICs; links with the bandwidth the library assumes. Other GPUs do not exist in it.
#include <set>
#include <string>
#include <vector>

#include "models/libraries/graph/version.hpp"
#include "sim/machine/platform.hpp"

namespace linkcast::graph {

enum class NodeKind { kGpu, kPciSwitch, kCpu, kNvswitch, kNic, kPort };
enum class LinkKind { kNvlink, kC2c, kPci, kSys, kPort };
enum class CpuMaker { kBroadwell, kSkylake, kSapphireRapids, kEmeraldRapids, kAmd, kPower, kArm };

inline bool is_intel(CpuMaker cpu) { return cpu <= CpuMaker::kEmeraldRapids; }

/// One direction between two nodes; parallel cables of one kind are one link.
struct GraphLink {
  int from = 0, to = 0;
  LinkKind kind = LinkKind::kPci;
  double bandwidth = 0;  ///< GB/s, as the library assumes
};

struct GraphNode {
  NodeKind kind = NodeKind::kGpu;
  int device = -1;         ///< of the topology; of an NVSwitch: none
  std::vector<int> links;  ///< out of this node: widest first, the PCI link upwards last
};

/// A NIC that joins nodes.
struct GraphNic {
  int device = 0;         ///< of the topology
  double bandwidth = 0;   ///< GB/s of its cable
  std::set<int> users{};  ///< GPU numbers that take it first, where others are as near
};

class NodeModel {
 public:
  /// @param gpus  GPU numbers in ascending order: the order the library finds them in
  /// @param nics  by number; none on one node
  NodeModel(const Platform& platform, const std::vector<int>& gpus, const SearchTraits& traits,
            const std::vector<GraphNic>& nics = {});

  [[nodiscard]] const std::vector<GraphNode>& nodes() const { return nodes_; }
  [[nodiscard]] const std::vector<GraphLink>& links() const { return links_; }
  /// Members are the first nodes: GPU i of the search is node i.
  [[nodiscard]] int gpus() const { return gpus_; }
  /// Whether a member takes a NIC first.
  [[nodiscard]] bool takes(int gpu, int nic) const;
  /// Of each NIC the node behind it, on the side of the network.
  [[nodiscard]] const std::vector<int>& ports() const { return ports_; }
  [[nodiscard]] int sm_min() const { return sm_min_; }
  [[nodiscard]] CpuMaker cpu() const { return cpu_; }
  [[nodiscard]] bool has_nvswitch() const { return nvswitch_ >= 0; }
  /// NVLink bandwidth out of a GPU, or that of its PCI link if that is more.
  [[nodiscard]] double total_bandwidth(int gpu) const;
  /// The link the other way round; where versions look for the neighbour alone, it may be of another kind.
  [[nodiscard]] int back(int link) const;
  /// One NVLink of the slowest member.
  [[nodiscard]] double nvlink_bandwidth() const { return nvlink_; }

 private:
  int add_node(NodeKind kind, int device);
  void connect(int from, int to, LinkKind kind, double bandwidth);
  void add_pci_tree(int node, int parent);
  void add_nic(int node, int device, double bandwidth);
  void add_gpu_nics(int gpu);
  void add_accelerator_links(int gpu);
  [[nodiscard]] bool takes_cable(int from, int to) const;
  void join_cpus();
  /// @param depth  of calls. @throws InputError  PCIe is no tree
  void put_uplink_last(int node, int up, std::size_t depth);

  const Platform* platform_;
  const SearchTraits* traits_;
  std::vector<GraphNode> nodes_;
  std::vector<GraphLink> links_;
  std::vector<int> node_of_device_;
  std::vector<GraphNic> nics_;
  std::vector<int> ports_;
  std::vector<int> numbers_;  ///< GPU numbers of members
  int gpus_ = 0, nvswitch_ = -1;
  int sm_min_ = 0;
  CpuMaker cpu_ = CpuMaker::kSkylake;
  double nvlink_ = 0;
};

/// Compute capability x 10 whose figures a GPU has. GPUs that are not NVIDIA's count as Ampere, as in the sample of
/// LUMI.
int library_sm(const Device& gpu);
/// Which figures a CPU has: from its vendor and the name or the numbers of its model.
CpuMaker cpu_maker(const Device& cpu);
/// GB/s of one PCIe cable: lanes x {15, 30, 60, ...} / 80, lanes, at least one, from its kind and nominal rate.
double pcie_bandwidth(const Cable& cable);

}  // namespace linkcast::graph
