#include "models/libraries/graph/paths.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/base/index.hpp"

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
      case LinkKind::kPort:
        return PathClass::kLoc;
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

PathClass worst_of(const std::vector<Path>& paths, PathClass limit, PathClass worst) {
  for (const Path& path : paths)
    if (path.found && path.path_class <= limit) worst = std::max(worst, path.path_class);
  return worst;
}

/// Worst class over which a NIC accesses GPU memory.
PathClass nic_limit(const SearchTraits& traits) {
  const bool by_chip = std::find(traits.classes.begin(), traits.classes.end(), PathClass::kP2c) != traits.classes.end();
  return by_chip ? PathClass::kP2c : PathClass::kPxb;
}

/// A way that leaves the GPU by its link to the CPU of its module and goes on by PCIe has a class of its own.
PathClass named_by_chip(const NodeModel& model, const Path& path) {
  const auto of_kind = [&](LinkKind kind) {
    return std::any_of(path.links.begin(), path.links.end(),
                       [&](int link) { return model.links()[static_cast<std::size_t>(link)].kind == kind; });
  };
  return of_kind(LinkKind::kC2c) && !of_kind(LinkKind::kSys) ? PathClass::kP2c : path.path_class;
}

}  // namespace

PathTable::PathTable(const NodeModel& model, const SearchTraits& traits, const Access& access)
    : gpus_(model.gpus()),
      nics_(static_cast<int>(model.ports().size())),
      proxies_(traits.proxies_to_nic && access.proxies),
      cross_nic_(access.cross_nic),
      paths_(static_cast<std::size_t>(gpus_) * static_cast<std::size_t>(gpus_)) {
  const Discovery discovery(model, traits);
  All to_node;
  for (std::size_t node = 0; node < model.nodes().size(); ++node)
    to_node.push_back(discovery.to(static_cast<int>(node)));
  find_gpu_paths(model, traits, access, to_node);
  if (nics_ == 0) return;
  find_nic_paths(model, traits, access, to_node);
  find_neighbours(model);
  if (proxies_) pass_through_gpus();
}

void PathTable::find_gpu_paths(const NodeModel& model, const SearchTraits& traits, const Access& access,
                               const All& to_node) {
  const PathClass limit = access.user_limit.value_or(peer_limit(model, traits));
  const bool no_pcie = traits.driver_decides_peers && !access.pcie_peers;
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

void PathTable::find_nic_paths(const NodeModel& model, const SearchTraits& traits, const Access& access,
                               const All& to_node) {
  to_nic_.resize(static_cast<std::size_t>(gpus_) * static_cast<std::size_t>(nics_));
  from_nic_.resize(to_nic_.size());
  const PathClass own_limit = nic_limit(traits), limit = access.nic_limit.value_or(own_limit);
  for (int nic = 0; nic < nics_; ++nic) {
    const int port = model.ports()[static_cast<std::size_t>(nic)];
    if (port < 0) continue;
    const auto end = static_cast<std::size_t>(port);
    for (int gpu = 0; gpu < gpus_; ++gpu) {
      const auto member = static_cast<std::size_t>(gpu);
      Path out = to_node[end][member], in = to_node[member][end];
      if (!out.found || !in.found) continue;
      if (own_limit == PathClass::kP2c) out.path_class = in.path_class = named_by_chip(model, out);
      const int cpu = nearest_cpu(model, gpu, to_node);
      if ((out.path_class > limit || !access.nics) && cpu >= 0) {
        const auto host = static_cast<std::size_t>(cpu);
        out = joined(to_node[host][member], to_node[end][host]);
        in = joined(to_node[host][end], to_node[member][host]);
      }
      to_nic_[nic_index(gpu, nic)] = std::move(out);
      from_nic_[nic_index(gpu, nic)] = std::move(in);
    }
  }
}

/// Next to a member are the NICs of the widest path, among these of the best class; next to a NIC the members of the
/// widest, among these of the fewest links.
void PathTable::find_neighbours(const NodeModel& model) {
  using Rank = std::pair<double, double>;  // less is nearer
  const auto nearest = [](int count, const auto& rank) {
    std::vector<int> best;
    Rank least{std::numeric_limits<double>::infinity(), 0};
    for (int i = 0; i < count; ++i) {
      const Rank one = rank(i);
      if (one < least) best.clear();
      least = std::min(least, one);
      if (one == least && std::isfinite(one.first)) best.push_back(i);
    }
    return best;
  };
  for (int gpu = 0; gpu < gpus_; ++gpu) {
    local_nics_.push_back(nearest(nics_, [&](int nic) {
      const Path& path = to_nic(gpu, nic);
      return path.found ? Rank{-path.width, static_cast<double>(path.path_class)}
                        : Rank{std::numeric_limits<double>::infinity(), 0};
    }));
    auto& list = local_nics_.back();
    const auto own = std::find_if(list.begin(), list.end(), [&](int nic) { return model.takes(gpu, nic); });
    if (own != list.end()) std::rotate(list.begin(), own, list.end());
  }
  for (int nic = 0; nic < nics_; ++nic)
    local_gpus_.push_back(nearest(gpus_, [&](int gpu) {
      const Path& path = from_nic(nic, gpu);
      return path.found ? Rank{-path.width, static_cast<double>(path.links.size())}
                        : Rank{std::numeric_limits<double>::infinity(), 0};
    }));
}

/// What a member sends goes by NVLink to the member whose NIC it is and from there, if that avoids the CPU or is wider.
void PathTable::pass_through_gpus() {
  for (int nic = 0; nic < nics_; ++nic) {
    int owner = -1;
    for (const int gpu : local_gpus(nic))
      if (owner < 0 || (local_nics(gpu).front() == nic && local_nics(owner).front() != nic)) owner = gpu;
    if (owner < 0) continue;
    const Path onward = to_nic(owner, nic);
    if (onward.path_class > PathClass::kP2c || !onward.peer) continue;
    for (int gpu = 0; gpu < gpus_; ++gpu) {
      if (gpu == owner || at(gpu, owner).path_class != PathClass::kNvl) continue;
      Path& out = to_nic_[nic_index(gpu, nic)];
      if (out.found && out.path_class <= PathClass::kPxn && out.width >= onward.width) continue;
      out = joined(at(gpu, owner), onward);
      out.path_class = PathClass::kPxn;
      out.relay = owner;
      out.peer = true;
    }
  }
}

PathClass PathTable::worst_within(PathClass limit) const { return worst_of(paths_, limit, PathClass::kLoc); }

PathClass PathTable::worst_nic_within(PathClass limit) const {
  return worst_of(from_nic_, limit, worst_of(to_nic_, limit, PathClass::kLoc));
}

double PathTable::greatest_nic_width() const {
  double greatest = 0;
  for (const auto* paths : {&to_nic_, &from_nic_})
    for (const Path& path : *paths) greatest = std::max(greatest, path.width);
  return greatest;
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
