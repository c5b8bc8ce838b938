#include "sim/machine/fabric_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/push_relabel_max_flow.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <queue>

#include "sim/base/input_error.hpp"
#include "sim/base/limits.hpp"

namespace linkcast {
namespace {

using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
/// Whole bytes per second: sums are exact, as the algorithm's own checks ask.
using Rate = std::int64_t;
struct Edge {
  Rate capacity = 0, residual = 0;
  Traits::edge_descriptor reverse;
};
using FlowGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property, Edge>;

/// Residual capacities as the search for the flow sees them: where it changes one, it can be stopped.
struct StoppableRates {
  using key_type = Traits::edge_descriptor;
  using value_type = Rate;
  using reference = Rate;
  using category = boost::read_write_property_map_tag;

  friend Rate get(const StoppableRates& rates, const key_type& edge) { return (*rates.graph)[edge].residual; }
  friend void put(const StoppableRates& rates, const key_type& edge, Rate rate) {
    work::look();
    (*rates.graph)[edge].residual = rate;
  }

  FlowGraph* graph = nullptr;
};

/// One direction. Its reverse edge has no capacity: where it had, Boost would leave excess at vertices.
void join(FlowGraph& graph, std::size_t a, std::size_t b, Rate capacity) {
  const auto forward = boost::add_edge(a, b, graph).first, backward = boost::add_edge(b, a, graph).first;
  graph[forward].capacity = capacity;
  graph[forward].reverse = backward;
  graph[backward].reverse = forward;
}

/// The vertices from which the sink can still be reached: its side of a minimum cut.
std::vector<bool> sink_side(const FlowGraph& graph, std::size_t sink) {
  std::vector<bool> reaches(boost::num_vertices(graph));
  std::vector<std::size_t> open = {sink};
  reaches[sink] = true;
  while (!open.empty()) {
    const std::size_t at = open.back();
    open.pop_back();
    for (auto [edge, end] = boost::out_edges(at, graph); edge != end; ++edge) {
      const std::size_t before = boost::target(*edge, graph);
      if (graph[graph[*edge].reverse].residual <= 0 || reaches[before]) continue;
      reaches[before] = true;
      open.push_back(before);
    }
  }
  return reaches;
}

Rate rate_of(const Fabric& fabric, const FabricLink& link) {
  const double rate = fabric.classes()[static_cast<std::size_t>(link.link_class)].bandwidth.si;
  constexpr double most = 9.2e18;  // source: below 2^63, the range of Rate
  if (!(rate >= 1 && rate < most))
    throw InputError(fmt::format("the bisection knows links of 1 B/s to 9.2e18 B/s, not of {:.3g}", rate));
  return std::llround(rate);
}

}  // namespace

Cut bisection(const Fabric& fabric, int half) {
  const auto vertices = static_cast<std::size_t>(fabric.endpoints() + fabric.switches());
  const std::size_t source = vertices, sink = vertices + 1;
  FlowGraph graph(vertices + 2);
  Rate all = 1;  // more than any cut: a capacity that is never the limit, yet finite, as the algorithm wants
  for (int id = 0; id < fabric.links(); ++id) {
    work::look();
    const FabricLink link = fabric.link(id);
    const Rate capacity = rate_of(fabric, link);
    join(graph, static_cast<std::size_t>(link.from), static_cast<std::size_t>(link.to), capacity);
    if (all > std::numeric_limits<Rate>::max() - capacity)
      throw InputError("the links add up to over 9.2e18 B/s, which the bisection cannot count");
    all += capacity;
  }
  for (int endpoint = 0; endpoint < fabric.endpoints(); ++endpoint) {
    const auto vertex = static_cast<std::size_t>(endpoint);
    if (endpoint < half)
      join(graph, source, vertex, all);
    else
      join(graph, vertex, sink, all);
  }
  const Rate flow = boost::push_relabel_max_flow(graph, source, sink,
                                                 boost::capacity_map(boost::get(&Edge::capacity, graph))
                                                     .residual_capacity_map(StoppableRates{&graph})
                                                     .reverse_edge_map(boost::get(&Edge::reverse, graph))
                                                     .vertex_index_map(boost::get(boost::vertex_index, graph)));
  const std::vector<bool> far = sink_side(graph, sink);
  Cut cut;
  for (int id = 0; id < fabric.links(); ++id) {
    const FabricLink link = fabric.link(id);
    if (far[static_cast<std::size_t>(link.from)] || !far[static_cast<std::size_t>(link.to)]) continue;
    ++cut.cables;
    cut.bandwidth += fabric.classes()[static_cast<std::size_t>(link.link_class)].bandwidth;
  }
  // The largest flow equals the smallest cut. source: L. Ford, D. Fulkerson, 1956; half a byte a cable: rounding of
  // rates
  if (std::abs(cut.bandwidth.si - static_cast<double>(flow)) > 0.5 * cut.cables + 1e-9 * static_cast<double>(flow))
    throw InvariantError(fmt::format("bisection: a cut of {} B/s for a flow of {} B/s", cut.bandwidth.si, flow));
  return cut;
}

}  // namespace linkcast

