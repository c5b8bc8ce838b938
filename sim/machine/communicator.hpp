#pragma once
// What a communication library builds before it moves a byte (rings, trees), what it believes they carry, and what it
// takes for a size.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/quantity.hpp"

namespace linkcast {

/// How the two GPUs of one hop exchange data: directly, through host memory, or through a third GPU.
enum class HopKind { kPeer, kHostMemory, kRelay };

struct Hop {
  int from = 0, to = 0;  ///< GPU numbers
  HopKind kind = HopKind::kPeer;
  int via = -1;  ///< kRelay: the GPU in between
};

/// How a GPU and a NIC of its node exchange what crosses the network.
struct NicWay {
  int nic = -1;                   ///< number in the cluster; -1: the one next to the GPU
  std::optional<Hop> handover{};  ///< to the GPU of the node that sends in its place (PXN)
  bool staged = false;            ///< through host memory: the NIC does not access GPU memory
};

/// One distinct ring. Duplicates (several thread blocks on the same ring) are counted, not repeated.
struct Channel {
  std::vector<int> order;  ///< GPU numbers, each member once, starting at the first member
  std::vector<Hop> hops;   ///< order[i] -> order[i+1], the last one closes the ring
  double links = 1;        ///< share of a link this ring was given in the search, in links (0.5: half a link)
  int blocks = 1;          ///< thread blocks (library channels) that run this ring
  NicWay in{}, out{};      ///< between nodes: of the first and of the last GPU
};

/// One distinct tree. Inside a node it is a chain.
struct Tree {
  std::vector<int> order;    ///< GPU numbers, root first: the parent of each is the one before it
  std::vector<Hop> hops;     ///< order[i] -> order[i+1]; the way up runs the same hops backwards
  int blocks = 1;            ///< thread blocks (library channels) that run this tree
  NicWay first{}, second{};  ///< between nodes: of the first GPU and of the one after it, if it talks to a child
};

inline constexpr const char* kMulticast = "NVLS";  ///< as NCCL's variables name it

/// The network's plug-in: how it changes NCCL's choice.
struct NetworkPlugin {
  double reported_s = 0;               ///< latency of a step between nodes for the tuner, on top of NCCL's own
  std::vector<std::string> without{};  ///< protocols that it leaves out, and kMulticast
  std::string tuner{};                 ///< rules that replace NCCL's choice: plugin_tuners(); empty: none
  double buffer_B = 0;                 ///< NCCL_BUFFSIZE that it sets; 0: NCCL's own
  [[nodiscard]] bool leaves_out(std::string_view name) const {
    return std::find(without.begin(), without.end(), name) != without.end();
  }
};

/// Settings of a library for the routes of its rings, trees and messages out of a node.
struct ExitSettings {
  bool pxn = true;          ///< GPUs may send by the NIC of another one, where the library can do that
  int cross_nic = 2;        ///< a ring leaves by: 0 the NIC that it came in by, 1 any, 2 any where that carries more
  std::string gdr_level{};  ///< worst class of path over which NICs access GPU memory; empty: the library's own
  int peer_channels = 0;    ///< most channels of a message; 0: the library's own
  auto operator<=>(const ExitSettings&) const = default;
};

struct Communicator {
  std::string library;
  std::string caller{};                      ///< inference engine with an all_reduce of its own; empty: none
  std::vector<int> gpus;                     ///< members in rank order
  std::vector<Channel> channels;             ///< distinct rings
  std::string path_class;                    ///< NVL, NVB, PIX, PXB, PHB, SYS: worst class over all hops
  double link_equivalents = 0;               ///< sum of Channel::links
  BytesPerSecond library_channel_bandwidth;  ///< what the library assumes of one ring; 0 if its version assumes none
  bool fallback = false;                     ///< true: no closed NVLink ring, rank-order ring through host memory
  std::string why;                           ///< one sentence

  // What follows is empty where the library builds no trees.
  int rings_found = 0;                    ///< by the search, before trees limited their number
  bool one_order = false;                 ///< every ring runs in the same order
  std::vector<Tree> trees;                ///< as many as rings
  std::string tree_class;                 ///< worst class over all hops of the trees
  bool plain_trees = false;               ///< between nodes they would branch at one member instead of two
  BytesPerSecond tree_channel_bandwidth;  ///< what the library assumes of one tree
  // Several equal nodes: `gpus` are the members of each; channels are its rings, entered at their first GPU. Messages
  // to member j of another node leave by the NIC next to their sender, or as exits[i][j] says for member i.
  int nodes = 1;
  BytesPerSecond network_channel_bandwidth;  ///< what the library assumes of one channel between nodes
  std::string network_class;                 ///< worst class of a way to a NIC over all rings; empty: not searched
  bool nics_near = true;                     ///< NICs access GPU memory on ways that LL128 may take
  NetworkPlugin plugin{};
  bool swaps_rings = false;                  ///< in every second node rings 2k and 2k+1 change places
  std::vector<std::vector<NicWay>> exits{};  ///< empty: the NIC next to the sender

