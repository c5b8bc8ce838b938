#include "models/libraries/graph/build.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <mutex>
#include <sstream>
#include <string>
#include <type_traits>
#include <unordered_map>

#include "models/libraries/generations.hpp"
#include "models/libraries/graph/channel_plan.hpp"
#include "sim/base/index.hpp"
#include "sim/base/quantity.hpp"

namespace linkcast::graph {
namespace {

// Sets of GPUs that look alike to the search share one: it reads nothing but the node model and the paths.

constexpr std::size_t kMostBytes = 16 << 20;  // of keys: some thousand sets of 16 GPUs. source: ours

/// All that a search reads, byte by byte. Links are numbered as paths pass them: what the machine has besides, and
/// where in it the members are, does not tell.
class Key {
 public:
  Key(const NodeModel& model, const PathTable& paths, const SearchTraits& traits)
      : model_(model), number_(model.links().size(), -1) {
    put(&traits);
    put(model.gpus());
    put(model.sm_min());
    put(model.cpu());
    put(model.has_nvswitch());
    for (int gpu = 0; gpu < model.gpus(); ++gpu) put_links(model.nodes()[at(gpu)].links);
    put_paths(paths);
  }

  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  template <class Value>
  void put(const Value& value) {
    static_assert(std::is_scalar_v<Value>);
    text_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }

  void put_all(const std::vector<int>& values) {
    put(values.size());
    for (const int value : values) put(value);
  }

  void put_links(const std::vector<int>& links) {
    put(links.size());
    for (const int link : links) put_link(link);
  }

  void put_link(int link) {
    int& number = number_[at(link)];
    const bool fresh = number < 0;
    if (fresh) number = next_++;
    put(number);
    if (!fresh) return;
    const GraphLink& what = model_.links()[at(link)];
    const NodeKind end = model_.nodes()[at(what.to)].kind;
    put(what.kind);
    put(what.bandwidth);
    put(end);
    if (what.kind == LinkKind::kPci || end == NodeKind::kCpu) put_link(model_.back(link));
  }

  void put(const Path& path) {
    put_links(path.links);
    put(path.width);
    put(path.path_class);
    put(path.peer);
    put(path.relay);
    put(path.found);
  }

  void put_paths(const PathTable& paths) {
    put(paths.nics());
    put(paths.cross_nic());
    for (int from = 0; from < paths.gpus(); ++from) {
      for (int to = 0; to < paths.gpus(); ++to) put(paths.at(from, to));
      for (int nic = 0; nic < paths.nics(); ++nic) {
        put(paths.to_nic(from, nic));
        put(paths.from_nic(nic, from));
      }
      if (paths.nics() > 0) put_all(paths.local_nics(from));
    }
    for (int nic = 0; nic < paths.nics(); ++nic) put_all(paths.local_gpus(nic));
  }

  const NodeModel& model_;
  std::vector<int> number_;  ///< of each link of the model that was met
  int next_ = 0;
  std::string text_;
};

class KnownPlans {
 public:
  const ChannelPlan* find(const std::string& key) {
    const auto known = plans_.find(key);
    return known == plans_.end() ? nullptr : &known->second;
  }

  void add(std::string key, const ChannelPlan& plan) {
    if (key.size() > kMostBytes) return;
    bytes_ += key.size();
    if (bytes_ > kMostBytes) {
      plans_.clear();
      bytes_ = key.size();
    }
    plans_.try_emplace(std::move(key), plan);
  }