namespace linkcast::bounds {
namespace {

/// Sets of vertices that links have joined (union-find, ways halved).
class Parts {
 public:
  explicit Parts(int vertices) : above_(static_cast<std::size_t>(vertices)) {
    std::iota(above_.begin(), above_.end(), 0);
  }
  int of(int vertex) {
    while (at(vertex) != vertex) vertex = at(vertex) = at(at(vertex));
    return vertex;
  }
  void join(int a, int b) { at(of(a)) = of(b); }

 private:
  int& at(int vertex) { return above_[static_cast<std::size_t>(vertex)]; }
  std::vector<int> above_;
};

}  // namespace

ClassPorts class_ports(const Fabric& fabric, int link_class) {
  const int vertices = fabric.endpoints() + fabric.switches();
  Parts parts(vertices);
  std::vector<int> ports(static_cast<std::size_t>(vertices)), endpoints(ports);
  for (int id = 0; id < fabric.links(); ++id) {
    work::look();
    const FabricLink link = fabric.link(id);
    if (link.link_class != link_class)
      parts.join(link.from, link.to);
    else if (link.from >= fabric.endpoints())
      ++ports[static_cast<std::size_t>(link.from)];
  }
  ClassPorts found;
  for (int vertex = 0; vertex < vertices; ++vertex) {
    found.parts_without += parts.of(vertex) == vertex ? 1 : 0;
    if (vertex < fabric.endpoints()) ++endpoints[static_cast<std::size_t>(parts.of(vertex))];
  }
  found.switches = static_cast<int>(std::count_if(ports.begin(), ports.end(), [](int count) { return count > 0; }));
  found.most = *std::max_element(ports.begin(), ports.end());
  found.endpoints_of_a_part = *std::max_element(endpoints.begin(), endpoints.end());
  return found;
}

namespace {

constexpr std::size_t kMostGpus = 10;

/// The GPUs of a node and the direct links between them.
struct Graph {
  explicit Graph(const Topology& topology) : size(topology.gpus().size()), links(size, std::vector<int>(size)) {
    for (std::size_t a = 0; a < size; ++a)
      for (std::size_t b = 0; b < size; ++b) {
        const Cable* cable = topology.direct(topology.gpus()[a], topology.gpus()[b]);
        if (a == b || cable == nullptr) continue;
        links[a][b] = cable->count;
        bandwidth = bandwidth > 0 ? std::min(bandwidth, cable->bandwidth.si) : cable->bandwidth.si;
      }
  }
  [[nodiscard]] int links_of(std::size_t gpu) const {
    int sum = 0;
    for (const int count : links[gpu]) sum += count;
    return sum;
  }

