#include "topologies/formats/nccl_graph.hpp"

#include <algorithm>
#include <sstream>

#include "sim/base/factors.hpp"
#include "sim/base/input_error.hpp"
#include "topologies/formats/nccl_text.hpp"

namespace linkcast::exporters::nccl {
namespace {

/// Numbers of patterns in the file. @source  NVIDIA/nccl src/include/graph.h, NCCL_TOPO_PATTERN_*
enum class Pattern { kBalancedTree = 1, kSplitTree = 2, kTree = 3, kRing = 4 };

/// Up to 2.7 trees branch at the first GPU and the NIC of the second, from 2.8 on at two GPUs, or at one.
Pattern tree_pattern(const Communicator& communicator) {
  if (communicator.library == "nccl-2.7") return Pattern::kSplitTree;
  return communicator.plain_trees ? Pattern::kTree : Pattern::kBalancedTree;
}

std::string number(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

Element channel_of(const std::vector<int>& order) {
  Element channel{"channel", {}, {}};
  for (const int gpu : order) channel.children.push_back({"gpu", {{"dev", std::to_string(gpu)}}, {}});
  return channel;
}

template <class Channels>
bool in_one_order(const Channels& channels) {
  return std::all_of(channels.begin(), channels.end(),
                     [&](const auto& channel) { return channel.order == channels.front().order; });
}

/// The speed between nodes repeats the one inside, and PIX is what NCCL says of NICs where it uses none.
template <class Channels>
Element graph_of(int id, Pattern pattern, const Channels& channels, BytesPerSecond speed, const std::string& type,
                 bool same) {
  const std::string each = number(speed.si / kGiga);
  Element graph{"graph",
                {{"id", std::to_string(id)},
                 {"pattern", std::to_string(static_cast<int>(pattern))},
                 {"crossnic", "0"},
                 {"nchannels", std::to_string(channels.size())},
                 {"speedintra", each},
                 {"speedinter", each},
                 {"latencyinter", "0"},
                 {"typeintra", type},
                 {"typeinter", "PIX"},
                 {"samechannels", same ? "1" : "0"}},
                {}};
  for (const auto& channel : channels) graph.children.push_back(channel_of(channel.order));
  return graph;
}

}  // namespace

std::string graph_xml(const Communicator& communicator) {
  if (communicator.trees.empty())
    throw InputError(communicator.library +
                     " has no graphs: NCCL reads NCCL_GRAPH_FILE from 2.5 on, set library to nccl-2.7 or "
                     "later");
  return to_text({"graphs",
                  {{"version", "1"}},
                  {graph_of(0, Pattern::kRing, communicator.channels, communicator.library_channel_bandwidth,
                            communicator.path_class, communicator.one_order),
                   graph_of(1, tree_pattern(communicator), communicator.trees, communicator.tree_channel_bandwidth,
                            communicator.tree_class, in_one_order(communicator.trees))}});
}

}  // namespace linkcast::exporters::nccl
