// Breadth-first search of paper 004, section V-E: level-synchronous, vertices divided among GPUs. Each level expands
// the frontier, sends what was found to its owner (all to all), and agrees whether anything is left.
#include <fmt/format.h>

#include "apps-traces/generators/rank_writer.hpp"

namespace linkcast {
namespace {

// source: Graph 500 specification: 16 undirected edges a vertex, each found from both ends
constexpr double kEdgesPerVertex = 16, kDirections = 2;
// source: paper 004, table IV, one GPU of Cluster I: 6.7e7 traversed edges a second
constexpr double kEdges_per_s = 6.7e7;
// source: assumed, a vertex and its parent of 32 bits each; none is sent twice less
constexpr double kFound_B = 8;
// Share of the edges that each level looks at. source: assumed; S. Beamer et al., Direction-Optimizing BFS, SC 2012,
// figure 4: of a Kronecker graph's seven levels two have nearly all
const std::vector<double> kShares = {0.0001, 0.02, 0.55, 0.4, 0.029, 0.0009};
constexpr double kAgree_B = 8;  // number of vertices found

struct Search {
  int nodes = 0, searches = 0;
  double edges_per_s = 0, found = 0, found_B = 0, edges = 0;
};

Search search_of(const TraceOptions& options) {
  Search search;
  search.nodes = options.whole("nodes", 4);
  search.searches = options.whole("searches", 2);
  const int scale = options.whole("scale", 20);
  if (scale > 40) throw InputError("option scale: at most 40");
  search.edges = static_cast<double>(1LL << scale) * kEdgesPerVertex;
  search.edges_per_s = options.number("teps", kEdges_per_s);
  if (search.edges_per_s <= 0) throw InputError("option teps: must be positive");
  search.found_B = options.bytes("found", kFound_B);
  return search;
}

/// @returns  what the next level waits for
RankWriter::Ids exchange(RankWriter& rank, int nodes, const std::string& what, double size_B, std::int64_t after) {
  RankWriter::Ids done;
  for (int distance = 1; distance < nodes; ++distance) {
    const int to = (rank.rank() + distance) % nodes, from = (rank.rank() + nodes - distance) % nodes;
    done.push_back(rank.send(fmt::format("send{}", to), to, size_B, what, {after}));
    done.push_back(rank.recv(fmt::format("recv{}", from), from, size_B, what, {after}));
  }
  return done;
}

void level(const Search& search, double share, RankWriter& rank) {
  const double mine = search.edges * share / search.nodes;
  const std::int64_t expanded = rank.compute("0", "level", mine / search.edges_per_s);
  if (search.nodes == 1) return;
  const double to_each_B = mine * kDirections * search.found_B / search.nodes;
  const RankWriter::Ids found = exchange(rank, search.nodes, "found", to_each_B, expanded);
  const std::int64_t counted = rank.compute("0", "count", 0, found);
  rank.sync(exchange(rank, search.nodes, "left", kAgree_B, counted));
}

class Bfs final : public TraceGenerator {
 public:
  [[nodiscard]] std::vector<TraceOption> options() const override {
    return {{"nodes", "parts of the graph, one GPU each, 4 unless said"},
            {"scale", "2^scale vertices, 20 unless said"},
            {"searches", "2 unless said"},
            {"teps", "edges a second of one GPU alone, 6.7e7 unless said"},
            {"found", "bytes of a found vertex, 8B unless said (assumed)"}};
  }

  void run(const TraceOptions& options, TraceSink& sink) const override {
    const Search search = search_of(options);
    TraceHeader header;
    header.name = "bfs";
    header.source = "generated: R. Ammendola et al., GPU peer-to-peer techniques on APEnet+, 2013, section V-E";
    header.device = "Tesla C2050";
    header.notes = {
        "compute: edges over one GPU's traversed edges per second, table IV",
        "assumed: vertices are spread evenly, every edge to another part is sent once from each end; levels "
        "have the shares of a Kronecker graph; agreeing on the end is one small message to each"};
    std::vector<RankWriter> ranks = start_ranks(header, search.nodes, sink);
    for (int round = 0; round < search.searches; ++round) {
      for (const double share : kShares)
        for (RankWriter& rank : ranks) level(search, share, rank);
      for (RankWriter& rank : ranks) {
        rank.sync();
        rank.step();
      }
    }
  }
};

const bool bfs_registered = trace_generators().add(
    {"bfs", "level-synchronous breadth-first search of a Graph 500 graph, all to all at each level",
     "R. Ammendola et al., GPU peer-to-peer techniques applied to a cluster interconnect (APEnet+), 2013, section V-E"},
    [] { return std::make_unique<Bfs>(); });

}  // namespace
}  // namespace linkcast
