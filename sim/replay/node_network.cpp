#include "sim/replay/node_network.hpp"

#include <utility>

#include "sim/engine/check.hpp"
#include "sim/engine/fluid_solver.hpp"
#include "sim/forecast/collective_job.hpp"
#include "sim/forecast/collective_result.hpp"
#include "sim/plugin/ring_arithmetic.hpp"

namespace linkcast {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

/// One problem by itself while a replay runs: SimGrid's main loop, which drives the replay, cannot run twice at once.
Solution solve(const Problem& problem) {
  FluidSolver solver;
  solver.load(problem);
  while (solver.next_event_s() < std::numeric_limits<double>::infinity()) solver.advance();
  Solution solution = solver.take_solution();
  check_solution(problem, solution);
  return solution;
}

/// One send and its receive, by the kernels of a library.
class Message final : public Collective {
 public:
  [[nodiscard]] Bytes bytes_per_hop(Bytes /*size*/, int /*ranks*/) const override { return {0}; }
  [[nodiscard]] int steps(int /*ranks*/) const override { return 1; }
  [[nodiscard]] bool closed() const override { return false; }
  [[nodiscard]] std::vector<PairMessage> messages(Bytes size, int /*ranks*/) const override { return {{0, 1, size}}; }
  [[nodiscard]] double bus_factor(int /*ranks*/) const override { return 1; }
};

std::vector<double> capacities(const Platform& platform) {
  std::vector<double> all;
  for (const Constraint& constraint : platform.constraints()) all.push_back(constraint.capacity.value);
  return all;
}

}  // namespace

NodeNetwork::NodeNetwork(Catalogue& catalogue, std::string platform_id, std::string library)
    : catalogue_(catalogue),
      platform_id_(std::move(platform_id)),
      library_(std::move(library)),
      platform_(catalogue.platform(platform_id_)),
      fluid_(capacities(platform_)) {
  if (library_.empty()) library_ = platform_.calibration().default_library;
}

/// Each flow is held to what it gets alone, waits of its blocks included, so that alone it takes the forecast's time.
NodeNetwork::Stages NodeNetwork::collective(const NetworkOp& op) {
  const Message message;
  const bool is_message = op.kind == NetworkOp::Kind::kMessage;
  const Job job{platform_,
                libraries().get(library_),
                catalogue_.communicator(platform_id_, library_, op.gpus),
                is_message ? message : collectives().get(op.op),
                is_message ? "sendrecv" : op.op,
                op.size_B,
                "",
                "",
                false,
                1};
  ProblemBuilder builder(platform_);
  Run run = prepare(job, builder);
  const Solution alone = solve(builder.problem());
  finish(job, alone, run);
  for (const Json& warning : warnings_of(job, run)) warnings_.insert(warning.get<std::string>());
  std::vector<Activity> flows;
  for (const int index : run.activities) {
    Activity flow = builder.problem().activities[at(index)];
    const double alone_s = alone.finish_s[at(index)] * run.stretch;
    if (alone_s > 0) flow.rate_cap_Bps = flow.work_B / alone_s;
    flow.delay_s = run.latency_s;
    flows.push_back(std::move(flow));
  }
  return {std::move(flows)};
}

NodeNetwork::Stages NodeNetwork::copy(const NetworkOp& op) {
  const int gpu = platform_.gpu(op.gpus.at(0));
  Transfer transfer;
  transfer.source = op.kind == NetworkOp::Kind::kHostToDevice ? platform_.socket_of(gpu) : gpu;
  transfer.target = op.kind == NetworkOp::Kind::kDeviceToHost ? platform_.socket_of(gpu) : gpu;
  transfer.bytes = op.size_B;
  transfer.single = true;
  ProblemBuilder builder(platform_);
  const PlannedTransfer plan = builder.add(transfer);
  Stages stages;
  for (const int index : plan.activities) {
    Activity flow = builder.problem().activities[at(index)];
    flow.after.clear();
    flow.queues.clear();
    stages.push_back({std::move(flow)});
  }
  return stages;
}

const NodeNetwork::Stages& NodeNetwork::stages_of(const NetworkOp& op) {
  const Key key{op.kind, op.op, op.gpus, op.size_B};
  const auto known = known_.find(key);
  if (known != known_.end()) return known->second;
  const bool by_kernels = op.kind == NetworkOp::Kind::kCollective || op.kind == NetworkOp::Kind::kMessage;
  Stages stages;
  if (op.size_B > 0 && (!by_kernels || op.gpus.size() > 1)) stages = by_kernels ? collective(op) : copy(op);
  return known_.emplace(key, std::move(stages)).first->second;
}

void NodeNetwork::start_stage(long ticket, Running& running) {
  for (const Activity& flow : (*running.stages)[running.stage]) {
    const int handle = fluid_.start(flow);
    if (ticket_of_.size() <= at(handle)) ticket_of_.resize(at(handle) + 1);
    ticket_of_[at(handle)] = ticket;
    ++running.flows;
  }
}

long NodeNetwork::start(const NetworkOp& op) {
  static const Stages kNothing{{Activity{}}};
  const Stages& stages = stages_of(op);
  const long ticket = tickets_++;
  Running& running = running_[ticket];
  running.stages = stages.empty() ? &kNothing : &stages;
  start_stage(ticket, running);
  return ticket;
}

void NodeNetwork::advance(double to_s, std::vector<long>& ended) {
  ended.clear();
  fluid_.advance(to_s, flows_ended_);
  std::vector<long> tickets;  // before a next stage takes the handles
  for (const int handle : flows_ended_) tickets.push_back(ticket_of_[at(handle)]);
  for (const long ticket : tickets) {
    Running& running = running_.at(ticket);
    if (--running.flows > 0) continue;
    if (++running.stage < running.stages->size()) {
      start_stage(ticket, running);
      continue;
    }
    running_.erase(ticket);
    ended.push_back(ticket);
  }
}

std::vector<LinkUse> NodeNetwork::link_use() {
  const std::vector<double> carried_B = fluid_.carried_B();
  std::vector<LinkUse> all;
  for (std::size_t i = 0; i < carried_B.size(); ++i)
    if (carried_B[i] > 0)
      all.push_back({platform_.constraints()[i].id, platform_.constraints()[i].capacity.value, carried_B[i]});
  return all;
}

}  // namespace linkcast