  std::size_t size;
  std::vector<std::vector<int>> links;  ///< between two GPUs
  double bandwidth = 0;                 ///< of the slowest link
};

/// Hops from one GPU to each, and the number of shortest ways there.
struct Shortest {
  std::vector<int> hops;
  std::vector<double> ways;
};

Shortest shortest(const Graph& graph, std::size_t source) {
  Shortest s{std::vector<int>(graph.size, -1), std::vector<double>(graph.size)};
  s.hops[source] = 0;
  s.ways[source] = 1;
  std::queue<std::size_t> open;
  for (open.push(source); !open.empty(); open.pop()) {
    const std::size_t at = open.front();
    for (std::size_t next = 0; next < graph.size; ++next) {
      if (graph.links[at][next] == 0) continue;
      if (s.hops[next] < 0) {
        s.hops[next] = s.hops[at] + 1;
        open.push(next);
      }
      if (s.hops[next] == s.hops[at] + 1) s.ways[next] += s.ways[at];
    }
  }
  return s;
}

/// The most ways over one link: each pair's traffic spreads evenly over its shortest ways, a bundle's over its links.
std::optional<double> forwarding_index(const Graph& graph) {
  std::vector<Shortest> from;
  for (std::size_t gpu = 0; gpu < graph.size; ++gpu) from.push_back(shortest(graph, gpu));
  double most = 1;
  for (std::size_t u = 0; u < graph.size; ++u)
    for (std::size_t v = 0; v < graph.size; ++v) {
      if (from[u].hops[v] < 0) return std::nullopt;
      if (graph.links[u][v] == 0) continue;
      double load = 0;
      for (std::size_t a = 0; a < graph.size; ++a)
        for (std::size_t b = 0; b < graph.size; ++b)
          if (a != b && from[a].hops[u] + 1 + from[v].hops[b] == from[a].hops[b])
            load += from[a].ways[u] * from[v].ways[b] / from[a].ways[b];
      most = std::max(most, load / graph.links[u][v]);
    }
  return most;
}

/// The most rings through all GPUs that share no link, each taking one link of every bundle it crosses.
class Rings {
 public:
  explicit Rings(const Graph& graph) : size_(graph.size), left_(graph.links), visited_(graph.size) {
    most_ = std::numeric_limits<int>::max();
    for (std::size_t gpu = 0; gpu < size_; ++gpu) most_ = std::min(most_, graph.links_of(gpu) / 2);
    // A ring enters and leaves any two GPUs over at least two of the links that join them to the others.
    for (std::size_t a = 0; a < size_; ++a)
      for (std::size_t b = a + 1; b < size_ && size_ > 3; ++b)
        most_ = std::min(most_, (graph.links_of(a) + graph.links_of(b) - 2 * graph.links[a][b]) / 2);
  }

  int count() {
    next_ring(0);
    return best_;
  }

 private:
  void next_ring(int found) {
    best_ = std::max(best_, found);
    if (best_ == most_) return;
    visited_.assign(size_, false);
    visited_[0] = true;
    extend(0, 1, found);
  }

  void extend(std::size_t at, std::size_t length, int found) {
    if (length == size_ && left_[at][0] > 0) {
      take(at, 0, 1);
      const auto kept = visited_;
      next_ring(found + 1);
      visited_ = kept;
      take(at, 0, -1);
    }
    for (std::size_t next = 1; next < size_ && best_ < most_; ++next) {
      if (visited_[next] || left_[at][next] == 0) continue;
      visited_[next] = true;
      take(at, next, 1);
      extend(next, length + 1, found);
      take(at, next, -1);
      visited_[next] = false;
    }
  }

  void take(std::size_t a, std::size_t b, int links) {
    left_[a][b] -= links;
    left_[b][a] -= links;
  }

