#pragma once
#include <unordered_map>

#include "sim/activities/cluster_message.hpp"
#include "sim/catalogue/catalogue.hpp"
#include "sim/replay/flow_network.hpp"

namespace linkcast::replay {

/// Many nodes on their fabric. GPU g is GPU g % M of node g / M, where each node gives M GPUs.
/// Messages and collectives are flows that share links with others; a collective of an MPI over several nodes takes
/// what its forecast alone takes, and shares no link.
class ClusterNetwork final : public FlowNetwork {
 public:
  /// @param library  empty: what each operation takes by itself
  /// @param transport  of messages; empty: what the library would take
  /// @throws InputError  the platform has no fabric, or not so many nodes
  ClusterNetwork(catalogue::Catalogue& catalogue, std::string platform_id, int nodes, int gpus_per_node,
                 std::string library, std::string transport);

  [[nodiscard]] int gpus() const override { return nodes_ * gpus_per_node_; }
  [[nodiscard]] double slow(int gpu) const override;

 private:
  Planned plan(const NetworkOp& op) override;
  [[nodiscard]] std::string link_id(int constraint) const override;
  Planned message(const NetworkOp& op);
  void share_engines(const activities::Message& message, Activity& flow);
  Planned collective(const NetworkOp& op);
  Planned in_one_node(const NetworkOp& op, int node);
  /// Nodes of an operation in the order of its ranks, and the GPUs of each.
  struct Members {
    std::vector<int> nodes{}, gpus{};
  };
  Members members_of(const NetworkOp& op);
  Planned over_nodes(const NetworkOp& op);
  Planned forecast_alone(const NetworkOp& op, const Members& members);
  Planned copy(const NetworkOp& op);
  /// Flows on a node's own constraints become flows on the fluid's.
  void put_on_node(int node, Flows& flows);
  /// Activities of a problem with the fluid's own constraints instead of the problem's.
  Flows taken_over(activities::ClusterProblem& problem);
  int constraint(int key);
  /// One that only the flows of one operation use.
  int add_own_limit(double capacity_Bps);

  catalogue::Catalogue& catalogue_;
  std::string platform_id_;
  int nodes_, gpus_per_node_;
  std::string library_, transport_;
  const Cluster& cluster_;
  std::vector<int> keys_;                ///< of the cluster, per constraint of the fluid
  std::unordered_map<int, int> number_;  ///< of the fluid's constraint, by key
};

}  // namespace linkcast::replay