 private:
  std::unordered_map<std::string, ChannelPlan> plans_;
  std::size_t bytes_ = 0;
};

/// As Planner(model, paths, traits).plan(), which is made once for all sets that are the same in every figure and
/// number that it reads: those that a symmetry of the machine which keeps the order of GPUs maps onto each other.
/// May be called by several threads.
/// @param traits  of versions(): told apart by their address
ChannelPlan plan_of(const NodeModel& model, const PathTable& paths, const SearchTraits& traits) {
  static std::mutex guard;
  static KnownPlans known;
  std::string key = Key(model, paths, traits).take();
  {
    const std::lock_guard lock(guard);
    if (const ChannelPlan* plan = known.find(key)) return *plan;
  }
  const ChannelPlan plan = Planner(model, paths, traits).plan();
  const std::lock_guard lock(guard);
  known.add(std::move(key), plan);
  return plan;
}

constexpr std::size_t kMostGpus = 128;  // ours: racks of 72 GPUs with multi-node NVLink are one node to the library

// source of this block: models/libraries/SOURCES.md, "NVLS on one node"
constexpr int kMostHeads = 32;

std::string number(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

std::string plural(int count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

/// The driver's consent is the machine's own; the user may forbid more, or allow it.
Access access(const Platform& platform, const ExitSettings& exits) {
  const std::string& level = platform.library_topology().p2p_level;
  const auto limit = level.empty() ? std::nullopt : path_class_of(level);
  const auto nic_limit = exits.gdr_level.empty() ? std::nullopt : path_class_of(exits.gdr_level);
  if (!level.empty() && !limit) throw InputError("p2p_level: '" + level + "' is no class of path");
  return {platform.topology().pcie_peer != PciePeer::kNone,
          platform.topology().gpudirect_rdma,
          exits.pxn,
          limit,
          nic_limit,
          exits.cross_nic};
}

class Builder {
 public:
  Builder(const Version& version, const Platform& platform, const std::vector<int>& ranks,
          const std::vector<GraphNic>& nics, const ExitSettings& exits)
      : platform_(platform),
        traits_(version.search),
        gpus_(sorted(ranks)),
        model_(platform.as_library_sees(), gpus_, traits_, nics),
        paths_(model_, traits_, access(platform, exits)),
        plan_(plan_of(model_, paths_, traits_)) {
    made_.library = version.name;
    made_.gpus = ranks;
  }

  Communicator build() {
    add_rings();
    add_trees();
    add_nvls();
    if (paths_.nics() > 0)
      add_exits();
    else
      add_message_channels();
    if (platform_.library_topology().overrides()) add_pairs();
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

  /// Worst class of a way to a NIC that LL128 may take: none through a CPU, through a GPU from Hopper on.
  [[nodiscard]] PathClass lines_arrive_whole() const {
    return model_.sm_min() >= kHopper ? PathClass::kPxn : PathClass::kPxb;
  }

  [[nodiscard]] int gpu(int member) const { return gpus_[static_cast<std::size_t>(member)]; }

  [[nodiscard]] NicWay nic_way(int member, int nic) const {
    const Path& out = paths_.to_nic(member, nic);
    NicWay way{nic, {}, !out.peer};
    if (out.relay >= 0) way.handover = hop(gpu(member), gpu(out.relay));
    return way;
  }

  /// Messages leave by the NIC next to the GPU that gets them, if its owner here is reached by NVLink or it is near.
  void add_exits() {
    for (const int from : made_.gpus) {
      made_.exits.emplace_back();
      for (const int to : made_.gpus) {
        const int own = first_nic(member(from)), wanted = first_nic(member(to));
        const bool reached = paths_.to_nic(member(from), wanted).path_class <= PathClass::kPxn;
        made_.exits.back().push_back(nic_way(member(from), paths_.proxies() && reached ? wanted : own));
      }
    }
  }
  [[nodiscard]] int first_nic(int member) const {
    const auto& list = paths_.local_nics(member);
    if (!list.empty()) return list.front();
    int nic = 0;  // no way that the library knows: the one that the machine has next to it
    while (nic + 1 < paths_.nics() && !model_.takes(member, nic)) ++nic;
    return nic;
  }

  void add_rings() {
    const ChannelSet& rings = plan_.rings;
    made_.rings_found = rings.channels;
    made_.one_order = rings.same_order;
    made_.path_class = to_text(rings.path_class);
    made_.library_channel_bandwidth = {rings.speed * kGiga};
    const bool between = paths_.nics() > 0;
    if (between) {
      made_.network_channel_bandwidth = {rings.network_speed * kGiga};
      made_.network_class = to_text(rings.nic_class);
      made_.nics_near = std::max(rings.nic_class, plan_.trees.nic_class) <= lines_arrive_whole();
    }
    made_.swaps_rings = rings.crosses && paths_.cross_nic() == 2 && plan_.channels % 2 == 0;
    for (int c = 0; c < plan_.channels; ++c) {
      Channel channel;
      channel.order = order(rings, c);
      const auto first = std::find(channel.order.begin(), channel.order.end(), made_.gpus.front());
      if (!between) std::rotate(channel.order.begin(), first, channel.order.end());
      const std::size_t hops = channel.order.size() - (between ? 1 : 0);
      for (std::size_t i = 0; i < hops; ++i)
        channel.hops.push_back(hop(channel.order[i], channel.order[(i + 1) % channel.order.size()]));
      const bool host = std::any_of(channel.hops.begin(), channel.hops.end(),
                                    [](const Hop& passed) { return passed.kind == HopKind::kHostMemory; });
      made_.fallback |= host;
      channel.links = rings.path_class <= PathClass::kNvb && !host ? rings.speed / model_.nvlink_bandwidth() : 0;
      channel.blocks = plan_.copies;
      if (between) {
        channel.in = nic_way(member(channel.order.front()), rings.nics_in[static_cast<std::size_t>(c)]);
        channel.out = nic_way(member(channel.order.back()), rings.nics_out[static_cast<std::size_t>(c)]);
      }
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
      if (paths_.nics() > 0) {
        tree.first = nic_way(member(tree.order.front()), trees.nics_in[static_cast<std::size_t>(c)]);
        const int second = tree.order[tree.order.size() > 1 ? 1 : 0];
        tree.second = nic_way(member(second), trees.nics_out[static_cast<std::size_t>(c)]);
      }
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
    if (!model_.has_nvswitch() || nccl_generation(model_.sm_min()).nvls_blocks == 0 || model_.gpus() <= 2 ||
        !below_switches())
      return;
    const int heads = std::min(model_.gpus(), kMostHeads);
    const auto& speeds = std::prev(traits_.speeds.upper_bound(model_.sm_min()))->second;
    for (const double speed : speeds) {
      if (speed * (heads + 1) > model_.total_bandwidth(0)) continue;
      made_.nvls_channels = heads;
      made_.nvls_blocks = nccl_generation(model_.sm_min()).nvls_blocks;
      made_.nvls_channel_bandwidth = {speed * kGiga};
      return;
    }
  }

  /// Twice the NVLinks of the narrowest pair, or 2. source: models/libraries/SOURCES.md, "Graph era: messages"
  void add_message_channels() {
    constexpr double kRounding = 1e-6;
    int least = std::numeric_limits<int>::max();
    for (int from = 0; from < model_.gpus(); ++from)
      for (int to = 0; to < model_.gpus(); ++to) {
        if (from == to) continue;
        const Path& path = paths_.at(from, to);
        const bool nvlink = path.peer && path.path_class == PathClass::kNvl;
        least = std::min(least, nvlink ? 2 * static_cast<int>(path.width / model_.nvlink_bandwidth() + kRounding) : 2);
      }
    made_.message_channels = static_cast<int>(std::bit_ceil(static_cast<unsigned>(least)));
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
        plan_.rings.found
            ? plural(plan_.channels, "ring") + " of " + number(plan_.rings.speed) + " GB/s as the library counts"
            : "the library finds no ring of the least rate that it looks for, and takes one in the order "
              "of the GPUs";
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
  return Builder(version, platform, gpus, {}, {}).build();
}

Communicator build_part(const Version& version, const Platform& platform, const std::vector<int>& gpus,
                        const std::vector<GraphNic>& nics, const ExitSettings& exits) {
  if (gpus.size() > 1) check_members(platform, gpus);
  if (gpus.size() > kMostGpus)
    throw InputError("gpus: " + version.name + " is modelled for nodes of at most " + std::to_string(kMostGpus));
  return Builder(version, platform, gpus, nics, exits).build();
}

}  // namespace linkcast::graph
