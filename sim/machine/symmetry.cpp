#include "sim/machine/symmetry.hpp"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/isomorphism.hpp>
#include <map>
#include <numeric>
#include <string>
#include <tuple>

#include "sim/base/limits.hpp"

namespace linkcast {
namespace {

using ColouredGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS>;
using Colours = std::vector<std::size_t>;  ///< per vertex

std::size_t vertex(int index) { return static_cast<std::size_t>(index); }

/// Devices, then links. A link is a vertex as well, since it has properties of its own.
ColouredGraph graph_of(const Platform& platform) {
  const auto devices = platform.topology().devices.size();
  ColouredGraph graph(devices + platform.links().size());
  for (std::size_t i = 0; i < platform.links().size(); ++i) {
    boost::add_edge(vertex(platform.links()[i].from), devices + i, graph);
    boost::add_edge(devices + i, vertex(platform.links()[i].to), graph);
  }
  return graph;
}

/// Everything of a vertex that a forecast can depend on: names and numbers are not among it.
using Properties = std::tuple<int, std::string, std::string, std::vector<double>>;

Properties properties(const Device& device) {
  std::vector<double> figures = {static_cast<double>(device.sm), device.slow};
  if (device.engine)
    for (const auto& [name, value] : device.engine->figures()) figures.push_back(value);
  return {static_cast<int>(device.kind), device.model, device.vendor, std::move(figures)};
}

/// Every parameter that the table of parameters has for links and cables, and the rate that follows from them.
Properties properties(const Platform& platform, int index) {
  const Link& link = platform.links()[vertex(index)];
  const Cable& cable = platform.topology().cables[vertex(link.cable)];
  constexpr int kLinkKind = -1;  // beside the kinds of devices
  std::vector<double> figures = platform.link_figures(index);
  figures.insert(figures.end(),
                 {static_cast<double>(cable.count), cable.bandwidth.si, cable.reported_bandwidth().si,
                  static_cast<double>(cable.edited), platform.constraints()[vertex(index)].capacity.value});
  return {kLinkKind, cable.kind, "", std::move(figures)};
}

/// By vertex: the place of each one among all, in their order. Those that are equal have one.
template <class One>
Colours places(const std::vector<One>& all) {
  std::vector<One> ordered = all;
  std::sort(ordered.begin(), ordered.end());
  ordered.erase(std::unique(ordered.begin(), ordered.end()), ordered.end());
  Colours found;
  found.reserve(all.size());
  for (const One& one : all)
    found.push_back(static_cast<std::size_t>(std::lower_bound(ordered.begin(), ordered.end(), one) - ordered.begin()));
  return found;
}

Colours property_colours(const Platform& platform) {
  std::vector<Properties> all;
  for (const Device& device : platform.topology().devices) all.push_back(properties(device));
  for (int i = 0; i < static_cast<int>(platform.links().size()); ++i) all.push_back(properties(platform, i));
  return places(all);
}

/// @param gpu_colours  by GPU number
Colours first_colours(const Platform& platform, const Colours& properties, const std::vector<int>& gpu_colours) {
  std::vector<std::pair<std::size_t, int>> all;
  all.reserve(properties.size());
  for (const std::size_t one : properties) all.emplace_back(one, 0);
  for (int k = 0; k < platform.gpu_count(); ++k) all[vertex(platform.gpu(k))].second = gpu_colours[vertex(k)];
  return places(all);
}

/// One graph in two colourings, told apart as far as neighbours can. Most tests that fail do so here already.
class Refinement {
 public:
  Refinement(const ColouredGraph& graph, Colours first, Colours second)
      : graph_(graph), colours_{std::move(first), std::move(second)} {
    for (std::size_t before = 0; before < count_;) {
      before = count_;
      step();
      if (count_ == before) break;
    }
  }
  [[nodiscard]] bool alike() const {
    auto first = colours_[0], second = colours_[1];
    std::sort(first.begin(), first.end());
    std::sort(second.begin(), second.end());
    return first == second;
  }
  [[nodiscard]] const Colours& colours(int which) const { return colours_[vertex(which)]; }
  [[nodiscard]] std::size_t count() const { return count_; }

 private:
  using Signature = Colours;  ///< its own, how many there are next to it, those, and those before it

