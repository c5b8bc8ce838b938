#include "validate/emulation/wish.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "sim/base/index.hpp"
#include "sim/machine/symmetry.hpp"
#include "sim/place/node_search.hpp"
#include "sim/records/cable_kinds.hpp"

namespace linkcast::emulation {
namespace {

constexpr int kMostSets = 20000;  // source: ours, seconds of isomorphism
constexpr int kMostNumbered = 8;  // source: ours, 40,320 numberings
// source: ours: one link, half a P100's four, a third of an H200's 18, and all of them
constexpr std::array<int, 4> kCounts = {1, 2, 6, 18};

bool is_link(const Cable& cable) {
  const auto trait = trait_of(cable.kind);
  return is_accelerator_cable(cable.kind) && trait != CableTrait::kChip && trait != CableTrait::kHost;
}

WishedLinks links_of(const Platform& machine, const std::vector<int>& gpus) {
  const Topology& topology = machine.topology();
  WishedLinks links;
  std::map<int, int> sockets;  // by device
  const std::size_t count = gpus.size();
  links.between.assign(count, std::vector<int>(count, 0));
  links.to_switch.assign(count, 0);
  for (std::size_t i = 0; i < count; ++i) {
    const int device = machine.gpu(gpus[i]);
    links.socket.push_back(
        sockets.try_emplace(machine.socket_of(device), static_cast<int>(sockets.size())).first->second);
    for (const Cable& cable : topology.cables) {
      if (!is_link(cable) || (cable.a != device && cable.b != device)) continue;
      const int other = cable.a == device ? cable.b : cable.a;
      if (topology.devices[at(other)].kind == DeviceKind::kNvswitch) links.to_switch[i] += cable.count;
      for (std::size_t k = 0; k < count; ++k)
        if (machine.gpu(gpus[k]) == other) links.between[i][k] += cable.count;
    }
  }
  return links;
}

/// The same for every numbering of the GPUs: the least of what all numberings give.
std::vector<int> shape_of(const WishedLinks& links) {
  const int count = static_cast<int>(links.socket.size());
  std::vector<int> order = first_numbers(count), least;
  do {
    std::vector<int> shape;
    std::map<int, int> sockets;
    for (const int a : order) {
      shape.push_back(sockets.try_emplace(links.socket[at(a)], static_cast<int>(sockets.size())).first->second);
      shape.push_back(links.to_switch[at(a)]);
      for (const int b : order) shape.push_back(links.between[at(a)][at(b)]);
    }
    if (least.empty() || shape < least) least = std::move(shape);
  } while (std::next_permutation(order.begin(), order.end()));
  return least;
}

std::string joined_numbers(const std::vector<int>& numbers) {
  std::string text;
  for (const int number : numbers) text += fmt::format("{}{}", text.empty() ? "" : "-", number);
  return text;
}

using Edge = std::pair<int, int>;

std::vector<Edge> all_edges(int gpus) {
  std::vector<Edge> edges;
  for (int a = 0; a < gpus; ++a)
    for (int b = a + 1; b < gpus; ++b) edges.emplace_back(a, b);
  return edges;
}

/// The same graph under every renumbering.
std::set<std::set<Edge>> images(const std::set<Edge>& graph, int gpus) {
  std::set<std::set<Edge>> all;
  std::vector<int> order = first_numbers(gpus);
  do {
    std::set<Edge> moved;
    for (const auto& [a, b] : graph) moved.insert(std::minmax(order[at(a)], order[at(b)]));
    all.insert(std::move(moved));
  } while (std::next_permutation(order.begin(), order.end()));
  return all;
}

/// One of each class, those with few edges first.
std::vector<std::set<Edge>> graphs(int gpus) {
  const std::vector<Edge> edges = all_edges(gpus);
  std::vector<std::set<Edge>> found;
  std::set<std::set<Edge>> seen;
  for (unsigned chosen = 0; chosen < 1U << edges.size(); ++chosen) {
    std::set<Edge> graph;
    for (std::size_t i = 0; i < edges.size(); ++i)
      if ((chosen >> i & 1U) != 0) graph.insert(edges[i]);
    if (seen.count(graph) > 0) continue;
    seen.merge(images(graph, gpus));
    found.push_back(std::move(graph));
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
  return found;
}

Wish graph_wish(int gpus, const std::set<Edge>& graph, const std::vector<int>& counts, const std::string& suffix) {
  Wish wish;
  wish.id = fmt::format("g{}", gpus);
  wish.links.between.assign(at(gpus), std::vector<int>(at(gpus), 0));
  wish.links.to_switch.assign(at(gpus), 0);
  wish.links.socket.assign(at(gpus), 0);
  std::size_t i = 0;
  for (const auto& [a, b] : graph) {
    wish.links.between[at(a)][at(b)] = wish.links.between[at(b)][at(a)] = counts[i++ % counts.size()];
    wish.id += fmt::format("-{}{}", a, b);
    wish.about += fmt::format("{}{}-{} x{}", wish.about.empty() ? "" : ", ", a, b, wish.links.between[at(a)][at(b)]);
  }
  wish.id += graph.empty() ? "-none" : suffix;
  if (graph.empty()) wish.about = "no NVLink";
  return wish;
}

}  // namespace

std::vector<Wish> subset_wishes(const Platform& machine, const std::string& name, int gpus) {
  const int all = machine.gpu_count();
  if (gpus < 2 || gpus > all) throw InputError(fmt::format("gpus: {} has 2 to {} to choose", name, all));
  if (placement::number_of_sets(all, gpus) > kMostSets)
    throw InputError(fmt::format("gpus: {} has more than {} sets of so many", name, kMostSets));
  const auto symmetries = gpu_symmetries(machine, std::vector<int>(at(all), 0));
  std::vector<Wish> wishes;
  std::map<std::vector<int>, std::size_t> known;  // places by shape, of so few GPUs that all numberings can be tried
  for (const auto& members : placement::set_classes(first_numbers(all), gpus, symmetries)) {
    Wish wish;
    wish.id = name + "-" + joined_numbers(members.front());
    wish.about = "GPUs " + joined_numbers(members.front()) + " of " + name;
    wish.links = links_of(machine, members.front());
    wish.alike = static_cast<int>(members.size());
    if (gpus <= kMostNumbered) {
      const auto [place, is_new] = known.try_emplace(shape_of(wish.links), wishes.size());
      if (!is_new) {
        wishes[place->second].alike += wish.alike;
        continue;
      }
    }
    wishes.push_back(std::move(wish));
  }
  return wishes;
}

std::vector<Wish> graph_wishes(int gpus) {
  if (gpus != 3 && gpus != 4) throw InputError("graphs: of 3 or 4 GPUs");
  std::vector<Wish> wishes;
  for (const std::set<Edge>& graph : graphs(gpus)) {
    if (graph.empty()) {
      wishes.push_back(graph_wish(gpus, graph, {0}, ""));
      continue;
    }
    for (const int count : kCounts) wishes.push_back(graph_wish(gpus, graph, {count}, fmt::format("-x{}", count)));
    if (graph.size() > 1) wishes.push_back(graph_wish(gpus, graph, {kCounts.rbegin(), kCounts.rend()}, "-mixed"));
  }
  return wishes;
}

}  // namespace linkcast::emulation
