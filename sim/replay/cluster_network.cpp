#include "sim/replay/cluster_network.hpp"

#include <utility>

#include "sim/forecast/cluster_message.hpp"
#include "sim/forecast/query.hpp"
#include "sim/plugin/message_library.hpp"
#include "sim/replay/collective_flows.hpp"

namespace linkcast {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

std::string usual_library(const Platform& node, const std::string& library) {
  return library.empty() ? node.calibration().default_library : library;
}

}  // namespace

ClusterNetwork::ClusterNetwork(Catalogue& catalogue, std::string platform_id, int nodes, int gpus_per_node,
                               std::string library, std::string transport)
    : FlowNetwork({}),
      catalogue_(catalogue),
      platform_id_(std::move(platform_id)),
      nodes_(nodes),
      gpus_per_node_(gpus_per_node),
      library_(std::move(library)),
      transport_(std::move(transport)),
      cluster_(catalogue.cluster(platform_id_)) {
  if (nodes_ < 1 || nodes_ > cluster_.nodes())
    throw InputError("--nodes: must be 1 to " + std::to_string(cluster_.nodes()) + ", as many as the fabric has");
  if (gpus_per_node_ < 1 || gpus_per_node_ > cluster_.node().gpu_count())
    throw InputError("--gpus-per-node: must be 1 to " + std::to_string(cluster_.node().gpu_count()));
}

int ClusterNetwork::constraint(int key) {
  const auto [number, added] = number_.try_emplace(key, fluid().constraints());
  if (added) {
    fluid().add_constraint(cluster_.capacity(key));
    keys_.push_back(key);
  }
  return number->second;
}

ClusterNetwork::Flows ClusterNetwork::taken_over(ClusterProblem& problem) {
  Flows flows = problem.problem().activities;
  for (Activity& flow : flows)
    for (Use& use : flow.uses) use.constraint = constraint(problem.key(use.constraint));
  return flows;
}

/// Staged copies hold up the process of their GPU, which makes one after the other; sending goes on beside them.
FlowNetwork::Stages ClusterNetwork::message(const NetworkOp& op) {
  const auto end = [&](int gpu) { return ClusterEnd{gpu / gpus_per_node_, cluster_.node().gpu(gpu % gpus_per_node_)}; };
  ClusterProblem problem(cluster_);
  Message message;
  message.from = end(op.gpus.at(0));
  message.to = end(op.gpus.at(1));
  message.bytes = op.size_B;
  if (message.from.node != message.to.node) message.transport = transport_;
  const PlannedMessage plan = add_message(problem, message);
  if (!plan.warning.empty()) said().insert(plan.warning);
  Flows flows = taken_over(problem);
  if (message.from.node != message.to.node) share_engines(message, flows[at(plan.network)]);
  Stages stages;
  for (std::size_t i = 0; i < flows.size(); ++i) {
    flows[i].after.clear();  // stages follow each other
    if (i != at(plan.network)) flows[i].queues = {op.gpus.at(i < at(plan.network) ? 0 : 1)};
    stages.push_back({std::move(flows[i])});
  }
  return stages;
}

/// A card that moves bytes by an engine of its own gives all its messages together what it gives one: they share it at
/// both ends, each direction by itself.
void ClusterNetwork::share_engines(const Message& message, Activity& flow) {
  if (flow.rate_cap_Bps == std::numeric_limits<double>::infinity()) return;
  const auto [out, in] = endpoints_of(cluster_, message);
  const auto share = [&](int endpoint, bool sends) {
    const int nic = cluster_.nic_device(endpoint % cluster_.nics());
    if (!cluster_.node().topology().devices[at(nic)].engine) return;
    const auto [number, added] = engines_.try_emplace({endpoint, sends, flow.rate_cap_Bps}, fluid().constraints());
    if (added) {
      fluid().add_constraint(flow.rate_cap_Bps);
      keys_.push_back(-1);
    }
    flow.uses.push_back({number->second, 1});
  };
  share(out, true);
  share(in, false);
}

void ClusterNetwork::put_on_node(int node, Flows& flows) {
  for (Activity& flow : flows)
    for (Use& use : flow.uses) use.constraint = constraint(cluster_.key(node, use.constraint));
}

ClusterNetwork::Flows ClusterNetwork::in_one_node(const NetworkOp& op, int node) {
  NetworkOp local = op;
  for (int& gpu : local.gpus) gpu %= gpus_per_node_;
  Flows flows = collective_flows(catalogue_, platform_id_, usual_library(cluster_.node(), library_), local, said());
  put_on_node(node, flows);
  return flows;
}

/// Its forecast stands for it: over as many nodes, the first ones, with as many GPUs each.
ClusterNetwork::Flows ClusterNetwork::over_nodes(const NetworkOp& op) {
  std::map<int, int> members;
  for (const int gpu : op.gpus) ++members[gpu / gpus_per_node_];
  for (const auto& [node, count] : members)
    if (count != members.begin()->second)
      throw InputError("a " + op.op + " over nodes needs as many GPUs of each: node " + std::to_string(node) + " has " +
                       std::to_string(count) + ", node " + std::to_string(members.begin()->first) + " " +
                       std::to_string(members.begin()->second));
  Json query{{"kind", "collective"}, {"platform", platform_id_}, {"op", op.op},
             {"size_B", op.size_B},  {"nodes", members.size()},  {"gpus_per_node", members.begin()->second}};
  if (!library_.empty()) query["library"] = library_;
  const auto* mpi = library_.empty() ? nullptr : dynamic_cast<const MessageLibrary*>(&libraries().get(library_));
  if (!mpi) query["calls"] = 1;
  if (mpi && mpi->staging(op.op) == Staging::kNone && !transport_.empty()) query["transport"] = transport_;
  const Json answer = answer_or_throw(catalogue_, query, "collective over nodes");
  for (const Json& warning : answer["warnings"]) said().insert(warning.get<std::string>());
  said().insert(
      "collectives over several nodes take what the forecast for the first nodes takes, and share no link "
      "with others");
  Activity flow;
  flow.delay_s = answer["time_s"].get<double>();
  return {flow};
}

ClusterNetwork::Flows ClusterNetwork::collective(const NetworkOp& op) {
  const int node = op.gpus.front() / gpus_per_node_;
  for (const int gpu : op.gpus)
    if (gpu / gpus_per_node_ != node) return over_nodes(op);
  return in_one_node(op, node);
}

FlowNetwork::Stages ClusterNetwork::copy(const NetworkOp& op) {
  NetworkOp local = op;
  local.gpus.front() %= gpus_per_node_;
  Flows flows = copy_stages(cluster_.node(), local);
  put_on_node(op.gpus.front() / gpus_per_node_, flows);
  Stages stages;
  for (Activity& flow : flows) stages.push_back({std::move(flow)});
  return stages;
}

FlowNetwork::Stages ClusterNetwork::plan(const NetworkOp& op) {
  if (op.kind == NetworkOp::Kind::kMessage) return message(op);
  if (op.kind == NetworkOp::Kind::kCollective) return {collective(op)};
  return copy(op);
}

double ClusterNetwork::slow(int gpu) const {
  return cluster_.node().topology().devices[at(cluster_.node().gpu(gpu % gpus_per_node_))].slow;
}

std::string ClusterNetwork::link_id(int constraint) const {
  const int key = keys_[at(constraint)];
  return key < 0 ? "" : cluster_.id(key);
}

}  // namespace linkcast