  void sign(const Colours& colours, std::size_t at, Signature& signature) const {
    signature.assign({colours[at], boost::out_degree(at, graph_)});
    for (auto [edge, end] = boost::out_edges(at, graph_); edge != end; ++edge)
      signature.push_back(colours[boost::target(*edge, graph_)]);
    const auto middle = static_cast<std::ptrdiff_t>(signature.size());
    for (auto [edge, end] = boost::in_edges(at, graph_); edge != end; ++edge)
      signature.push_back(colours[boost::source(*edge, graph_)]);
    std::sort(signature.begin() + 2, signature.begin() + middle);
    std::sort(signature.begin() + middle, signature.end());
  }
  void step() {
    std::map<Signature, std::size_t> numbers;
    Colours next[2];
    Signature signature;
    for (int which = 0; which < 2; ++which)
      for (std::size_t at = 0; at < boost::num_vertices(graph_); ++at) {
        work::look();
        sign(colours_[which], at, signature);
        next[which].push_back(numbers.try_emplace(signature, numbers.size()).first->second);
      }
    colours_[0] = std::move(next[0]);
    colours_[1] = std::move(next[1]);
    count_ = numbers.size();
  }

  const ColouredGraph& graph_;
  Colours colours_[2];
  std::size_t count_ = 1;
};

/// What Boost.Graph calls a vertex invariant.
struct Invariant {
  using argument_type = std::size_t;
  using result_type = std::size_t;
  const Colours* colours;
  std::size_t operator()(std::size_t at) const { return (*colours)[at]; }
};

class Search {
 public:
  Search(const Platform& platform, std::vector<int> colours)
      : platform_(platform),
        graph_(graph_of(platform)),
        properties_(property_colours(platform)),
        colours_(std::move(colours)) {}

  std::vector<GpuPermutation> run() {
    const int gpus = platform_.gpu_count();
    for (int base = gpus - 1; base >= 0; --base)
      for (int image = base + 1; image < gpus; ++image) {
        if (colours_[vertex(base)] != colours_[vertex(image)] || in_orbit(base, image)) continue;
        if (auto found = fixing_all_before(base, image)) generators_.push_back(std::move(*found));
      }
    return generators_;
  }

 private:
  /// By the generators so far, all of which leave the GPUs before `base` where they are.
  [[nodiscard]] bool in_orbit(int base, int image) const {
    std::vector<int> orbit = {base};
    for (std::size_t i = 0; i < orbit.size(); ++i)
      for (const GpuPermutation& generator : generators_) {
        const int next = generator[vertex(orbit[i])];
        if (next == image) return true;
        if (std::find(orbit.begin(), orbit.end(), next) == orbit.end()) orbit.push_back(next);
      }
    return false;
  }

  [[nodiscard]] std::optional<GpuPermutation> fixing_all_before(int base, int image) const {
    const Refinement refined(graph_, first_colours(platform_, properties_, marked(base, base)),
                             first_colours(platform_, properties_, marked(base, image)));
    if (!refined.alike()) return std::nullopt;
    std::vector<ColouredGraph::vertex_descriptor> to(boost::num_vertices(graph_));
    const auto index = boost::get(boost::vertex_index, graph_);
    const auto map = boost::make_iterator_property_map(to.begin(), index, to.front());
    if (!boost::isomorphism(graph_, graph_, map, Invariant{&refined.colours(0)}, Invariant{&refined.colours(1)},
                            refined.count(), index, index))
      return std::nullopt;
    std::map<std::size_t, int> number;
    for (int k = 0; k < platform_.gpu_count(); ++k) number[vertex(platform_.gpu(k))] = k;
    GpuPermutation permutation;
    for (int k = 0; k < platform_.gpu_count(); ++k) permutation.push_back(number.at(to[vertex(platform_.gpu(k))]));
    return permutation;
  }

  /// Colours in which every GPU before `base`, and `chosen`, are one of a kind.
  [[nodiscard]] std::vector<int> marked(int base, int chosen) const {
    std::vector<int> colours = colours_;
    const int above = colours.empty() ? 0 : *std::max_element(colours.begin(), colours.end()) + 1;
    for (int k = 0; k < base; ++k) colours[vertex(k)] = above + k;
    colours[vertex(chosen)] = above + base;
    return colours;
  }

  const Platform& platform_;
  ColouredGraph graph_;
  Colours properties_;
  std::vector<int> colours_;
  std::vector<GpuPermutation> generators_;
};

}  // namespace

std::vector<GpuPermutation> gpu_symmetries(const Platform& platform, const std::vector<int>& colours) {
  return Search(platform, colours).run();
}

}  // namespace linkcast
