#pragma once
// Figures that differ between the releases of RCCL: data only. Bandwidths are the library's own, GB/s one direction.
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "models/libraries/graph/version.hpp"

namespace linkcast::rccl {

using graph::kProtocols;
using graph::PerProtocol;

/// Generations of GPUs whose figures differ, by the name that their models hold.
enum class Generation { kMi100, kMi200, kMi300, kMi350 };

/// One algorithm in a table of the tuner. Bandwidth of a protocol is that of all links of a GPU times a ratio.
struct AlgorithmFigures {
  PerProtocol hop_us{}, network_hop_us{};             ///< of a step inside a node, and between nodes
  PerProtocol ratio{}, ratio_more{};                  ///< up to two nodes, and on more; 0: the table has no such row
  std::array<std::vector<double>, kProtocols> bends;  ///< share of it that is left at 64 B, 128 B, ...
};

struct TuningTable {
  AlgorithmFigures tree, ring;
};

/// Up to which bytes a call of several nodes takes LL, and above that LL128, whatever the table says.
struct ProtocolRange {
  double ll_B = 0, ll128_B = 0;
};
struct ProtocolRanges {  ///< of all bytes for all_reduce, else of those of a rank
  ProtocolRange all_reduce, all_gather, reduce_scatter, reduce, broadcast;
  double more_nodes = 1;        ///< all_reduce: LL128 up to so many times the bytes, on more than two nodes
  double inside_scatter_B = 0;  ///< reduce_scatter on one node: LL up to so many bytes of a rank
};

/// Rings that the library knows by heart for one pattern of links, in the place of a search.
struct Preset {
  int number = 0;  ///< in the library's list
  std::vector<Generation> generations;
  int gpus = 0, cpus = 0;           ///< CPU domains; 0: any number
  std::vector<int> nics;            ///< how many it is for; empty: of one node
  std::vector<int> nic_of;          ///< which of them each GPU has next to it, where several share one; empty: its own
  std::vector<std::string> links;   ///< "01x4": four from GPU 0 to GPU 1; empty: one between any two
  std::vector<std::string> orders;  ///< "01546732": distinct ones
  bool both_directions = false;     ///< and each backwards
  std::optional<int> table;         ///< of the tuner; empty: that of MI300X in the release
};

/// Releases that choose alike.
struct Release {
  std::string name;        ///< rccl-2.21
  std::string stands_for;  ///< RCCL 2.21 and 2.22, ROCm 6.3 and 6.4
  std::string base;        ///< whose search it has: nccl-2.20
  int table_of_mi300 = 0;
  bool all_pairs = false;       ///< MSCCL's all_reduce of eight MI300X, by size
  bool direct_kernels = false;  ///< peer kernels in its place, up to 8 MiB
  bool ranges = false;          ///< the protocol between nodes by size
  bool rooted_ranges = false;   ///< also of reduce and broadcast
  bool late_steps = false;      ///< all_reduce crosses between nodes 2 (nodes - 1) times in a row, not 2 nodes
};

/// Oldest first.
const std::vector<Release>& releases();
const std::vector<Preset>& presets();
/// @param number  the library's, 0, 3 or 5; 51: that of MI300X up to ROCm 6.2
const TuningTable& tuning_table(int number);
/// @returns nullptr  no such ranges for these GPUs
const ProtocolRanges* protocol_ranges(Generation generation);
/// GB/s that the library counts on for one XGMI link.
double link_GBps(Generation generation);

}  // namespace linkcast::rccl
