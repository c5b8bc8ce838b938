#include "sim/replay/node_network.hpp"

#include <utility>

#include "sim/replay/collective_flows.hpp"

namespace linkcast {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

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

const NodeNetwork::Stages& NodeNetwork::stages_of(const NetworkOp& op) {
  const Key key{op.kind, op.op, op.gpus, op.size_B};
  const auto known = known_.find(key);
  if (known != known_.end()) return known->second;
  const bool by_kernels = op.kind == NetworkOp::Kind::kCollective || op.kind == NetworkOp::Kind::kMessage;
  Stages stages;
  if (op.size_B > 0 && by_kernels && op.gpus.size() > 1)
    stages = {collective_flows(catalogue_, platform_id_, library_, op, warnings_)};
  if (op.size_B > 0 && !by_kernels)
    for (Activity& stage : copy_stages(platform_, op)) stages.push_back({std::move(stage)});
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

double NodeNetwork::slow(int gpu) const { return platform_.topology().devices[at(platform_.gpu(gpu))].slow; }

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
