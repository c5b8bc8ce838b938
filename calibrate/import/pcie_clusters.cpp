#include "calibrate/import/pcie_clusters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "calibrate/import/topology_request.hpp"

namespace linkcast::topology_import {
namespace {

/// Union-find whose root is the smallest member.
class Clusters {
 public:
  explicit Clusters(std::size_t size) : parent_(size) { std::iota(parent_.begin(), parent_.end(), 0U); }
  [[nodiscard]] std::size_t root(std::size_t i) const {
    while (parent_[i] != i) i = parent_[i];
    return i;
  }
  void join(std::size_t a, std::size_t b) {
    const std::size_t one = root(a), other = root(b);
    parent_[std::max(one, other)] = std::min(one, other);
  }
  [[nodiscard]] bool together(std::size_t a, std::size_t b) const { return root(a) == root(b); }

 private:
  std::vector<std::size_t> parent_;
};

bool is_pcie_path(PathClass path) { return path >= PathClass::kPix; }

class PlaceFinder {
 public:
  explicit PlaceFinder(const TopoMatrix& matrix) : matrix_(matrix), size_(matrix.rows.size()), nodes_(size_) {}
  std::vector<PciePlace> find();

 private:
  [[nodiscard]] PathClass path(std::size_t a, std::size_t b) const { return matrix_.rows[a].cells[b].path; }
  [[nodiscard]] Clusters up_to(PathClass level) const;
  void join_by_affinity();
  void join_the_rest();
  [[nodiscard]] bool may_share_node(std::size_t a, std::size_t b) const;
  [[nodiscard]] std::vector<std::size_t> node_of(std::size_t member) const;
  [[nodiscard]] std::optional<int> numa_of(std::size_t cluster) const;
  void number_nodes(std::vector<PciePlace>& places) const;

