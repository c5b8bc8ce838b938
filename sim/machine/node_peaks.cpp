#include "sim/machine/node_peaks.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>

namespace linkcast::bounds {
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

}  // namespace linkcast::bounds
