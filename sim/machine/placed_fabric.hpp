#pragma once
// The same fabric with its nodes in another order: node i of a job is any node of the machine.
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/machine/cluster.hpp"

namespace linkcast {

/// Node of the machine that is number `here`: these first, all others in their order. @param sorted  first, rising
int placed_node(const std::vector<int>& first, const std::vector<int>& sorted, int here);

/// Every way, link and name is that of the fabric; only endpoints are numbered as the order says.
class PlacedFabric : public Fabric {
 public:
  /// @param fabric  outlives this one
  /// @param first  nodes in their new order; all others follow in the fabric's
  PlacedFabric(const Fabric& fabric, const std::vector<int>& first, int nics);

  [[nodiscard]] int endpoints() const override { return fabric_.endpoints(); }
  [[nodiscard]] int switches() const override { return fabric_.switches(); }
  [[nodiscard]] int links() const override { return fabric_.links(); }
  [[nodiscard]] const std::vector<FabricLinkClass>& classes() const override { return fabric_.classes(); }
  [[nodiscard]] FabricLink link(int id) const override;
  [[nodiscard]] std::string vertex_name(int vertex) const override { return fabric_.vertex_name(placed(vertex)); }
  [[nodiscard]] int minimal_ways(int from, int to) const override {
    return fabric_.minimal_ways(placed(from), placed(to));
  }
  void minimal_way(int from, int to, int which, std::vector<int>& links) const override {
    fabric_.minimal_way(placed(from), placed(to), which, links);
  }
  [[nodiscard]] int detours(int from, int to) const override { return fabric_.detours(placed(from), placed(to)); }
  void detour(int from, int to, int which, std::vector<int>& links) const override {
    fabric_.detour(placed(from), placed(to), which, links);
  }
  [[nodiscard]] bool ways_of_switches() const override { return fabric_.ways_of_switches(); }
  [[nodiscard]] int turns() const override { return fabric_.turns(); }
  [[nodiscard]] int turned_switch(int vertex) const override { return fabric_.turned_switch(vertex); }
  [[nodiscard]] int turned_link(int link) const override { return fabric_.turned_link(link); }
  [[nodiscard]] const std::vector<std::string>& distances() const override { return fabric_.distances(); }
  [[nodiscard]] int distance(int from, int to) const override { return fabric_.distance(placed(from), placed(to)); }

 private:
  /// Endpoint of the fabric; a switch is where it was.
  [[nodiscard]] int placed(int vertex) const {
    return vertex < fabric_.endpoints() ? node_there(vertex / nics_) * nics_ + vertex % nics_ : vertex;
  }
  [[nodiscard]] int node_there(int here) const { return placed_node(first_, sorted_, here); }
  [[nodiscard]] int node_here(int there) const;
  // Nothing is as long as the machine has nodes: a replay places a thousand communicators of two.
  const Fabric& fabric_;
  std::vector<int> first_, sorted_;
  std::unordered_map<int, int> place_;  ///< in first_, by node
  int nics_;
};

/// All nodes of the cluster in a random order that follows from the seed alone.
std::vector<int> random_order(int nodes, std::uint64_t seed);
/// In their order, each job beginning at a switch that none before it has. @param jobs  nodes of each
/// @throws InputError  there are not enough switches
std::vector<int> packed_order(const Cluster& cluster, const std::vector<int>& jobs);
/// The same cluster with these nodes first. @param cluster  outlives it
std::unique_ptr<Cluster> placed_cluster(const Cluster& cluster, const std::vector<int>& first);

}  // namespace linkcast
