#pragma once
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "sim/engine/open_fluid.hpp"
#include "sim/forecast/catalogue.hpp"
#include "sim/forecast/cluster_message.hpp"
#include "sim/replay/network.hpp"

namespace linkcast {

/// Many nodes on their fabric. GPU g is GPU g % M of node g / M, where each node gives M GPUs.
/// Messages, and collectives inside one node, are flows that share links with others; a collective over several nodes
/// takes what its forecast alone takes, and shares no link.
class ClusterNetwork final : public ReplayNetwork {
 public:
  /// @param library  empty: what each operation takes by itself
  /// @param transport  of messages; empty: what the library would take
  /// @throws InputError  the platform has no fabric, or not so many nodes
  ClusterNetwork(Catalogue& catalogue, std::string platform_id, int nodes, int gpus_per_node, std::string library,
                 std::string transport);

  [[nodiscard]] int gpus() const override { return nodes_ * gpus_per_node_; }
  [[nodiscard]] double slow(int gpu) const override;
  long start(const NetworkOp& op) override;
  double next_event_s() override { return fluid_.next_event_s(); }
  void advance(double to_s, std::vector<long>& ended) override;
  [[nodiscard]] std::vector<LinkUse> link_use() override;
  [[nodiscard]] Json warnings() const override { return warnings_; }

 private:
  using Flows = std::vector<Activity>;  ///< constraints are those of the fluid
  using Key = std::tuple<NetworkOp::Kind, std::string, std::vector<int>, double>;

  const Flows& flows_of(const NetworkOp& op);
  Flows message(const NetworkOp& op);
  void share_engines(const Message& message, Flows& flows);
  Flows collective(const NetworkOp& op);
  Flows in_one_node(const NetworkOp& op, int node);
  Flows over_nodes(const NetworkOp& op);
  Flows copy(const NetworkOp& op);
  /// Activities of a problem with the fluid's own constraints instead of the problem's.
  Flows taken_over(ClusterProblem& problem);
  int constraint(int key);

  Catalogue& catalogue_;
  std::string platform_id_;
  int nodes_, gpus_per_node_;
  std::string library_, transport_;
  const Cluster& cluster_;
  OpenFluid fluid_{{}};
  std::vector<int> keys_;                                 ///< of the cluster, per constraint of the fluid
  std::unordered_map<int, int> number_;                   ///< of the fluid's constraint, by key
  std::map<std::tuple<int, bool, double>, int> engines_;  ///< constraint, by endpoint, whether it sends, and rate
  std::map<Key, Flows> known_;
  std::unordered_map<long, int> running_;  ///< flows of a ticket that have not ended
  std::vector<long> ticket_of_;            ///< by handle
  std::vector<int> flows_ended_;
  long tickets_ = 0;
  std::set<std::string> warnings_;
};

}  // namespace linkcast
