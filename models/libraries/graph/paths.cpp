#include "models/libraries/graph/paths.hpp"

#include <algorithm>
#include <limits>

#include "sim/units/index.hpp"

namespace linkcast::graph {
namespace {

constexpr double kLocal = 5000;  // source: models/libraries/SOURCES.md, bandwidth of a place to itself

class Discovery {
 public:
  Discovery(const NodeModel& model, const SearchTraits& traits) : model_(model), traits_(traits) {}

  /// Paths of all nodes to `base`: breadth first from there, each found link turned round.
  std::vector<Path> to(int base) const {
    std::vector<Path> paths(model_.nodes().size());
    paths[at(base)] = {{}, kLocal, PathClass::kLoc, true, -1, true};
    std::vector<int> layer{base};
    while (!layer.empty()) {
      std::vector<int> next;
      for (const int node : layer)
        for (const int link : model_.nodes()[at(node)].links) extend(paths, base, node, link, next);
      layer = std::move(next);
    }
    return paths;
  }

 private:
  [[nodiscard]] NodeKind kind(int node) const { return model_.nodes()[at(node)].kind; }

  void extend(std::vector<Path>& paths, int base, int node, int link_index, std::vector<int>& next) const {
    const GraphLink& link = model_.links()[at(link_index)];
    const Path& so_far = paths[at(node)];
    Path& known = paths[at(link.to)];
    if (link.to == base) return;
    if (node != base && kind(node) == NodeKind::kGpu && !relays(link, so_far)) return;
    Path made;
    made.found = true;
    made.width = std::min(so_far.width, link.bandwidth);
    made.path_class = std::max(so_far.path_class, class_of(link, so_far, node != base));
    if (!better(made, so_far.links.size() + 1, known)) return;
    made.links.push_back(model_.back(link_index));
    made.links.insert(made.links.end(), so_far.links.begin(), so_far.links.end());
    known = std::move(made);
    const bool passable = traits_.relays || kind(link.to) != NodeKind::kGpu;
    if (passable && std::find(next.begin(), next.end(), link.to) == next.end()) next.push_back(link.to);
  }

  /// A GPU passes on only NVLink to another GPU, and only one hop behind the base.
  [[nodiscard]] bool relays(const GraphLink& link, const Path& so_far) const {
    return traits_.relays && link.kind == LinkKind::kNvlink && kind(link.to) == NodeKind::kGpu &&
           so_far.links.size() == 1;
  }

  [[nodiscard]] bool better(const Path& made, std::size_t hops, const Path& known) const {
    if (!known.found) return true;
    if (!traits_.class_before_width) return known.links.size() >= hops && known.width < made.width;
    if (made.path_class != known.path_class) return made.path_class < known.path_class;
    if (made.width != known.width) return made.width > known.width;
    return hops < known.links.size();
  }

  [[nodiscard]] PathClass class_of(const GraphLink& link, const Path& so_far, bool through) const {
    const NodeKind from = kind(link.from), to = kind(link.to);
    switch (link.kind) {
      case LinkKind::kSys:
        return so_far.path_class == PathClass::kNvl && traits_.nvlink_through_power && model_.cpu() == CpuMaker::kPower
                   ? PathClass::kNvl
                   : PathClass::kSys;
      case LinkKind::kC2c:
        return PathClass::kC2c;
      case LinkKind::kPci:
        if (from == NodeKind::kCpu || to == NodeKind::kCpu) return PathClass::kPhb;
        return from == NodeKind::kPciSwitch && to == NodeKind::kPciSwitch ? PathClass::kPxb : PathClass::kPix;
      case LinkKind::kNvlink:
        break;
    }
    const bool by_gpu = through && from == NodeKind::kGpu && so_far.path_class == PathClass::kNvl;
    return by_gpu ? PathClass::kNvb : PathClass::kNvl;
  }

