// Many nodes on their fabric.
#include <limits>
#include <utility>

#include "sim/activities/cluster_message.hpp"
#include "sim/collective/placed_collective.hpp"
#include "sim/replay/collective_flows.hpp"
#include "sim/replay/copy_flows.hpp"
#include "sim/replay/flow_network.hpp"
#include "sim/replay/message_flows.hpp"
#include "sim/replay/network_kind.hpp"
#include "sim/uncertainty/verdict.hpp"
#include "sim/units/index.hpp"

namespace linkcast::replay {
namespace {

using activities::Plan;

std::string usual_library(const Platform& node, const std::string& library) {
  return library.empty() ? node.calibration().default_library : library;
}

int gpus_of_each(catalogue::Catalogue& catalogue, const NetworkRequest& request) {
  return request.gpus_per_node > 0 ? request.gpus_per_node : catalogue.platform(request.platform).gpu_count();
}

/// Many nodes on their fabric. GPU g is GPU g % M of node g / M, where each node gives M GPUs.
/// Messages and collectives are flows that share links with others.
class ClusterNetwork final : public FlowNetwork {
 public:
  /// @throws InputError  the platform has no fabric, or not so many nodes
  ClusterNetwork(catalogue::Catalogue& catalogue, const NetworkRequest& request);

  [[nodiscard]] int gpus() const override { return nodes_ * gpus_per_node_; }
  [[nodiscard]] double slow(int gpu) const override;

 private:
  Plan plan(const NetworkOp& op) override;
  std::optional<Plan> plan_behind(const NetworkOp& op) override {
    if (op.kind == NetworkOp::Kind::kMessage) return std::nullopt;
    return copy(op, true);
  }
  [[nodiscard]] std::string link_id(int key) const override;
  Plan message(const NetworkOp& op);
  void share_engines(const activities::Message& message, Activity& flow) const;
  Plan collective(const NetworkOp& op);
  Plan in_one_node(const NetworkOp& op, int node);
  /// Nodes of an operation in the order of its ranks, and the GPUs of each.
  struct Members {
    std::vector<int> nodes{}, gpus{};
  };
  Members members_of(const NetworkOp& op);
  Plan over_nodes(const NetworkOp& op);
  Plan copy(const NetworkOp& op, bool behind);
  /// Constraints and queues of a node by itself become those of the machine.
  void put_on_node(int node, std::vector<Activity>& flows) const;
  [[nodiscard]] int queue_of_copies(int node, int queue) const;
  [[nodiscard]] int queue_of_process(int gpu) const;

