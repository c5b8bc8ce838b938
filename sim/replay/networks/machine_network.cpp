// A machine's links: one node, or many on their fabric. A node alone is a cluster of one.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "sim/base/index.hpp"
#include "sim/engine/solvers.hpp"
#include "sim/forecast/copy_terms.hpp"
#include "sim/forecast/placed_collective.hpp"
#include "sim/machine/collective.hpp"
#include "sim/plan/cluster_message.hpp"
#include "sim/plan/transfer.hpp"
#include "sim/replay/flow_network.hpp"
#include "sim/replay/network.hpp"

namespace linkcast::replay {
namespace {

using activities::Plan;

/// One send and its receive, by the kernels of a library.
class KernelMessage final : public PairCollective {
 public:
  KernelMessage() : PairCollective({}) {}
  [[nodiscard]] std::vector<PairMessage> messages(Bytes size, int /*ranks*/) const override { return {{0, 1, size}}; }
  [[nodiscard]] bool own_part() const override { return false; }
  [[nodiscard]] double bus_factor(int /*ranks*/) const override { return 1; }
};

/// The collective that is one message and nothing else: what a library does around its messages is then done.
NetworkOp message_as_call(const NetworkOp& message) {
  return {NetworkOp::Kind::kCollective, "broadcast", message.gpus, message.size_B};
}

/// GPU g is GPU g % M of node g / M, where each node gives M GPUs. Plans have keys of the machine; their queues are the
/// copy engines of all nodes, then a process for each GPU.
class MachineNetwork final : public FlowNetwork {
 public:
  /// @throws InputError  the machine has not so many nodes, or GPUs of each
  MachineNetwork(catalogue::Catalogue& catalogue, const Cluster& machine, const NetworkRequest& request);

  [[nodiscard]] int gpus() const override { return nodes_ * gpus_per_node_; }
  [[nodiscard]] double slow(int gpu) const override {
    return node().topology().devices[at(node().gpu(gpu % gpus_per_node_))].slow;
  }

 private:
  Plan plan(const NetworkOp& op) override;
  std::optional<Plan> plan_behind(const NetworkOp& op) override {
    if (op.kind == NetworkOp::Kind::kMessage || op.kind == NetworkOp::Kind::kCollective) return std::nullopt;
    return copy(op, true);
  }
  [[nodiscard]] std::string link_id(int key) const override;

  [[nodiscard]] const Platform& node() const { return machine().node(); }
  [[nodiscard]] int node_of(const NetworkOp& op) const { return op.gpus.front() / gpus_per_node_; }
  [[nodiscard]] bool in_one_node(const NetworkOp& op) const;
  [[nodiscard]] NetworkOp local(NetworkOp op) const;
  Plan message(const NetworkOp& op);
  Plan message_of_curve(const NetworkOp& op);
  void share_engines(const activities::Message& message, Activity& flow) const;
  Plan collective(const NetworkOp& op);
  Plan by_kernels(const NetworkOp& op);
  Plan over_nodes(const NetworkOp& op);
  collective::PlacedNodes members_of(const NetworkOp& op);
  collective::PlacedCollective call_of(const NetworkOp& op);
  Plan copy(const NetworkOp& op, bool behind);
  Plan forecast(const collective::CollectiveJob& job);
  void put_on_node(int node, Plan& plan) const;
  [[nodiscard]] int queue_of_process(int gpu) const {
    return activities::queue_of_node(node(), machine().nodes(), gpu);
  }