  const NodeModel& model_;
  const SearchTraits& traits_;
};

/// Worst class over which two GPUs access each other's memory.
PathClass peer_limit(const NodeModel& model, const SearchTraits& traits) {
  const CpuMaker cpu = model.cpu();
  if (cpu == CpuMaker::kAmd) {
    if (traits.peers == PeerRule::kByIntelModel) return PathClass::kSys;
    return model.gpus() <= 2 ? PathClass::kSys : PathClass::kPxb;
  }
  if (cpu == CpuMaker::kPower) return traits.peers == PeerRule::kPxb ? PathClass::kPxb : PathClass::kSys;
  if (cpu == CpuMaker::kArm || traits.peers != PeerRule::kByIntelModel) return PathClass::kPxb;
  return cpu == CpuMaker::kBroadwell ? PathClass::kPxb : PathClass::kPhb;
}

int nearest_cpu(const NodeModel& model, int gpu, const std::vector<std::vector<Path>>& to_node) {
  int nearest = -1;
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (std::size_t node = 0; node < model.nodes().size(); ++node) {
    if (model.nodes()[node].kind != NodeKind::kCpu) continue;
    const Path& path = to_node[node][static_cast<std::size_t>(gpu)];
    if (!path.found || path.links.size() >= least) continue;
    least = path.links.size();
    nearest = static_cast<int>(node);
  }
  return nearest;
}

Path joined(const Path& first, const Path& second) {
  Path path = first;
  path.links.insert(path.links.end(), second.links.begin(), second.links.end());
  path.width = std::min(first.width, second.width);
  path.path_class = std::max(first.path_class, second.path_class);
  path.peer = false;
  return path;
}

}  // namespace

PathTable::PathTable(const NodeModel& model, const SearchTraits& traits, bool driver_allows_pcie_peers,
                     std::optional<PathClass> user_limit)
    : gpus_(model.gpus()), paths_(static_cast<std::size_t>(gpus_) * static_cast<std::size_t>(gpus_)) {
  const Discovery discovery(model, traits);
  std::vector<std::vector<Path>> to_node;
  for (std::size_t node = 0; node < model.nodes().size(); ++node)
    to_node.push_back(discovery.to(static_cast<int>(node)));
  const PathClass limit = user_limit.value_or(peer_limit(model, traits));
  const bool no_pcie = traits.driver_decides_peers && !driver_allows_pcie_peers;
  for (int to = 0; to < gpus_; ++to) {
    const int cpu = nearest_cpu(model, to, to_node);
    for (int from = 0; from < gpus_; ++from) {
      Path path = to_node[static_cast<std::size_t>(to)][static_cast<std::size_t>(from)];
      const bool over_pcie = path.path_class > PathClass::kC2c;
      const bool peer = path.found && path.path_class <= limit && !(over_pcie && no_pcie);
      if (!peer && from != to && cpu >= 0)
        path = joined(to_node[static_cast<std::size_t>(cpu)][static_cast<std::size_t>(from)],
                      to_node[static_cast<std::size_t>(to)][static_cast<std::size_t>(cpu)]);
      if (path.path_class == PathClass::kNvb)
        path.relay = model.links()[static_cast<std::size_t>(path.links.front())].to;
      paths_[index(from, to)] = std::move(path);
    }
  }
}

PathClass PathTable::best_class() const {
  PathClass best = PathClass::kNet;
  for (int from = 0; from < gpus_; ++from)
    for (int to = 0; to < gpus_; ++to)
      if (from != to) best = std::min(best, at(from, to).path_class);
  return best;
}

PathClass PathTable::worst_class() const {
  PathClass worst = PathClass::kLoc;
  for (int from = 0; from < gpus_; ++from)
    for (int to = 0; to < gpus_; ++to)
      if (from != to) worst = std::max(worst, at(from, to).path_class);
  return worst;
}

double PathTable::greatest_width() const {
  double greatest = 0;
  for (int from = 0; from < gpus_; ++from)
    for (int to = 0; to < gpus_; ++to)
      if (from != to) greatest = std::max(greatest, at(from, to).width);
  return greatest;
}

}  // namespace linkcast::graph
