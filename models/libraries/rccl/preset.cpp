#include "models/libraries/rccl/preset.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "models/libraries/ring_search.hpp"
#include "sim/base/index.hpp"
#include "sim/base/quantity.hpp"
#include "sim/records/cable_kinds.hpp"

namespace linkcast::rccl {
namespace {

// Channels of whole nodes and most of all. source: models/libraries/SOURCES.md, "RCCL"
constexpr int kMostOlder = 32, kMostAcross = 64;

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

/// XGMI links from each GPU number to each.
LinkMatrix links_between(const Platform& platform) {
  const Topology& topology = platform.topology();
  const std::vector<int> gpus = topology.gpus();
  std::map<int, int> number;
  for (std::size_t i = 0; i < gpus.size(); ++i) number[gpus[i]] = static_cast<int>(i);
  LinkMatrix links(static_cast<int>(gpus.size()));
  for (const Cable& cable : topology.cables) {
    if (!is_accelerator_cable(cable.kind) || !number.contains(cable.a) || !number.contains(cable.b)) continue;
    links.at(number[cable.a], number[cable.b]) += cable.count;
    links.at(number[cable.b], number[cable.a]) += cable.count;
  }
  return links;
}

int cpus_of(const Topology& topology) {
  return static_cast<int>(std::count_if(topology.devices.begin(), topology.devices.end(),
                                        [](const Device& one) { return one.kind == DeviceKind::kCpu; }));
}

LinkMatrix links_of(const Preset& preset) {
  LinkMatrix links(preset.gpus);
  const auto add = [&](int a, int b, int count) { links.at(a, b) = links.at(b, a) = count; };
  for (const std::string& pair : preset.links) add(pair[0] - '0', pair[1] - '0', pair.size() > 3 ? pair[3] - '0' : 1);
  for (int a = 0; preset.links.empty() && a < preset.gpus; ++a)
    for (int b = 0; b < a; ++b) add(a, b, 1);
  return links;
}

/// The first assignment, in the order of numbers, that gives each place of a preset a GPU with the same links and NICs.
class Matching {
 public:
  Matching(const Preset& preset, LinkMatrix machine, const std::vector<int>& nic_of)
      : preset_(preset), wanted_(links_of(preset)), machine_(std::move(machine)), nic_of_(nic_of) {}

  std::vector<int> find() {
    place(0);
    return std::move(gpus_);
  }

 private:
  bool place(int at_place) {
    if (at_place == preset_.gpus) return true;
    for (int gpu = 0; gpu < preset_.gpus; ++gpu) {
      if (std::find(gpus_.begin(), gpus_.end(), gpu) != gpus_.end() || !fits(at_place, gpu)) continue;
      gpus_.push_back(gpu);
      if (place(at_place + 1)) return true;
      gpus_.pop_back();
    }
    return false;
  }
  [[nodiscard]] bool fits(int place, int gpu) const {
    for (int other = 0; other < place; ++other) {
      const int there = gpus_[at(other)];
      if (wanted_.at(other, place) != machine_.at(there, gpu)) return false;
      if (!preset_.nic_of.empty() && !nic_of_.empty() &&
          (preset_.nic_of[at(other)] == preset_.nic_of[at(place)]) != (nic_of_[at(there)] == nic_of_[at(gpu)]))
        return false;
    }
    return true;
  }

