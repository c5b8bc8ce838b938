#include "models/libraries/graph/build.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "models/libraries/compute_capability.hpp"
#include "models/libraries/graph/channel_plan.hpp"
#include "models/libraries/members.hpp"
#include "sim/units/factors.hpp"

namespace linkcast::graph {
namespace {

constexpr std::size_t kMostGpus = 128;  // ours: racks of 72 GPUs with multi-node NVLink are one node to the library

// source of this block: models/libraries/SOURCES.md, "NVLS on one node"
constexpr int kMostHeads = 32;
constexpr int kNvlsBlocksHopper = 16, kNvlsBlocksBlackwell = 32;

std::string number(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

std::string plural(int count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

/// The driver's consent is the machine's own; the user may forbid more, or allow it.
PathTable path_table(const Platform& platform, const NodeModel& model, const SearchTraits& traits) {
  const std::string& level = platform.told().p2p_level;
  const auto limit = level.empty() ? std::nullopt : path_class_of(level);
  if (!level.empty() && !limit) throw InputError("p2p_level: '" + level + "' is no class of path");
  return {model, traits, platform.topology().pcie_peer != PciePeer::kNone, limit};
}

class Builder {
 public:
  Builder(const Version& version, const Platform& platform, const std::vector<int>& ranks)
      : platform_(platform),
        traits_(version.search),
        gpus_(sorted(ranks)),
        model_(platform.as_told(), gpus_, traits_),
        paths_(path_table(platform, model_, traits_)),
        plan_(Planner(model_, paths_, traits_).plan()) {
    made_.library = version.name;
    made_.gpus = ranks;
  }

  Communicator build() {
    add_rings();
    add_trees();
    add_nvls();
    if (platform_.told().machine || !platform_.told().p2p_level.empty()) add_pairs();
    made_.why = why();
    return std::move(made_);
  }

 private:
  static std::vector<int> sorted(std::vector<int> gpus) {
    std::sort(gpus.begin(), gpus.end());
    return gpus;
  }

  [[nodiscard]] std::vector<int> order(const ChannelSet& set, int channel) const {
    std::vector<int> members;
    const auto count = gpus_.size();
    for (std::size_t i = 0; i < count; ++i)
      members.push_back(gpus_[static_cast<std::size_t>(set.orders[static_cast<std::size_t>(channel) * count + i])]);
    return members;
  }

  [[nodiscard]] int member(int gpu) const {
    return static_cast<int>(std::lower_bound(gpus_.begin(), gpus_.end(), gpu) - gpus_.begin());
  }

  /// What it is told does not make a link: without one the driver refuses peer access.
  [[nodiscard]] Hop hop(int from, int to) const {
    const Path& path = paths_.at(member(from), member(to));
    const auto linked = [&](int a, int b) {
      return platform_.peer_route(platform_.gpu(a), platform_.gpu(b)).has_value();
    };
    if (path.relay >= 0 && path.peer) {
      const int via = gpus_[static_cast<std::size_t>(path.relay)];
      if (linked(from, via) && linked(via, to)) return {from, to, HopKind::kRelay, via};
    }
    const bool peer = path.peer && path.relay < 0 && linked(from, to);
    return {from, to, peer ? HopKind::kPeer : HopKind::kHostMemory, -1};
  }

  void add_rings() {
    const ChannelSet& rings = plan_.rings;
    made_.rings_found = rings.channels;
    made_.one_order = rings.same_order;
    made_.path_class = to_text(rings.path_class);
    made_.library_channel_bandwidth = {rings.speed * kGiga};
    for (int c = 0; c < plan_.channels; ++c) {
      Channel channel;
      channel.order = order(rings, c);
      const auto first = std::find(channel.order.begin(), channel.order.end(), made_.gpus.front());
      std::rotate(channel.order.begin(), first, channel.order.end());
      for (std::size_t i = 0; i < channel.order.size(); ++i)
        channel.hops.push_back(hop(channel.order[i], channel.order[(i + 1) % channel.order.size()]));
      const bool host = std::any_of(channel.hops.begin(), channel.hops.end(),
                                    [](const Hop& passed) { return passed.kind == HopKind::kHostMemory; });
      made_.fallback |= host;
      channel.links = rings.path_class <= PathClass::kNvb && !host ? rings.speed / model_.nvlink_bandwidth() : 0;
      channel.blocks = plan_.copies;
      made_.link_equivalents += channel.links;
      made_.channels.push_back(std::move(channel));
    }
  }

  void add_trees() {
    const ChannelSet& trees = plan_.trees;
    made_.tree_class = to_text(trees.path_class);
    made_.tree_channel_bandwidth = {trees.speed * kGiga};
    made_.plain_trees = trees.pattern == Pattern::kPlainTree;
    for (int c = 0; c < plan_.channels; ++c) {
      Tree tree;
      tree.order = order(trees, c);
      for (std::size_t i = 0; i + 1 < tree.order.size(); ++i)
        tree.hops.push_back(hop(tree.order[i], tree.order[i + 1]));
      tree.blocks = plan_.copies;
      made_.trees.push_back(std::move(tree));
    }
  }

  /// Whether each member has links to one level of NVSwitches, which lead to all others.
  [[nodiscard]] bool below_switches() const {
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      const int to = gpus_[(i + 1) % gpus_.size()];
      const auto& route = platform_.peer_route(platform_.gpu(gpus_[i]), platform_.gpu(to));
      if (!route || route->links.size() != 2 || !platform_.accelerators_only(route->links)) return false;
    }
    return true;
  }

  /// One head GPU a channel; a channel takes its speed from every member's links, and twice from the head's.
  void add_nvls() {
    if (!model_.has_nvswitch() || model_.sm_min() < kHopper || model_.gpus() <= 2 || !below_switches()) return;
    const int heads = std::min(model_.gpus(), kMostHeads);
    const auto& speeds = std::prev(traits_.speeds.upper_bound(model_.sm_min()))->second;
    for (const double speed : speeds) {
      if (speed * (heads + 1) > model_.total_bandwidth(0)) continue;
      made_.nvls_channels = heads;
      made_.nvls_blocks = model_.sm_min() >= kBlackwell ? kNvlsBlocksBlackwell : kNvlsBlocksHopper;
      made_.nvls_channel_bandwidth = {speed * kGiga};
      return;
    }
  }

  void add_pairs() {
    for (const int from : made_.gpus)
      for (const int to : made_.gpus) made_.pairs.push_back(hop(from, to));
  }

  [[nodiscard]] std::string hops_of_kind(HopKind kind) const {
    std::vector<std::string> names;
    for (const Channel& channel : made_.channels)
      for (const Hop& passed : channel.hops) {
        if (passed.kind != kind) continue;
        const std::string name = std::to_string(passed.from) + "->" + std::to_string(passed.to) +
                                 (kind == HopKind::kRelay ? " over GPU " + std::to_string(passed.via) : "");
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
      }
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
  }

  [[nodiscard]] std::string why() const {
    std::string text =
        plural(plan_.channels, "ring") + " of " + number(plan_.rings.speed) + " GB/s as the library counts";
    const std::string relayed = hops_of_kind(HopKind::kRelay), host = hops_of_kind(HopKind::kHostMemory);
    if (plan_.rings.path_class == PathClass::kNvl && host.empty()) text += ", every hop by NVLink";
    if (!relayed.empty()) text += "; no direct NVLink for " + relayed;
    if (!host.empty()) text += "; no closed NVLink ring, through host memory: " + host;
    if (plan_.rings.channels > plan_.channels)
      text += "; " + std::to_string(plan_.rings.channels) + " rings were found, but only " +
              plural(plan_.trees.channels, "tree") + ", and the lesser number is used";
    return text;
  }

  const Platform& platform_;
  const SearchTraits& traits_;
  std::vector<int> gpus_;  ///< ascending: member i of the search is gpus_[i]
  NodeModel model_;
  PathTable paths_;
  ChannelPlan plan_;
  Communicator made_;
};

}  // namespace

Communicator build_communicator(const Version& version, const Platform& platform, const std::vector<int>& gpus) {
  check_members(platform, gpus);
  if (gpus.size() > kMostGpus)
    throw InputError("gpus: " + version.name + " is modelled for one node of at most " + std::to_string(kMostGpus));
  return Builder(version, platform, gpus).build();
}

}  // namespace linkcast::graph