  const TopoMatrix& matrix_;
  std::size_t size_;
  Clusters nodes_;                        // NUMA nodes
  std::vector<std::string> node_source_;  // a row
};

/// Clusters of a level; every entry must agree with them.
Clusters PlaceFinder::up_to(PathClass level) const {
  Clusters clusters(size_);
  for (std::size_t a = 0; a < size_; ++a)
    for (std::size_t b = 0; b < a; ++b)
      if (is_pcie_path(path(a, b)) && path(a, b) <= level) clusters.join(a, b);
  for (std::size_t a = 0; a < size_; ++a)
    for (std::size_t b = 0; b < a; ++b)
      if (is_pcie_path(path(a, b)) && path(a, b) > level && clusters.together(a, b))
        fail_at(matrix_.file, matrix_.rows[a].line,
                matrix_.rows[a].name + " to " + matrix_.rows[b].name + " is " + to_text(path(a, b)) +
                    (matrix_.sys_inside_node && path(a, b) == PathClass::kNode ? " (or SYS inside a node)" : "") +
                    ", but other entries put both within " + to_text(level));
  return clusters;
}

std::optional<int> PlaceFinder::numa_of(std::size_t cluster) const {
  for (std::size_t i = 0; i < size_; ++i)
    if (nodes_.root(i) == cluster && matrix_.rows[i].numa) return matrix_.rows[i].numa;
  return std::nullopt;
}

/// Devices with the same NUMA node, or the same cores where no node is named, share a node.
void PlaceFinder::join_by_affinity() {
  for (std::size_t a = 0; a < size_; ++a)
    for (std::size_t b = 0; b < a; ++b) {
      const MatrixRow &one = matrix_.rows[a], &other = matrix_.rows[b];
      const bool same_cores = !one.cpu_affinity.empty() && one.cpu_affinity == other.cpu_affinity;
      if (one.numa ? one.numa == other.numa : !other.numa && same_cores && may_share_node(a, b)) nodes_.join(a, b);
    }
  for (std::size_t a = 0; a < size_; ++a) {
    const MatrixRow& row = matrix_.rows[a];
    for (std::size_t b = 0; b < a; ++b)
      if (path(a, b) == PathClass::kSys && nodes_.together(a, b))
        fail_at(matrix_.file, row.line,
                row.name + " to " + matrix_.rows[b].name +
                    " is SYS, but NUMA affinities and other entries put both into one node");
    if (const auto numa = numa_of(nodes_.root(a)); row.numa && numa != row.numa)
      fail_at(matrix_.file, row.line,
              fmt::format("{} has NUMA affinity {}, but its entries put it into node {}", row.name, *row.numa, *numa));
  }
}

std::vector<std::size_t> PlaceFinder::node_of(std::size_t member) const {
  std::vector<std::size_t> members;
  for (std::size_t i = 0; i < size_; ++i)
    if (nodes_.together(i, member)) members.push_back(i);
  return members;
}

/// No entry between the nodes of a and b is SYS, and they are not different nodes by number or cores.
bool PlaceFinder::may_share_node(std::size_t a, std::size_t b) const {
  const auto of_b = node_of(b);
  for (const std::size_t i : node_of(a))
    for (const std::size_t j : of_b) {
      const MatrixRow &one = matrix_.rows[i], &other = matrix_.rows[j];
      const bool other_node = one.numa && other.numa && one.numa != other.numa;
      const bool other_cores =
          !one.cpu_affinity.empty() && !other.cpu_affinity.empty() && one.cpu_affinity != other.cpu_affinity;
      if (path(i, j) == PathClass::kSys || other_node || other_cores) return false;
    }
  return true;
}

/// A device without an entry goes to the first node that no entry forbids.
void PlaceFinder::join_the_rest() {
  for (std::size_t a = 0; a < size_; ++a) {
    if (nodes_.root(a) != a || numa_of(a)) continue;
    for (std::size_t b = 0; b < size_; ++b) {
      const bool is_node = nodes_.root(b) == b && b != a && (b < a || numa_of(b));
      if (!is_node || !may_share_node(a, b)) continue;
      for (const std::size_t i : node_of(a)) node_source_[i] = "; assumed: this NUMA node, the text does not say";
      nodes_.join(a, b);
      break;
    }
  }
}

/// Named nodes keep their number, the others get the smallest that are free.
void PlaceFinder::number_nodes(std::vector<PciePlace>& places) const {
  std::set<int> used;
  for (std::size_t i = 0; i < size_; ++i)
    if (const auto numa = numa_of(nodes_.root(i))) used.insert(*numa);
  for (std::size_t i = 0; i < size_; ++i) {
    if (nodes_.root(i) != i) {
      places[i].cpu = places[nodes_.root(i)].cpu;
    } else if (const auto numa = numa_of(i)) {
      places[i].cpu = *numa;
    } else {
      int free = 0;
      while (used.count(free)) ++free;
      used.insert(free);
      places[i].cpu = free;
    }
    const bool named = numa_of(nodes_.root(i)).has_value();
    places[i].cpu_source = node_source_[i];
    if (!named && node_source_[i].empty()) places[i].cpu_source = "; assumed: number of the NUMA node";
  }
}

std::vector<PciePlace> PlaceFinder::find() {
  const Clusters pix = up_to(PathClass::kPix), pxb = up_to(PathClass::kPxb);
  static_cast<void>(up_to(PathClass::kPhb));  // checked; host bridges of one NUMA node are one device
  nodes_ = up_to(PathClass::kNode);
  node_source_.resize(size_);
  join_by_affinity();
  join_the_rest();
  std::vector<PciePlace> places(size_);
  for (std::size_t i = 0; i < size_; ++i) {
    places[i].pix = static_cast<int>(pix.root(i));
    places[i].pxb = static_cast<int>(pxb.root(i));
    for (std::size_t j = 0; j < size_; ++j) places[i].seen = places[i].seen || is_pcie_path(path(i, j));
  }
  number_nodes(places);
  return places;
}

}  // namespace

std::vector<PciePlace> pcie_places(const TopoMatrix& matrix) { return PlaceFinder(matrix).find(); }

}  // namespace linkcast::topology_import
