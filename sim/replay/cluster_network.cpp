#include "sim/replay/cluster_network.hpp"

#include <utility>

#include "sim/collective/placed_collective.hpp"
#include "sim/collective/schedule_forecast.hpp"
#include "sim/copy/cluster_copies.hpp"
#include "sim/plugin/message_library.hpp"
#include "sim/query/query.hpp"
#include "sim/replay/collective_flows.hpp"
#include "sim/units/index.hpp"

namespace linkcast::replay {
namespace {

constexpr int kNoKey = -1;  ///< of a limit that no other operation shares

std::string usual_library(const Platform& node, const std::string& library) {
  return library.empty() ? node.calibration().default_library : library;
}

}  // namespace

ClusterNetwork::ClusterNetwork(catalogue::Catalogue& catalogue, std::string platform_id, int nodes, int gpus_per_node,
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

ClusterNetwork::Flows ClusterNetwork::taken_over(activities::ClusterProblem& problem) {
  Flows flows = problem.problem().activities;
  for (Activity& flow : flows)
    for (Use& use : flow.uses) use.constraint = constraint(problem.key(use.constraint));
  return flows;
}

/// Staged copies hold up the process of their GPU, which makes one after the other; sending goes on beside them.
FlowNetwork::Planned ClusterNetwork::message(const NetworkOp& op) {
  const auto end = [&](int gpu) {
    return activities::ClusterEnd{gpu / gpus_per_node_, cluster_.node().gpu(gpu % gpus_per_node_)};
  };
  activities::ClusterProblem problem(cluster_);
  activities::Message message;
  message.from = end(op.gpus.at(0));
  message.to = end(op.gpus.at(1));
  message.bytes = op.size_B;
  if (message.from.node != message.to.node) message.transport = transport_;
  const activities::PlannedMessage plan = activities::add_message(problem, message);
  if (!plan.warning.empty()) said().insert(plan.warning);
  const double alone_s = catalogue_.solver("fluid").run(problem.problem()).makespan_s;
  uncertainty::Verdict verdict;
  const uncertainty::Uncertainty uncertainty = copy::uncertainty_of(cluster_, plan, op.size_B, alone_s, verdict);
  Flows flows = taken_over(problem);
  if (message.from.node != message.to.node) share_engines(message, flows[at(plan.network)]);
  Planned planned{{}, uncertainty::spread_of(uncertainty.around(alone_s), alone_s)};
  for (std::size_t i = 0; i < flows.size(); ++i) {
    flows[i].after.clear();  // stages follow each other
    if (i != at(plan.network)) flows[i].queues = {op.gpus.at(i < at(plan.network) ? 0 : 1)};
    planned.stages.push_back({std::move(flows[i])});
  }
  return planned;
}

/// A message that has another rate than the engine's long ones holds it for as much of the time.
void ClusterNetwork::share_engines(const activities::Message& message, Activity& flow) {
  if (flow.rate_cap_Bps == std::numeric_limits<double>::infinity()) return;
  const auto [out, in] = activities::endpoints_of(cluster_, message);
  const auto share = [&](int endpoint, bool sends) {
    if (!cluster_.has_engine(endpoint)) return;
    const int key = cluster_.key_of_engine(endpoint, sends);
    flow.uses.push_back({constraint(key), cluster_.capacity(key) / flow.rate_cap_Bps});
  };
  share(out, true);
  share(in, false);
}

void ClusterNetwork::put_on_node(int node, Flows& flows) {
  for (Activity& flow : flows)
    for (Use& use : flow.uses)
      if (!activities::is_own_limit(use.constraint)) use.constraint = constraint(cluster_.key(node, use.constraint));
}

int ClusterNetwork::add_own_limit(double capacity_Bps) {
  keys_.push_back(kNoKey);
  return fluid().add_constraint(capacity_Bps);
}

FlowNetwork::Planned ClusterNetwork::in_one_node(const NetworkOp& op, int node) {
  NetworkOp local = op;
  for (int& gpu : local.gpus) gpu %= gpus_per_node_;
  FlowsAlone planned =
      collective_flows(catalogue_, platform_id_, usual_library(cluster_.node(), library_), local, said());
  put_on_node(node, planned.flows);
  place_own_limits(
      planned.own_limits, [this](double Bps) { return add_own_limit(Bps); }, planned.flows);
  return {{std::move(planned.flows)}, planned.spread};
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

/// Rounds of messages: its forecast stands for it, over as many nodes, the first ones, with as many GPUs each.
FlowNetwork::Planned ClusterNetwork::forecast_alone(const NetworkOp& op, const Members& members) {
  Json query{{"kind", "collective"}, {"platform", platform_id_},      {"op", op.op},
             {"size_B", op.size_B},  {"nodes", members.nodes.size()}, {"gpus_per_node", members.gpus.size()},
             {"library", library_}};
  const auto& mpi = dynamic_cast<const MessageLibrary&>(libraries().get(library_));
  if (mpi.staging(op.op) == Staging::kNone && !transport_.empty()) query["transport"] = transport_;
  const Json answer = query::answer_or_throw(catalogue_, query, "collective over nodes");
  for (const Json& warning : answer["warnings"]) said().insert(warning.get<std::string>());
  said().insert("collectives of " + library_ +
                " over several nodes take what the forecast for the first nodes takes, and share no link with others");
  Activity flow;
  flow.delay_s = answer["time_s"].get<double>();
  const uncertainty::Interval interval{answer["time_low_s"].get<double>(), answer["time_high_s"].get<double>()};
  return {{{flow}}, uncertainty::spread_of(interval, flow.delay_s)};
}

FlowNetwork::Planned ClusterNetwork::over_nodes(const NetworkOp& op) {
  const Members members = members_of(op);
  if (collective::is_mpi_library(library_)) return forecast_alone(op, members);
  activities::Plan made = collective::placed_collective(catalogue_, platform_id_, {library_, op.op, op.size_B, 1},
                                                        {members.nodes, members.gpus});
  said().insert(made.warnings.begin(), made.warnings.end());
  for (Activity& flow : made.activities)
    for (Use& use : flow.uses)
      if (!activities::is_own_limit(use.constraint)) use.constraint = constraint(use.constraint);
  place_own_limits(
      made.own_limits, [this](double Bps) { return add_own_limit(Bps); }, made.activities);
  return {{std::move(made.activities)}, made.spread};
}

FlowNetwork::Planned ClusterNetwork::collective(const NetworkOp& op) {
  const int node = op.gpus.front() / gpus_per_node_;
  for (const int gpu : op.gpus)
    if (gpu / gpus_per_node_ != node) return over_nodes(op);
  return in_one_node(op, node);
}

FlowNetwork::Planned ClusterNetwork::copy(const NetworkOp& op) {
  NetworkOp local = op;
  local.gpus.front() %= gpus_per_node_;
  FlowsAlone alone = copy_stages(catalogue_, platform_id_, local);
  put_on_node(op.gpus.front() / gpus_per_node_, alone.flows);
  Planned planned{{}, alone.spread};
  for (Activity& flow : alone.flows) planned.stages.push_back({std::move(flow)});
  return planned;
}

FlowNetwork::Planned ClusterNetwork::plan(const NetworkOp& op) {
  if (op.kind == NetworkOp::Kind::kMessage) return message(op);
  if (op.kind == NetworkOp::Kind::kCollective) return collective(op);
  return copy(op);
}

double ClusterNetwork::slow(int gpu) const {
  return cluster_.node().topology().devices[at(cluster_.node().gpu(gpu % gpus_per_node_))].slow;
}

std::string ClusterNetwork::link_id(int constraint) const {
  const int key = keys_[at(constraint)];
  return key != kNoKey && key < cluster_.first_engine_key() ? cluster_.id(key) : "";
}

}  // namespace linkcast::replay