  catalogue::Catalogue& catalogue_;
  std::string platform_id_;
  int nodes_, gpus_per_node_;
  std::string library_, transport_;
  bool stages_;  ///< the library's messages go through host memory
  const Cluster& cluster_;
};

ClusterNetwork::ClusterNetwork(catalogue::Catalogue& catalogue, const NetworkRequest& request)
    : FlowNetwork(catalogue.cluster(request.platform), request),
      catalogue_(catalogue),
      platform_id_(request.platform),
      nodes_(request.nodes),
      gpus_per_node_(gpus_of_each(catalogue, request)),
      library_(request.library),
      transport_(request.transport),
      stages_(stages_messages(library_)),
      cluster_(machine()) {
  if (nodes_ < 1 || nodes_ > cluster_.nodes())
    throw InputError("nodes: must be 1 to " + std::to_string(cluster_.nodes()) + ", as many as the fabric has");
  if (gpus_per_node_ < 1 || gpus_per_node_ > cluster_.node().gpu_count())
    throw InputError("gpus_per_node: must be 1 to " + std::to_string(cluster_.node().gpu_count()));
}

/// Those of all nodes' copy engines first, as ProblemBuilder numbers them, then a process for each GPU.
int ClusterNetwork::queue_of_copies(int node, int queue) const {
  return node * 2 * static_cast<int>(cluster_.node().topology().devices.size()) + queue;
}

int ClusterNetwork::queue_of_process(int gpu) const { return queue_of_copies(cluster_.nodes(), gpu); }

/// Staged copies hold up the process of their GPU, which makes one after the other; sending goes on beside them.
Plan ClusterNetwork::message(const NetworkOp& op) {
  const auto end = [&](int gpu) {
    return activities::ClusterEnd{gpu / gpus_per_node_, cluster_.node().gpu(gpu % gpus_per_node_)};
  };
  activities::Message message;
  message.from = end(op.gpus.at(0));
  message.to = end(op.gpus.at(1));
  message.bytes = op.size_B;
  if (message.from.node != message.to.node) message.transport = transport_;
  MessageFlows made = message_flows(cluster_, message, catalogue_.solver("fluid"), said());
  Plan planned = std::move(made.plan);
  for (std::size_t i = 0; i < planned.activities.size(); ++i)
    if (i != at(made.network))
      planned.activities[i].queues = {queue_of_process(op.gpus.at(i < at(made.network) ? 0 : 1))};
  if (message.from.node != message.to.node) share_engines(message, planned.activities[at(made.network)]);
  return planned;
}

/// A message that has another rate than the engine's long ones holds it for as much of the time.
void ClusterNetwork::share_engines(const activities::Message& message, Activity& flow) const {
  if (flow.rate_cap_Bps == std::numeric_limits<double>::infinity()) return;
  const auto [out, in] = activities::endpoints_of(cluster_, message);
  const auto share = [&](int endpoint, bool sends) {
    if (!cluster_.has_engine(endpoint)) return;
    const int key = cluster_.key_of_engine(endpoint, sends);
    flow.uses.push_back({key, cluster_.capacity(key) / flow.rate_cap_Bps});
  };
  share(out, true);
  share(in, false);
  const double start = activities::start_weight(cluster_, message, out, flow.rate_cap_Bps);
  if (start > 0) flow.uses.push_back({cluster_.key_of_engine(out, false), start});
}

void ClusterNetwork::put_on_node(int node, std::vector<Activity>& flows) const {
  for (Activity& flow : flows) {
    for (Use& use : flow.uses)
      if (!activities::is_own_limit(use.constraint)) use.constraint = cluster_.key(node, use.constraint);
    for (int& queue : flow.queues) queue = queue_of_copies(node, queue);
  }
}

Plan ClusterNetwork::in_one_node(const NetworkOp& op, int node) {
  NetworkOp local = op;
  for (int& gpu : local.gpus) gpu %= gpus_per_node_;
  Plan plan = collective_flows(catalogue_, platform_id_, usual_library(cluster_.node(), library_), local, said());
  put_on_node(node, plan.activities);
  return plan;
}

ClusterNetwork::Members ClusterNetwork::members_of(const NetworkOp& op) {
  Members members;
  std::map<int, std::vector<int>> of_node;
  for (const int gpu : op.gpus) {
    const int node = gpu / gpus_per_node_;
    if (of_node[node].empty()) members.nodes.push_back(node);
    of_node[node].push_back(gpu % gpus_per_node_);
  }
  members.gpus = of_node[members.nodes.front()];
  for (const auto& [node, gpus] : of_node) {
    if (gpus.size() != members.gpus.size())
      throw InputError("a " + op.op + " over nodes needs as many GPUs of each: node " + std::to_string(node) + " has " +
                       std::to_string(gpus.size()) + ", node " + std::to_string(members.nodes.front()) + " " +
                       std::to_string(members.gpus.size()));
    if (gpus != members.gpus)
      said().insert("a collective has other GPUs of one node than of another: those of its first rank's stand for all");
  }
  return members;
}

Plan ClusterNetwork::over_nodes(const NetworkOp& op) {
  const Members members = members_of(op);
  collective::PlacedCollective asked{library_, op.op, op.size_B, 1, op.nvls};
  asked.transport = transport_;
  Plan plan = collective::placed_collective(catalogue_, platform_id_, asked, {members.nodes, members.gpus});
  said().insert(plan.warnings.begin(), plan.warnings.end());
  return plan;
}

Plan ClusterNetwork::collective(const NetworkOp& op) {
  const int node = op.gpus.front() / gpus_per_node_;
  for (const int gpu : op.gpus)
    if (gpu / gpus_per_node_ != node) return over_nodes(op);
  return in_one_node(op, node);
}

Plan ClusterNetwork::copy(const NetworkOp& op, bool behind) {
  NetworkOp local = op;
  for (int& gpu : local.gpus) {
    if (gpu / gpus_per_node_ != op.gpus.front() / gpus_per_node_)
      throw InputError("a copy from GPU to GPU stays on its node: to others there are messages");
    gpu %= gpus_per_node_;
  }
  Plan plan = copy_plan(catalogue_, platform_id_, local, behind);
  put_on_node(op.gpus.front() / gpus_per_node_, plan.activities);
  return plan;
}

Plan ClusterNetwork::plan(const NetworkOp& op) {
  if (op.kind == NetworkOp::Kind::kMessage) return stages_ ? collective(message_as_call(op)) : message(op);
  if (op.kind == NetworkOp::Kind::kCollective) return collective(op);
  return copy(op, false);
}

double ClusterNetwork::slow(int gpu) const {
  return cluster_.node().topology().devices[at(cluster_.node().gpu(gpu % gpus_per_node_))].slow;
}

std::string ClusterNetwork::link_id(int key) const { return key < cluster_.first_engine_key() ? cluster_.id(key) : ""; }

class Nodes final : public NetworkKind {
 public:
  [[nodiscard]] std::unique_ptr<ReplayNetwork> make(catalogue::Catalogue& catalogue,
                                                    const NetworkRequest& request) const override {
    return std::make_unique<ClusterNetwork>(catalogue, request);
  }
};

const bool cluster_registered = network_kinds().add({"cluster", "nodes on their fabric", "docs/traces.md"},
                                                    [] { return std::make_unique<Nodes>(); });

}  // namespace

}  // namespace linkcast::replay
