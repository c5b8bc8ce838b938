#include "sim/replay/flow_network.hpp"

#include <algorithm>
#include <utility>

#include "sim/units/index.hpp"

namespace linkcast::replay {
namespace {

constexpr double kLeast_B = 1;  // forecasts are of some bytes: a message of none has the start-up of this one

/// Nothing to do, or nobody to do it with. A library returns from a collective of nothing at once; of a message of
/// nothing the receiver still has to hear.
bool is_empty(const NetworkOp& op) {
  if (op.kind == NetworkOp::Kind::kMessage) return false;
  return op.size_B <= 0 || (op.kind == NetworkOp::Kind::kCollective && op.gpus.size() < 2);
}

}  // namespace

const FlowNetwork::Stages& FlowNetwork::stages_of(const NetworkOp& op) {
  const Key key{op.kind, op.op, op.gpus, op.size_B};
  const auto known = known_.find(key);
  if (known != known_.end()) return known->second;
  Planned planned{{{Activity{}}}};  // ends at once
  if (!is_empty(op)) {
    NetworkOp least = op;
    least.size_B = std::max(op.size_B, kLeast_B);
    planned = plan(least);
  }
  const double longer = end_ == IntervalEnd::kLow    ? planned.spread.low
                        : end_ == IntervalEnd::kHigh ? planned.spread.high
                                                     : 1;
  for (Flows& flows : planned.stages)
    for (Activity& flow : flows) {
      flow.delay_s *= longer;
      flow.work_B *= op.size_B > 0 ? longer : 0;
    }
  return known_.emplace(key, std::move(planned.stages)).first->second;
}

void FlowNetwork::begin(long ticket, const Activity& flow) {
  Activity alone = flow;
  alone.queues.clear();
  alone.after.clear();
  const int handle = fluid_.start(alone);
  if (served_.size() <= at(handle)) served_.resize(at(handle) + 1);
  served_[at(handle)] = {ticket, flow.queues.empty() ? -1 : flow.queues.front()};
}

void FlowNetwork::start_stage(long ticket, Running& running) {
  for (const Activity& flow : (*running.stages)[running.stage]) {
    ++running.flows;
    if (!flow.queues.empty()) {
      auto& line = lines_[flow.queues.front()];
      line.push_back({ticket, &flow});
      if (line.size() > 1) continue;
    }
    begin(ticket, flow);
  }
}

void FlowNetwork::next_in_line(int queue) {
  auto& line = lines_.at(queue);
  line.pop_front();
  if (!line.empty()) begin(line.front().ticket, *line.front().flow);
}

long FlowNetwork::start(const NetworkOp& op) {
  const Stages& stages = stages_of(op);
  const long ticket = tickets_++;
  Running& running = running_[ticket];
  running.stages = &stages;
  start_stage(ticket, running);
  return ticket;
}

void FlowNetwork::advance(double to_s, std::vector<long>& ended) {
  ended.clear();
  fluid_.advance(to_s);
  flows_ended_ = fluid_.ended();
  std::sort(flows_ended_.begin(), flows_ended_.end(),
            [this](int a, int b) { return served_[at(a)].ticket < served_[at(b)].ticket; });
  ended_.clear();  // all of them before a next stage takes the handles
  for (const int handle : flows_ended_) ended_.push_back(served_[at(handle)]);
  for (const auto& [ticket, queue] : ended_) {
    if (queue >= 0) next_in_line(queue);
    const auto found = running_.find(ticket);
    Running& running = found->second;
    if (--running.flows > 0) continue;
    if (++running.stage < running.stages->size()) {
      start_stage(ticket, running);
      continue;
    }
    running_.erase(found);
    ended.push_back(ticket);
  }
}

std::vector<LinkUse> FlowNetwork::link_use() {
  const std::vector<double>& carried_B = fluid_.carried_B();
  std::vector<LinkUse> all;
  for (std::size_t i = 0; i < carried_B.size(); ++i) {
    if (carried_B[i] <= 0) continue;
    const int constraint = static_cast<int>(i);
    std::string id = link_id(constraint);
    if (!id.empty()) all.push_back({std::move(id), fluid_.capacity_Bps(constraint), carried_B[i]});
  }
  return all;
}

}  // namespace linkcast::replay