  const Preset& preset_;
  LinkMatrix wanted_, machine_;
  const std::vector<int>& nic_of_;
  std::vector<int> gpus_;
};

bool is_for(const Preset& preset, Generation generation, int gpus, int cpus, int nics) {
  const auto has = [](const auto& list, auto one) { return std::find(list.begin(), list.end(), one) != list.end(); };
  return has(preset.generations, generation) && preset.gpus == gpus && (preset.cpus == 0 || preset.cpus == cpus) &&
         (nics == 0 ? preset.nics.empty() : has(preset.nics, nics));
}

/// The preset's orders as GPU numbers.
std::vector<std::vector<int>> orders_of(const Match& match) {
  std::vector<std::vector<int>> orders;
  for (const std::string& text : match.preset->orders) {
    std::vector<int> order;
    for (const char place : text) order.push_back(match.gpus[at(place - '0')]);
    orders.push_back(order);
    if (match.preset->both_directions) orders.emplace_back(order.rbegin(), order.rend());
  }
  return orders;
}

std::vector<Hop> hops_of(const std::vector<int>& order, bool closed) {
  std::vector<Hop> hops;
  for (std::size_t i = 0; i + (closed ? 0 : 1) < order.size(); ++i)
    hops.push_back({order[i], order[(i + 1) % order.size()]});
  return hops;
}

/// Gives each ring its share of the links that it passes: as much as the one that is shared by most leaves it.
void share_links(const Platform& platform, Communicator& built) {
  const LinkMatrix links = links_between(platform);
  std::map<std::pair<int, int>, int> uses;
  for (const Channel& ring : built.channels)
    for (const Hop& hop : ring.hops) ++uses[{hop.from, hop.to}];
  for (Channel& ring : built.channels) {
    ring.links = std::numeric_limits<double>::infinity();
    for (const Hop& hop : ring.hops)
      ring.links = std::min(ring.links, 1.0 * links.at(hop.from, hop.to) / uses[{hop.from, hop.to}]);
    built.link_equivalents += ring.links;
  }
}

Communicator begun(const Match& match, const Platform& platform, const std::vector<int>& gpus, int nodes,
                   const std::vector<std::vector<int>>& orders) {
  Communicator built;
  built.gpus = gpus;
  built.path_class = built.tree_class = kXgmi;
  built.rings_found = static_cast<int>(orders.size());
  built.nodes = nodes;
  built.message_channels = message_channels(platform, gpus, nodes);
  const double all = links_GBps(platform, gpus);
  built.tree_channel_bandwidth = {all / static_cast<double>(orders.size()) * kGiga};
  built.why = fmt::format("preset {} of {} rings, which the library counts as all links of a GPU, {} GB/s",
                          match.preset->number, orders.size(), all);
  return built;
}

/// Channels of the whole node, and how many each of so many orders has.
int blocks_each(Generation generation, int nodes, std::size_t orders) {
  // source: models/libraries/SOURCES.md, "RCCL": 4 rings four times, 28 rings twice; 64 on several nodes
  constexpr int kOlder = 16, kMi300Inside = 56;
  const int all = generation < Generation::kMi300 ? kOlder : nodes > 1 ? kMostAcross : kMi300Inside;
  return all / static_cast<int>(orders);
}

}  // namespace

Generation generation_of(const Platform& platform, const std::vector<int>& gpus) {
  const std::string& model = platform.topology().devices[at(platform.gpu(gpus.front()))].model;
  if (contains(model, "gfx95") || contains(model, "MI35")) return Generation::kMi350;
  if (contains(model, "gfx94") || contains(model, "MI30") || contains(model, "MI32")) return Generation::kMi300;
  return contains(model, "gfx90a") || contains(model, "MI2") ? Generation::kMi200 : Generation::kMi100;
}

double links_GBps(const Platform& platform, const std::vector<int>& gpus) {
  const LinkMatrix links = links_between(platform);
  int most = 0;
  for (const int from : gpus) {
    int sum = 0;
    for (const int to : gpus) sum += links.at(from, to);
    most = std::max(most, sum);
  }
  return most * link_GBps(generation_of(platform, gpus));
}

int message_channels(const Platform& platform, const std::vector<int>& gpus, int nodes) {
  constexpr int kAcross = 2, kWithoutLink = 2;
  if (nodes > 1) return kAcross;
  const bool mi300 = generation_of(platform, gpus) >= Generation::kMi300;
  const LinkMatrix links = links_between(platform);
  int least = std::numeric_limits<int>::max();
  for (const int from : gpus)
    for (const int to : gpus) {
      if (from == to) continue;
      const int direct = links.at(from, to);
      least = std::min(least, direct == 0 ? kWithoutLink : (mi300 ? 4 : 2) * direct);
    }
  return static_cast<int>(std::bit_ceil(static_cast<unsigned>(least))) * (mi300 ? 2 : 1);
}

int repeats(Generation generation, int ranks, int nodes, int rings) {
  const bool mi300 = generation >= Generation::kMi300;
  const int most = mi300 ? kMostAcross : kMostOlder;
  if (2 * rings > most) return 1;
  int times = 2;
  if (mi300 && nodes == 1 && ranks == 2) times = 16;
  if (mi300 && nodes == 1 && ranks == 4) times = 4;
  if (generation == Generation::kMi200) times = nodes == 1 ? 4 : std::max(2, 4 / rings);
  if (generation == Generation::kMi100) times = std::max(2, 4 / rings);
  return std::min(times, most / rings);
}

Match find_preset(const Platform& platform, const std::vector<int>& gpus, int nics, const std::vector<int>& nic_of) {
  const int all = static_cast<int>(gpus.size());
  if (all != platform.gpu_count()) return {};
  const Generation generation = generation_of(platform, gpus);
  const int cpus = cpus_of(platform.topology());
  for (const Preset& preset : presets()) {
    if (!is_for(preset, generation, all, cpus, nics)) continue;
    std::vector<int> found = Matching(preset, links_between(platform), nic_of).find();
    if (!found.empty()) return {&preset, std::move(found)};
  }
  return {};
}

const Preset* preset_of(const Platform& platform, const Communicator& communicator) {
  std::set<int> nics;
  for (const Channel& ring : communicator.channels)
    if (communicator.nodes > 1) nics.insert(ring.in.nic);
  const Match match = find_preset(platform, communicator.gpus, static_cast<int>(nics.size()), {});
  if (match.preset == nullptr || communicator.trees.empty()) return nullptr;
  return communicator.trees.front().order == orders_of(match).front() ? match.preset : nullptr;
}

Communicator preset_inside(const Match& match, const Platform& platform, const std::vector<int>& gpus) {
  const std::vector<std::vector<int>> orders = orders_of(match);
  Communicator built = begun(match, platform, gpus, 1, orders);
  built.library_channel_bandwidth = built.tree_channel_bandwidth;
  const int blocks = blocks_each(generation_of(platform, gpus), 1, orders.size());
  for (const std::vector<int>& order : orders) {
    built.trees.push_back({order, hops_of(order, false), blocks});
    std::vector<int> turned = order;
    std::rotate(turned.begin(), std::find(turned.begin(), turned.end(), gpus.front()), turned.end());
    built.channels.push_back({turned, hops_of(turned, true), 1, blocks});
  }
  share_links(platform, built);
  return built;
}

/// In every second node rings run backwards, so that each leaves a node by the NIC that it enters the next one by:
/// orders that follow their mirrors change places with them.
Communicator preset_across(const Match& match, const Cluster& cluster, const std::vector<int>& gpus, int nodes) {
  const Platform& node = cluster.node();
  const std::vector<std::vector<int>> orders = orders_of(match);
  Communicator built = begun(match, node, gpus, nodes, orders);
  std::vector<std::vector<int>> both;
  for (const std::vector<int>& order : orders) {
    if (std::find(both.begin(), both.end(), order) != both.end()) continue;
    both.push_back(order);
    both.emplace_back(order.rbegin(), order.rend());
  }
  const auto near = [&](int gpu) { return nic_way(cluster, cluster.nic_of(gpu)); };
  const Generation generation = generation_of(node, gpus);
  for (const std::vector<int>& order : both)
    built.channels.push_back({order, hops_of(order, false), 1, blocks_each(generation, nodes, both.size()),
                              near(order.front()), near(order.back())});
  for (const std::vector<int>& order : orders)
    built.trees.push_back({order, hops_of(order, false), blocks_each(generation, nodes, orders.size()),
                           near(order.front()), near(order[1])});
  built.swaps_rings = nodes % 2 == 0;
  const double all = links_GBps(node, gpus);
  built.library_channel_bandwidth = built.network_channel_bandwidth = {all / static_cast<double>(both.size()) * kGiga};
  share_links(node, built);
  return built;
}

}  // namespace linkcast::rccl