  catalogue::Catalogue& catalogue_;
  catalogue::MachinePtr asked_;  ///< whose links these are
  int nodes_, gpus_per_node_;
  std::string library_;  ///< of all that the jobs exchange, inside nodes too
  std::string transport_;
  std::shared_ptr<const Algorithm> own_;  ///< a user's schedule; null: none
  bool kernels_ = false;  ///< messages inside a node are the library's kernels; else they have curves of their own
  bool stages_ = false;   ///< the library's messages go through host memory
};

MachineNetwork::MachineNetwork(catalogue::Catalogue& catalogue, const Cluster& machine, const NetworkRequest& request)
    : FlowNetwork(machine, request),
      catalogue_(catalogue),
      asked_(request.machine),
      nodes_(std::max(request.nodes, 1)),
      gpus_per_node_(request.gpus_per_node > 0 ? request.gpus_per_node : machine.node().gpu_count()),
      library_(request.library),
      transport_(request.transport),
      own_(request.own) {
  if (nodes_ > machine.nodes())
    throw InputError(fmt::format("nodes: must be 1 to {}, as many as the fabric has", machine.nodes()));
  if (gpus_per_node_ > node().gpu_count())
    throw InputError(fmt::format("gpus_per_node: must be 1 to {}", node().gpu_count()));
  const Calibration& calibration = node().calibration();
  if (library_.empty())
    library_ = nodes_ > 1 ? collective::usual_library_across(calibration) : calibration.default_library;
  const Library& library = libraries().get(library_);
  kernels_ = library.rings() != nullptr;
  if (own_ != nullptr && !kernels_)
    throw InputError(
        fmt::format("algorithm_file: is run by libraries that build rings, and {} sends messages", library_));
  stages_ = library.schedules() != nullptr && library.schedules()->staging(KernelMessage()) != Staging::kNone;
}

bool MachineNetwork::in_one_node(const NetworkOp& op) const {
  return std::all_of(op.gpus.begin(), op.gpus.end(), [&](int gpu) { return gpu / gpus_per_node_ == node_of(op); });
}

/// Its GPUs are then numbers of their node.
NetworkOp MachineNetwork::local(NetworkOp op) const {
  for (int& gpu : op.gpus) gpu %= gpus_per_node_;
  return op;
}

/// Constraints and queues of a node by itself become those of the machine.
void MachineNetwork::put_on_node(int node, Plan& plan) const {
  activities::renumber(plan, [&](int constraint) { return machine().key(node, constraint); });
  for (Activity& flow : plan.activities)
    for (int& queue : flow.queues) queue = activities::queue_of_node(this->node(), node, queue);
}

Plan MachineNetwork::message(const NetworkOp& op) {
  if (stages_) return collective(message_as_call(op));
  return kernels_ && in_one_node(op) ? by_kernels(op) : message_of_curve(op);
}

/// Its stages follow each other. Staged copies hold up the process of their GPU, which makes one after the other;
/// sending goes on meanwhile.
Plan MachineNetwork::message_of_curve(const NetworkOp& op) {
  const auto end = [&](int gpu) {
    return activities::ClusterEnd{gpu / gpus_per_node_, node().gpu(gpu % gpus_per_node_)};
  };
  activities::Message message;
  message.from = end(op.gpus.at(0));
  message.to = end(op.gpus.at(1));
  message.bytes = op.size_B;
  const bool between_nodes = message.from.node != message.to.node;
  if (between_nodes) message.transport = transport_;
  activities::ClusterProblem problem(machine());
  problem.keep_adaptive_crossings();
  const activities::PlannedMessage stages = activities::add_message(problem, message);
  Plan plan;
  plan.alone_s = catalogue_.solver(SolverChoice::name()).run(problem.problem()).makespan_s;
  uncertainty::Terms terms(node().calibration(), plan.alone_s);
  std::set<std::string> extrapolated;
  uncertainty::add_message(machine(), stages, message.bytes, terms, said());
  uncertainty::add_extrapolation(node(), message.bytes, stages.latency_s, terms, extrapolated);
  terms.bound(problem.wire_bound_s());
  plan.spread = uncertainty::spread_of(terms.interval(), plan.alone_s);
  plan.activities = problem.problem().activities;
  plan.crossings = problem.adaptive_crossings();
  for (int i = 0; i < static_cast<int>(plan.activities.size()); ++i) {
    Activity& stage = plan.activities[at(i)];
    for (Use& use : stage.uses) use.constraint = problem.key(use.constraint);
    stage.after = i > 0 ? std::vector<int>{i - 1} : std::vector<int>{};
    if (i != stages.network) stage.queues = {queue_of_process(op.gpus.at(i < stages.network ? 0 : 1))};
  }
  if (between_nodes) share_engines(message, plan.activities[at(stages.network)]);
  return plan;
}

/// A message that has another rate than the engine's long ones holds it for as much of the time.
void MachineNetwork::share_engines(const activities::Message& message, Activity& flow) const {
  if (flow.rate_cap_Bps == std::numeric_limits<double>::infinity()) return;
  const auto [out, in] = activities::endpoints_of(machine(), message);
  const auto share = [&](int endpoint, bool sends) {
    if (!machine().has_engine(endpoint)) return;
    const int key = machine().key_of_engine(endpoint, sends);
    flow.uses.push_back({key, machine().capacity(key) / flow.rate_cap_Bps});
  };
  share(out, true);
  share(in, false);
  const double start = activities::start_weight(machine(), message, out, flow.rate_cap_Bps);
  if (start > 0) flow.uses.push_back({machine().key_of_engine(out, false), start});
}

/// With nothing else going on it takes the forecast's time.
Plan MachineNetwork::forecast(const collective::CollectiveJob& job) {
  Plan plan = collective::forecast_to_share(job, catalogue_.solver(SolverChoice::name()));
  said().insert(plan.warnings.begin(), plan.warnings.end());
  return plan;
}

/// A message inside a node.
Plan MachineNetwork::by_kernels(const NetworkOp& op) {
  const KernelMessage message;
  const auto communicator = asked_->communicator(library_, local(op).gpus);
  collective::CollectiveJob job{
      asked_->lone_node(), libraries().get(library_), *communicator, message, "sendrecv", op.size_B};
  job.calls = 1;
  Plan plan = forecast(job);
  put_on_node(node_of(op), plan);
  return plan;
}

/// By the user's schedule where that is for such a call.
collective::PlacedCollective MachineNetwork::call_of(const NetworkOp& op) {
  collective::PlacedCollective call{op.library.empty() ? library_ : op.library, op.op, op.size_B, 1, op.nvls};
  const int ranks = static_cast<int>(op.gpus.size());
  if (own_ == nullptr) return call;
  const OnlyCall own = own_->only_call().value();
  if (!own.refusal(op.op, ranks).empty())
    said().insert(
        fmt::format("{} of {} GPUs runs as the library chooses: algorithm_file is for {}", op.op, ranks, own.text()));
  else if (!own.takes(op.size_B))
    said().insert(own.left_to_library(op.size_B));
  else
    call.own = own_.get();
  return call;
}

Plan MachineNetwork::collective(const NetworkOp& op) {
  if (!in_one_node(op)) return over_nodes(op);
  Plan plan = forecast(collective::place_job(*asked_, call_of(op), {{0}, local(op).gpus}).job);
  put_on_node(node_of(op), plan);
  return plan;
}

/// Nodes of an operation in the order of its ranks, and the GPUs of each.
collective::PlacedNodes MachineNetwork::members_of(const NetworkOp& op) {
  collective::PlacedNodes members;
  std::map<int, std::vector<int>> of_node;
  for (const int gpu : op.gpus) {
    const int node = gpu / gpus_per_node_;
    if (of_node[node].empty()) members.nodes.push_back(node);
    of_node[node].push_back(gpu % gpus_per_node_);
  }
  members.gpus = of_node[members.nodes.front()];
  for (const auto& [node, gpus] : of_node) {
    if (gpus.size() != members.gpus.size())
      throw InputError(fmt::format("a {} over nodes needs as many GPUs of each: node {} has {}, node {} {}", op.op,
                                   node, gpus.size(), members.nodes.front(), members.gpus.size()));
    if (gpus != members.gpus)
      said().insert("a collective has other GPUs of one node than of another: those of its first rank's stand for all");
  }
  return members;
}

Plan MachineNetwork::over_nodes(const NetworkOp& op) {
  const collective::PlacedNodes members = members_of(op);
  collective::PlacedCollective call = call_of(op);
  call.transport = transport_;
  Plan plan = collective::placed_collective(catalogue_, *asked_, call, members);
  said().insert(plan.warnings.begin(), plan.warnings.end());
  return plan;
}

/// A copy of a GPU with its host, itself or, pushed by its own engine, another GPU: stages, one after the other. Its
/// queues are the node's copy engines, of which each serves one copy at a time, whatever stream it is of.
/// @param behind  another copy on the same engine: that one pays the start from rest, this one a turn
Plan MachineNetwork::copy(const NetworkOp& op, bool behind) {
  if (!in_one_node(op)) throw InputError("a copy from GPU to GPU stays on its node: to others there are messages");
  const int gpu = node().gpu(local(op).gpus.at(0));
  activities::Transfer transfer;
  transfer.source = op.kind == NetworkOp::Kind::kHostToDevice ? node().socket_of(gpu) : gpu;
  transfer.target =
      op.kind == NetworkOp::Kind::kDeviceToHost ? node().socket_of(gpu) : node().gpu(local(op).gpus.back());
  transfer.bytes = op.size_B;
  transfer.single = true;
  activities::ProblemBuilder alone_builder(node());
  const activities::PlannedTransfer lone = alone_builder.add(transfer);
  const Solution alone = catalogue_.solver(SolverChoice::name()).run(alone_builder.problem());
  Plan plan;
  plan.alone_s = alone.makespan_s;
  const uncertainty::Terms terms = uncertainty::terms_of_copy(alone_builder, alone, lone, op.size_B);
  plan.spread = uncertainty::spread_of(terms.interval(), alone.makespan_s);
  activities::ProblemBuilder builder(node());
  if (behind) builder.add(transfer);
  const activities::PlannedTransfer planned = builder.add(transfer);
  for (const int index : planned.activities) {
    Activity stage = builder.problem().activities[at(index)];
    stage.after.clear();
    if (!plan.activities.empty()) stage.after = {static_cast<int>(plan.activities.size()) - 1};
    plan.activities.push_back(std::move(stage));
  }
  put_on_node(node_of(op), plan);
  return plan;
}

Plan MachineNetwork::plan(const NetworkOp& op) {
  if (op.kind == NetworkOp::Kind::kMessage) return message(op);
  return op.kind == NetworkOp::Kind::kCollective ? collective(op) : copy(op, false);
}

/// Those of a node alone are the node's own.
std::string MachineNetwork::link_id(int key) const {
  if (machine().nodes() == 1) return node().constraints()[at(key)].id;
  return key < machine().first_engine_key() ? machine().id(key) : "";
}

class LoneNode final : public NetworkKind {
 public:
  [[nodiscard]] std::unique_ptr<ReplayNetwork> make(catalogue::Catalogue& catalogue,
                                                    const NetworkRequest& request) const override {
    if (request.nodes > 1) throw InputError("nodes: network node is one node alone");
    if (!request.transport.empty()) throw InputError("transport: is of messages between nodes, and needs nodes");
    if (request.gpus_per_node > 0) throw InputError("gpus_per_node: needs nodes");
    return std::make_unique<MachineNetwork>(catalogue, request.machine->lone_node(), request);
  }
};

class Nodes final : public NetworkKind {
 public:
  [[nodiscard]] std::unique_ptr<ReplayNetwork> make(catalogue::Catalogue& catalogue,
                                                    const NetworkRequest& request) const override {
    return std::make_unique<MachineNetwork>(catalogue, request.machine->cluster(), request);
  }
};

// One network by two names: which says whether the machine's fabric is there.
const bool node_registered = network_kinds().add({"node", "the links of one node", "docs/traces.md"},
                                                 [] { return std::make_unique<LoneNode>(); });
const bool nodes_registered = network_kinds().add({"cluster", "nodes on their fabric", "docs/traces.md"},
                                                  [] { return std::make_unique<Nodes>(); });

}  // namespace
}  // namespace linkcast::replay
