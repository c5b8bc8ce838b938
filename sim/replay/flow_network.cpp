#include "sim/replay/flow_network.hpp"

#include <algorithm>
#include <utility>

#include "sim/units/index.hpp"

namespace linkcast::replay {
namespace {

constexpr double kLeast_B = 1;  // forecasts are of some bytes: a message of none has the start-up of this one
constexpr int kOwnLimit = -1;

/// Nothing to do, or nobody to do it with. A library returns from a collective of nothing at once; of a message of
/// nothing the receiver still has to hear.
bool is_empty(const NetworkOp& op) {
  if (op.kind == NetworkOp::Kind::kMessage) return false;
  return op.size_B <= 0 || (op.kind == NetworkOp::Kind::kCollective && op.gpus.size() < 2);
}

}  // namespace

FlowNetwork::FlowNetwork(const Cluster& machine, IntervalEnd end) : machine_(machine), end_(end) {
  if (machine.nodes() > 1) return;
  for (std::size_t key = 0; key < machine.node().constraints().size(); ++key) constraint(static_cast<int>(key));
}

int FlowNetwork::constraint(int key) {
  const auto [entry, fresh] = number_.try_emplace(key, 0);
  if (!fresh) return entry->second;
  const int added = engine_.add_constraint(machine_.capacity(key));
  if (keys_.size() <= at(added)) keys_.resize(at(added) + 1);
  keys_[at(added)] = key;
  return entry->second = added;
}

int FlowNetwork::queue(int key) {
  const auto [entry, fresh] = queue_of_.try_emplace(key, 0);
  if (fresh) entry->second = engine_.add_queue();
  return entry->second;
}

const activities::Plan& FlowNetwork::plan_of(const NetworkOp& op, bool behind) {
  const Key key{op.kind, op.op, op.gpus, op.size_B, !op.nvls, behind};
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  activities::Plan made{{Activity{}}};  // ends at once
  if (!is_empty(op)) {
    NetworkOp least = op;
    least.size_B = std::max(op.size_B, kLeast_B);
    std::optional<activities::Plan> other = behind ? plan_behind(least) : std::nullopt;
    made = other ? std::move(*other) : plan(least);
  }
  warnings_.insert(made.warnings.begin(), made.warnings.end());
  scale(made, op.size_B);
  return known_.emplace(key, std::move(made)).first->second;
}

void FlowNetwork::scale(activities::Plan& plan, double size_B) const {
  const double longer = end_ == IntervalEnd::kLow ? plan.spread.low : end_ == IntervalEnd::kHigh ? plan.spread.high : 1;
  for (Activity& activity : plan.activities) {
    activity.delay_s *= longer;
    activity.work_B *= size_B > 0 ? longer : 0;
  }
}

bool FlowNetwork::finds_queue_held(const activities::Plan& plan) {
  const std::vector<int>& queues = plan.activities.front().queues;
  return std::any_of(queues.begin(), queues.end(), [this](int key) { return engine_.busy(queue(key)); });
}

long FlowNetwork::start(const NetworkOp& op) {
  const activities::Plan* plan = &plan_of(op, false);
  if (finds_queue_held(*plan)) plan = &plan_of(op, true);
  start_activities(tickets_, *plan);
  return tickets_++;
}

void FlowNetwork::start_activities(long ticket, const activities::Plan& plan) {
  Running& running = running_[ticket];
  running.activities = static_cast<int>(plan.activities.size());
  for (const activities::OwnLimit& limit : plan.own_limits) {
    running.own_limits.push_back(engine_.add_constraint(limit.capacity_Bps));
    if (keys_.size() <= at(running.own_limits.back())) keys_.resize(at(running.own_limits.back()) + 1);
    keys_[at(running.own_limits.back())] = kOwnLimit;
  }
  std::vector<int> handles;
  for (Activity activity : plan.activities) {
    for (Use& use : activity.uses)
      use.constraint = activities::is_own_limit(use.constraint)
                           ? running.own_limits[at(activities::own_limit(use.constraint))]
                           : constraint(use.constraint);
    for (int& before : activity.after) before = handles.at(at(before));
    for (int& key : activity.queues) key = queue(key);
    const int handle = engine_.start(activity);
    if (ticket_of_.size() <= at(handle)) ticket_of_.resize(at(handle) + 1);
    ticket_of_[at(handle)] = ticket;
    handles.push_back(handle);
  }
}

void FlowNetwork::advance(double to_s, std::vector<long>& ended) {
  ended.clear();
  engine_.advance(to_s);
  for (const int handle : engine_.ended()) {
    const auto found = running_.find(ticket_of_[at(handle)]);
    if (--found->second.activities > 0) continue;
    for (const int limit : found->second.own_limits) engine_.remove_constraint(limit);
    ended.push_back(found->first);
    running_.erase(found);
  }
  std::sort(ended.begin(), ended.end());
}

std::vector<LinkUse> FlowNetwork::link_use() {
  const std::vector<double> carried_B = engine_.carried_B();
  std::vector<LinkUse> all;
  for (std::size_t i = 0; i < carried_B.size(); ++i) {
    if (carried_B[i] <= 0 || keys_[i] == kOwnLimit) continue;
    std::string id = link_id(keys_[i]);
    if (!id.empty()) all.push_back({std::move(id), engine_.capacity_Bps(static_cast<int>(i)), carried_B[i]});
  }
  return all;
}

}  // namespace linkcast::replay
