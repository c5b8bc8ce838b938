#include "calibrate/import/nccl_graph_dump.hpp"

#include <fmt/format.h>

#include <charconv>
#include <sstream>

#include "calibrate/import/xml_node.hpp"

namespace linkcast {
namespace {

using topology_import::XmlNode;

double speed_of(const XmlNode& graph) {
  std::istringstream text(graph.text("speedintra"));
  double value = 0;
  if (!(text >> value) || !text.eof() || value < 0) graph.fail("speedintra", "is no speed in GB/s");
  return value;
}

/// NCCL writes 0 and 0x1 to 0xf since 2.19, 0 to 15 before.
int gpu_of(const XmlNode& node) {
  const std::string text = node.text("dev");
  if (!text.starts_with("0x")) return node.number("dev", 0);
  constexpr int kHex = 16;
  int gpu = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + 2, end, gpu, kHex);
  if (read.ec != std::errc() || read.ptr != end || gpu < 0) node.fail("dev", "'" + text + "' is no GPU's number");
  return gpu;
}

DumpedGraph graph_of(const XmlNode& node) {
  DumpedGraph graph;
  graph.id = node.number("id", 0);
  graph.pattern = node.number("pattern", 0);
  graph.channels = node.number("nchannels", 0);
  graph.speed_GBps = speed_of(node);
  graph.path_class = node.text("typeintra");
  graph.one_order = node.number("samechannels", 0) != 0;
  for (const XmlNode& channel : node.children("channel")) {
    graph.orders.emplace_back();
    for (const XmlNode& gpu : channel.children("gpu")) graph.orders.back().push_back(gpu_of(gpu));
  }
  if (static_cast<int>(graph.orders.size()) != graph.channels)
    node.fail("nchannels", fmt::format("{} channels follow", graph.orders.size()));
  return graph;
}

}  // namespace

std::vector<DumpedGraph> read_graph_dump(const std::string& path) {
  const topology_import::XmlFile file(path);
  const topology_import::XmlNode root = file.root_named("graphs", "not what NCCL_GRAPH_DUMP_FILE writes");
  std::vector<DumpedGraph> graphs;
  for (const XmlNode& graph : root.children("graph")) graphs.push_back(graph_of(graph));
  return graphs;
}

}  // namespace linkcast
