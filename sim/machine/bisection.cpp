#include "sim/machine/bisection.hpp"

#include <fmt/format.h>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/push_relabel_max_flow.hpp>
#include <cmath>
#include <cstdint>
#include <limits>

#include "sim/base/input_error.hpp"

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
  if (!(rate >= 1 && rate < most)) throw InputError(fmt::format("bisection: a link of {:f} B/s", rate));
  return std::llround(rate);
}

}  // namespace

Cut bisection(const Fabric& fabric, int half) {
  const auto vertices = static_cast<std::size_t>(fabric.endpoints() + fabric.switches());
  const std::size_t source = vertices, sink = vertices + 1;
  FlowGraph graph(vertices + 2);
  Rate all = 1;  // more than any cut: a capacity that is never the limit, yet finite, as the algorithm wants
  for (int id = 0; id < fabric.links(); ++id) {
    const FabricLink link = fabric.link(id);
    const Rate capacity = rate_of(fabric, link);
    join(graph, static_cast<std::size_t>(link.from), static_cast<std::size_t>(link.to), capacity);
    if (all > std::numeric_limits<Rate>::max() - capacity)
      throw InputError("bisection: the links add up to over 9.2e18 B/s");
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
                                                     .residual_capacity_map(boost::get(&Edge::residual, graph))
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