  std::size_t size_;
  std::vector<std::vector<int>> left_;
  std::vector<bool> visited_;
  int most_ = 0, best_ = 0;
};

}  // namespace

std::optional<NodePeaks> node_peaks(const Topology& topology) {
  const Graph graph(topology);
  if (graph.size < 3 || graph.size > kMostGpus) return std::nullopt;
  const auto index = forwarding_index(graph);
  if (!index) return std::nullopt;
  NodePeaks peaks;
  peaks.forwarding_index = *index;
  int fewest = graph.links_of(0);
  bool all_to_all = true;
  for (std::size_t a = 0; a < graph.size; ++a) {
    fewest = std::min(fewest, graph.links_of(a));
    for (std::size_t b = 0; b < graph.size; ++b) all_to_all = all_to_all && (a == b || graph.links[a][b] > 0);
  }
  peaks.alltoall.si = fewest * graph.bandwidth / peaks.forwarding_index;
  peaks.rings = 2 * Rings(graph).count();
  peaks.allreduce.si = all_to_all ? fewest * graph.bandwidth : peaks.rings * graph.bandwidth / 2;
  return peaks;
}

namespace {

/// Endpoints whose one cable goes to the same switch send and receive along the same links beyond it: one of them
/// stands for all. An endpoint with more cables (a torus) stands for itself.
struct Stand {
  int first = 0, second = 0;  ///< two of them; the same if there is one
  double count = 0;
  bool one_cable = false;
};

std::vector<Stand> stands(const Fabric& fabric) {
  const auto endpoints = static_cast<std::size_t>(fabric.endpoints());
  std::vector<int> cables(endpoints), neighbour(endpoints);
  for (int id = 0; id < fabric.links(); ++id) {
    const FabricLink link = fabric.link(id);
    if (link.from >= fabric.endpoints()) continue;
    ++cables[static_cast<std::size_t>(link.from)];
    neighbour[static_cast<std::size_t>(link.from)] = link.to;
  }
  std::vector<Stand> list;
  std::map<int, std::size_t> by_switch;
  for (int e = 0; e < fabric.endpoints(); ++e) {
    work::look();
    const auto at = static_cast<std::size_t>(e);
    const bool one_cable = cables[at] == 1 && neighbour[at] >= fabric.endpoints();
    const auto [place, added] =
        one_cable ? by_switch.try_emplace(neighbour[at], list.size()) : std::pair(by_switch.end(), true);
    if (added) {
      list.push_back({e, e, 1, one_cable});
    } else {
      Stand& stand = list[place->second];
      stand.second = e;
      ++stand.count;
    }
  }
  return list;
}

/// Walks all pairs and keeps the sums.
class Walk {
 public:
  explicit Walk(const Fabric& fabric) : fabric_(fabric), loads_(static_cast<std::size_t>(fabric.links())) {
    facts_.pairs.resize(fabric.distances().size());
  }

  void all_pairs() {
    const auto list = stands(fabric_);
    for (const Stand& a : list) {
      if (a.count > 1) pair(a.first, a.second, a.count * (a.count - 1), a, a);
      for (const Stand& b : list)
        if (a.first != b.first) pair(a.first, b.first, a.count * b.count, a, b);
    }
    const double pairs = static_cast<double>(fabric_.endpoints()) * (fabric_.endpoints() - 1);
    facts_.average_links = pairs > 0 ? facts_.average_links / pairs : 0;
    if (!list.empty() && list.front().one_cable) cables_of_endpoints();
  }

  /// A ring through all endpoints, those of a switch one after the other: each sends to the next one.
  void ring() {
    loads_.assign(loads_.size(), 0);
    std::vector<std::pair<int, int>> order;  // switch, endpoint
    for (int id = 0; id < fabric_.links(); ++id) {
      const FabricLink link = fabric_.link(id);
      if (link.from < fabric_.endpoints()) order.emplace_back(link.to < fabric_.endpoints() ? 0 : link.to, link.from);
    }
    std::sort(order.begin(), order.end());
    order.erase(std::unique(order.begin(), order.end()), order.end());
    for (std::size_t i = 0; i < order.size() && order.size() > 1; ++i)
      spread(order[i].second, order[(i + 1) % order.size()].second, 1, false, false);
  }

