#include "sim/replay/flow_network.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "sim/base/index.hpp"

namespace linkcast::replay {

std::size_t PlanKeyHash::operator()(const PlanKeyView& key) const {
  constexpr std::uint64_t kPrime = 1099511628211U;  // source: Fowler, Noll, Vo: FNV-1a, 64 bits
  constexpr int kFold = 32;                         // ours: its low bits see the high ones too
  std::uint64_t hash = static_cast<std::uint64_t>(key.op.kind) * 4 + (key.behind ? 2U : 0U) + (key.op.nvls ? 1U : 0U);
  const auto add = [&](std::uint64_t word) { hash = (hash ^ word ^ (word >> kFold)) * kPrime; };
  add(std::bit_cast<std::uint64_t>(key.op.size_B));
  for (const int gpu : key.op.gpus) add(static_cast<std::uint64_t>(gpu));
  for (const char letter : key.op.op) add(static_cast<std::uint64_t>(letter));
  return hash ^ (hash >> kFold);
}

activities::Plan SharedPlans::take(const NetworkOp& op, bool behind, const std::function<activities::Plan()>& make) {
  if (networks_ < 2) return make();
  const auto found = plans_.find(PlanKeyView{op, behind});
  if (found == plans_.end()) {
    activities::Plan plan = make();
    return plans_.emplace(PlanKey{op, behind}, Planned{std::move(plan), networks_ - 1}).first->second.plan;
  }
  if (--found->second.left > 0) return found->second.plan;
  activities::Plan plan = std::move(found->second.plan);
  plans_.erase(found);
  return plan;
}

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

FlowNetwork::FlowNetwork(const Cluster& machine, const NetworkRequest& request)
    : machine_(machine), end_(request.end), plans_(request.plans) {
  if (SolverChoice::name() == "native") record_ = std::make_unique<FlowRecord>();
  if (machine.nodes() > 1) {
    if (machine.routing() == FabricRouting::kAdaptive) traffic_ = std::make_unique<activities::FabricTraffic>(machine);
    return;
  }
  for (std::size_t key = 0; key < machine.node().constraints().size(); ++key) constraint(static_cast<int>(key));
}

int FlowNetwork::add_constraint(double capacity_Bps) {
  const int added = engine_.add_constraint(capacity_Bps);
  if (record_) record_->add_constraint(added, capacity_Bps);
  return added;
}

int FlowNetwork::constraint(int key) {
  const auto [entry, fresh] = number_.try_emplace(key, 0);
  if (!fresh) return entry->second;
  const int added = add_constraint(machine_.capacity(key));
  if (keys_.size() <= at(added)) keys_.resize(at(added) + 1);
  keys_[at(added)] = key;
  return entry->second = added;
}

int FlowNetwork::queue(int key) {
  const auto [entry, fresh] = queue_of_.try_emplace(key, 0);
  if (fresh) {
    entry->second = engine_.add_queue();
    if (record_) record_->add_queue();
  }
  return entry->second;
}

FlowNetwork::Known FlowNetwork::made(const NetworkOp& op, bool behind) {
  const auto make = [&] { return this->make(op, behind); };
  activities::Plan plan = plans_ ? plans_->take(op, behind, make) : make();
  warnings_.insert(plan.warnings.begin(), plan.warnings.end());
  activities::FabricPart on_fabric;
  if (traffic_ && op.size_B > 0) on_fabric = activities::fabric_part(machine_, plan);
  scale(plan, op.size_B);
  const bool queues = !plan.activities.front().queues.empty();
  return {std::move(plan), std::move(on_fabric), false, queues};
}

int FlowNetwork::prepare(const NetworkOp& op) {
  if (const auto known = numbers_.find(PlanKeyView{op, false}); known != numbers_.end()) return known->second;
  auto alone = std::make_unique<Known>(made(op, false));
  const int number = static_cast<int>(prepared_.size());
  prepared_.push_back({op, std::move(alone), nullptr});
  numbers_.emplace(PlanKey{op, false}, number);
  return number;
}

/// Not scaled. What is said while it is made is among its warnings: another network may take it.
activities::Plan FlowNetwork::make(const NetworkOp& op, bool behind) {
  activities::Plan made{{Activity{}}};  // ends at once
  if (is_empty(op)) return made;
  NetworkOp least = op;
  least.size_B = std::max(op.size_B, kLeast_B);
  std::set<std::string> said = std::exchange(warnings_, {});
  std::optional<activities::Plan> other = behind ? plan_behind(least) : std::nullopt;
  made = other ? std::move(*other) : plan(least);
  said.swap(warnings_);
  made.warnings.merge(said);
  return made;
}

void FlowNetwork::scale(activities::Plan& plan, double size_B) const {
  const double longer = end_ == IntervalEnd::kLow ? plan.spread.low : end_ == IntervalEnd::kHigh ? plan.spread.high : 1;
  for (Activity& activity : plan.activities) {
    activity.delay_s *= longer;
    activity.work_B *= size_B > 0 ? longer : 0;
  }
}

bool FlowNetwork::finds_queue_held(const Known& known) {
  if (!known.queues) return false;
  const std::vector<int>& queues = known.plan.activities.front().queues;
  return std::any_of(queues.begin(), queues.end(),
                     [&](int key) { return engine_.busy(known.numbered ? key : queue(key)); });
}

void FlowNetwork::number(Known& known) {
  if (std::exchange(known.numbered, true)) return;
  for (Activity& activity : known.plan.activities) {
    for (Use& use : activity.uses)
      if (!activities::is_own_limit(use.constraint)) use.constraint = constraint(use.constraint);
    for (int& key : activity.queues) key = queue(key);
  }
}

long FlowNetwork::start_prepared(int prepared) {
  Prepared& one = prepared_[at(prepared)];
  Known* known = one.alone.get();
  if (finds_queue_held(*known)) {
    if (!one.behind) one.behind = std::make_unique<Known>(made(one.op, true));
    known = one.behind.get();
  }
  const bool on_fabric = !known->on_fabric.busy.empty();
  if (on_fabric && !known->queues) {
    waiting_.push_back({tickets_, known});
  } else {
    activities::FabricTraffic::Entered routed;
    if (on_fabric) routed = traffic_->enter({&known->on_fabric}).front();
    start_activities(tickets_, *known, routed);
  }
  return tickets_++;
}

int FlowNetwork::add_limit(const activities::OwnLimit& limit) {
  const int constraint = add_constraint(limit.capacity_Bps);
  if (keys_.size() <= at(constraint)) keys_.resize(at(constraint) + 1);
  keys_[at(constraint)] = kOwnLimit;
  return constraint;
}

int FlowNetwork::common_limit(const activities::OwnLimit& limit) {
  const auto known = common_limits_.find(limit.key);
  return known != common_limits_.end() ? known->second : common_limits_[limit.key] = add_limit(limit);
}

void FlowNetwork::start_waiting() {
  if (waiting_.empty()) return;
  std::vector<const activities::FabricPart*> parts;
  for (const Waiting& one : waiting_) parts.push_back(&one.known->on_fabric);
  const std::vector<activities::FabricTraffic::Entered> routed = traffic_->enter(parts);
  for (std::size_t i = 0; i < waiting_.size(); ++i) start_activities(waiting_[i].ticket, *waiting_[i].known, routed[i]);
  waiting_.clear();
}

double FlowNetwork::next_event_s() {
  start_waiting();
  return engine_.next_event_s();
}

void FlowNetwork::start_activities(long ticket, Known& known, const activities::FabricTraffic::Entered& routed) {
  if (free_.empty()) {
    free_.push_back(static_cast<int>(running_.size()));
    running_.emplace_back();
  }
  const int place = free_.back();
  free_.pop_back();
  Running& running = running_[at(place)];
  running.ticket = ticket;
  running.activities = static_cast<int>(known.plan.activities.size());
  running.own_limits.clear();
  running.on_fabric = routed.number;
  limits_.clear();
  for (const activities::OwnLimit& limit : known.plan.own_limits) {
    limits_.push_back(limit.common ? common_limit(limit) : add_limit(limit));
    if (!limit.common) running.own_limits.push_back(limits_.back());
  }
  number(known);
  handles_.clear();
  for (std::size_t i = 0; i < known.plan.activities.size(); ++i) {
    const Activity& activity = known.plan.activities[i];
    const bool as_planned = activity.after.empty() && limits_.empty() && routed.uses.empty();
    if (!as_planned) {
      next_ = activity;
      if (!routed.uses.empty()) take_routes(routed.uses[i]);
      for (Use& use : next_.uses)
        if (activities::is_own_limit(use.constraint))
          use.constraint = limits_[at(activities::own_limit(use.constraint))];
      for (int& before : next_.after) before = handles_.at(at(before));
    }
    const int handle = engine_.start(as_planned ? activity : next_);
    if (record_) record_->start(handle, as_planned ? activity : next_, engine_.now_s());
    if (place_of_.size() <= at(handle)) place_of_.resize(at(handle) + 1);
    place_of_[at(handle)] = place;
    handles_.push_back(handle);
  }
}

/// The operation that starts takes them instead of those planned.
void FlowNetwork::take_routes(const std::vector<Use>& routes) {
  std::erase_if(next_.uses, [&](const Use& use) {
    return !activities::is_own_limit(use.constraint) && activities::is_routed(machine_, keys_[at(use.constraint)]);
  });
  for (const Use& one : routes) next_.uses.push_back({constraint(one.constraint), one.weight});
}

void FlowNetwork::advance(double to_s, std::vector<long>& ended) {
  ended.clear();
  start_waiting();
  engine_.advance(to_s);
  for (const int handle : engine_.ended()) {
    if (record_) record_->end(handle, engine_.now_s());
    const int place = place_of_[at(handle)];
    Running& running = running_[at(place)];
    if (--running.activities > 0) continue;
    for (const int limit : running.own_limits) engine_.remove_constraint(limit);
    if (running.on_fabric >= 0) traffic_->leave(running.on_fabric);
    ended.push_back(running.ticket);
    free_.push_back(place);
  }
  if (ended.size() > 1) std::sort(ended.begin(), ended.end());
}

void FlowNetwork::check_ended() const {
  engine_.check_all_ended();
  if (record_) record_->check(*make_solver("native"), engine_.now_s());
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