  int message_channels = 0;  ///< most thread blocks of a message in a node; 0: as many as there are
  /// How each member sends to each, row by row of the senders; empty: as the machine allows.
  std::vector<Hop> pairs{};

  int nvls_channels = 0;  ///< heads of multicast by the NVSwitch; 0: this machine or version has none
  int nvls_blocks = 0;    ///< thread blocks (library channels) that share these heads' work
  BytesPerSecond nvls_channel_bandwidth;

  [[nodiscard]] int ranks() const { return nodes * static_cast<int>(gpus.size()); }
  /// As queries name the library.
  [[nodiscard]] const std::string& name() const { return caller.empty() ? library : caller; }
};

struct ProtocolChoice {
  std::string protocol;      ///< LL, LL128 or Simple
  double payload_share = 1;  ///< payload bytes / bytes stored into the channel buffer
};

/// One row of the library's cost model: what it believes, not what linkcast forecasts.
struct TunerEntry {
  std::string algorithm;     ///< ring, tree, nvls, nvls_tree, pat, collnet_direct or collnet_chain
  std::string protocol;      ///< LL, LL128 or Simple
  BytesPerSecond bandwidth;  ///< size / time of large messages, without latency
  Seconds latency;
  Seconds time;  ///< latency + size / bandwidth; a tree's bandwidth is corrected for the size first
  bool enabled = true;
};

/// What the library takes for a size.
struct TunerChoice {
  TunerEntry entry;
  int channels = 1;  ///< thread blocks
  int threads = 0;   ///< of each block that move data
  double payload_share = 1;
  double in_flight_B = 0;     ///< that a GPU's threads load from each peer at once, in a full grid; 0: no limit
  bool whole_chunks = false;  ///< trees in Simple take whole chunks, however few they are for their depth
  std::string why{};          ///< an engine leaves the call to the library below it, or what its choice rests on
  bool by_rule = false;       ///< a plug-in's regions chose: estimates that lie close change nothing
};

/// How the library sends one message between two ranks.
struct MessageChoice {
  std::string protocol;  ///< LL or Simple
  int channels = 1;      ///< thread blocks of one message
  int all_channels = 1;  ///< thread blocks of all messages of one GPU
  double payload_share = 1;
};

struct TunerRequest {
  std::string operation;                      ///< all_reduce, all_gather, ...
  Bytes size;                                 ///< in the nccl-tests sense
  std::string algorithm;                      ///< empty, or forced
  std::string protocol;                       ///< empty, or forced
  bool nvls = true;                           ///< false: without multicast, as NCCL_NVLS_ENABLE=0
  bool collnet = false;                       ///< the switches between nodes reduce, as NCCL_COLLNET_ENABLE=1
  int channels = 0;                           ///< 0, or forced, as NCCL_MIN_NCHANNELS and NCCL_MAX_NCHANNELS
  int least_channels = 0, most_channels = 0;  ///< 0, or one of these two alone
  std::vector<std::string> without{};         ///< algorithms and protocols to leave out
  bool plugin_tuner = true;                   ///< false: a plug-in of the network does not choose
  /// Is it what is forced, where something is, and not left out?
  [[nodiscard]] bool admits(const TunerEntry& entry) const {
    return (algorithm.empty() || entry.algorithm == algorithm) && (protocol.empty() || entry.protocol == protocol) &&
           std::none_of(without.begin(), without.end(),
                        [&](const std::string& one) { return one == entry.algorithm || one == entry.protocol; });
  }
};

/// Start-up of an algorithm that is no ring and no tree of GPUs, in parts: how long one takes, and how many there are.
struct AlgorithmLatency {
  struct Part {
    double each_s = 0, count = 0;
  };
  double base_s = 0;
  Part inside{}, between{}, ranks{};  ///< hops in a node, hops between nodes, what each rank adds
  [[nodiscard]] double total_s() const {
    return base_s + inside.each_s * inside.count + between.each_s * between.count + ranks.each_s * ranks.count;
  }
};

}  // namespace linkcast