  [[nodiscard]] const std::vector<double>& loads() const { return loads_; }
  FabricFacts take() { return std::move(facts_); }

 private:
  void pair(int from, int to, double times, const Stand& a, const Stand& b) {
    const auto length = spread(from, to, times, a.one_cable, b.one_cable);
    facts_.diameter = std::max(facts_.diameter, length);
    facts_.average_links += times * length;
    facts_.pairs[static_cast<std::size_t>(fabric_.distance(from, to))] += times;
  }

  /// Spreads `times` over the minimal ways, less the cables of endpoints where asked. @return length of a way
  int spread(int from, int to, double times, bool skip_first, bool skip_last) {
    work::look();
    const int ways = fabric_.minimal_ways(from, to);
    int length = 0;
    for (int which = 0; which < ways; ++which) {
      way_.clear();
      fabric_.minimal_way(from, to, which, way_);
      length = static_cast<int>(way_.size());
      const auto end = way_.end() - (skip_last ? 1 : 0);
      for (auto id = way_.begin() + (skip_first ? 1 : 0); id < end; ++id)
        loads_[static_cast<std::size_t>(*id)] += times / ways;
    }
    return length;
  }

  /// The one cable of each endpoint carries what it sends and receives.
  void cables_of_endpoints() {
    for (int id = 0; id < fabric_.links(); ++id) {
      const FabricLink link = fabric_.link(id);
      if (std::min(link.from, link.to) < fabric_.endpoints())
        loads_[static_cast<std::size_t>(id)] = fabric_.endpoints() - 1;
    }
  }

  const Fabric& fabric_;
  std::vector<double> loads_;
  std::vector<int> way_;
  FabricFacts facts_;
};

/// Rate of each pair at which no link carries more than its own; the class of that link goes to `limit`.
double rate_of_a_way(const Fabric& fabric, const std::vector<double>& loads, int& limit) {
  double rate = 0;
  for (int id = 0; id < fabric.links(); ++id) {
    work::look();
    const double load = loads[static_cast<std::size_t>(id)];
    if (load <= 0) continue;
    const int link_class = fabric.link(id).link_class;
    const double here = fabric.classes()[static_cast<std::size_t>(link_class)].bandwidth.si / load;
    if (rate > 0 && here >= rate) continue;
    rate = here;
    limit = link_class;
  }
  return rate;
}

void sum_up_classes(const Fabric& fabric, const std::vector<double>& loads, FabricFacts& facts) {
  facts.cables.assign(fabric.classes().size(), 0);
  facts.loads.assign(fabric.classes().size(), {});
  for (int id = 0; id < fabric.links(); ++id) {
    const auto c = static_cast<std::size_t>(fabric.link(id).link_class);
    ++facts.cables[c];
    facts.loads[c].mean += loads[static_cast<std::size_t>(id)];
    facts.loads[c].most = std::max(facts.loads[c].most, loads[static_cast<std::size_t>(id)]);
  }
  for (std::size_t c = 0; c < facts.cables.size(); ++c) {
    if (facts.cables[c] > 0) facts.loads[c].mean /= facts.cables[c];
    facts.cables[c] /= 2;  // two links a cable
  }
}

}  // namespace

FabricFacts fabric_facts(const Fabric& fabric, int nics_per_node) {
  Walk walk(fabric);
  walk.all_pairs();
  FabricFacts facts = walk.take();
  sum_up_classes(fabric, walk.loads(), facts);
  facts.alltoall.si = rate_of_a_way(fabric, walk.loads(), facts.alltoall_limit) * (fabric.endpoints() - 1);
  walk.ring();
  int limit = 0;
  facts.allreduce.si = rate_of_a_way(fabric, walk.loads(), limit) / 2;
  facts.bisection = bisection(fabric, fabric.endpoints() / nics_per_node / 2 * nics_per_node);
  return facts;
}

}  // namespace linkcast::bounds
