#include "sim/place/traffic.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <unordered_map>

#include "sim/base/limits.hpp"
#include "sim/engine/flow_record.hpp"
#include "sim/engine/fluid_engine.hpp"
#include "sim/engine/solvers.hpp"
#include "sim/forecast/collective_forecast.hpp"

namespace linkcast::placement {
namespace {

/// The constraints that own flows use, by key, and their own limits.
class Shared {
 public:
  Shared(const Traffic& own, const Capacity& capacity_Bps) {
    for (const activities::OwnLimit& limit : own.own_limits)
      add_constraint(activities::own_limit(static_cast<int>(number_.size())), limit.capacity_Bps);
    for (const Activity& flow : own.flows) {
      work::look();
      for (const Use& use : flow.uses) {
        if (number_.count(use.constraint) == 0) add_constraint(use.constraint, capacity_Bps(use.constraint));
      }
    }
  }
  [[nodiscard]] bool any_of(const Activity& flow) const {
    return std::any_of(flow.uses.begin(), flow.uses.end(),
                       [&](const Use& use) { return use.constraint >= 0 && number_.count(use.constraint) > 0; });
  }
  int start(Activity flow) {
    work::look();
    std::vector<Use> uses;
    for (const Use& use : flow.uses)
      if (const auto number = number_.find(use.constraint); number != number_.end())
        uses.push_back({number->second, use.weight});
    flow.uses = std::move(uses);
    for (int& queue : flow.queues) {
      const auto [number, added] = queue_.try_emplace(queue, 0);
      if (added) {
        number->second = fluid_.add_queue();
        if (record_) record_->add_queue();
      }
      queue = number->second;
    }
    const int handle = fluid_.start(flow);
    if (record_) record_->start(handle, flow, fluid_.now_s());
    return handle;
  }
  /// Until so many have ended, in seconds: what others move does not end.
  double run(std::size_t flows) {
    for (std::size_t ended = 0; ended < flows; ended += fluid_.ended().size()) {
      fluid_.advance(fluid_.next_event_s());
      for (const int handle : fluid_.ended())
        if (record_) record_->end(handle, fluid_.now_s());
    }
    fluid_.check_carried();
    if (record_) record_->check(*make_solver("native"), fluid_.now_s());
    return fluid_.now_s();
  }

 private:
  void add_constraint(int key, double capacity_Bps) {
    const int number = number_[key] = fluid_.add_constraint(capacity_Bps);
    if (record_) record_->add_constraint(number, capacity_Bps);
  }

  FluidEngine fluid_;
  /// For the solver that runs it again; null: none does.
  std::unique_ptr<FlowRecord> record_ = SolverChoice::name() == "native" ? std::make_unique<FlowRecord>() : nullptr;
  std::unordered_map<int, int> number_, queue_;
};

}  // namespace

Traffic traffic_of(activities::Plan plan) {
  std::vector<Activity> average;
  if (std::any_of(plan.activities.begin(), plan.activities.end(),
                  [](const Activity& one) { return !one.after.empty(); }))
    average.push_back(activities::average_of(plan));
  return {std::move(plan.activities), plan.latency_s, plan.alone_s, std::move(plan.own_limits), std::move(average)};
}

Traffic node_traffic(catalogue::Catalogue& catalogue, const catalogue::Machine& machine, const std::string& library,
                     const std::string& op, double size_B, const std::vector<int>& gpus) {
  const collective::PlacedJob placed = collective::place_job(machine, {library, op, size_B}, {{0}, gpus});
  return traffic_of(collective::forecast_to_share(placed.job, catalogue.solver(SolverChoice::name())));
}

Traffic nodes_traffic(catalogue::Catalogue& catalogue, const catalogue::Machine& machine, const std::string& library,
                      const std::string& op, double size_B, const collective::PlacedNodes& where) {
  return traffic_of(collective::placed_collective(catalogue, machine, {library, op, size_B}, where));
}

double call_s(const Traffic& own, const std::vector<Background>& others, const Capacity& capacity_Bps) {
  if (own.flows.empty()) return own.alone_s;
  Shared shared(own, capacity_Bps);
  bool any = false;
  constexpr double kForever_B = 1e18;  // source: ours, more than a link moves in a year
  for (const Background& other : others)
    for (const Activity& flow : other.traffic->average.empty() ? other.traffic->flows : other.traffic->average) {
      work::look();
      if (!shared.any_of(flow)) continue;
      any = true;
      Activity average = flow;
      average.rate_cap_Bps = std::min(flow.rate_cap_Bps, flow.work_B / other.period_s);
      average.work_B = kForever_B;
      average.delay_s = 0;
      average.queues.clear();  // it never ends: what waits behind it would never begin
      std::erase_if(average.uses, [](const Use& use) { return activities::is_own_limit(use.constraint); });
      shared.start(std::move(average));
    }
  if (!any) return own.alone_s;
  std::vector<int> handles;
  for (Activity flow : own.flows) {
    flow.delay_s -= own.latency_s;
    for (int& before : flow.after) before = handles[static_cast<std::size_t>(before)];
    handles.push_back(shared.start(std::move(flow)));
  }
  return std::max(own.alone_s, own.latency_s + shared.run(handles.size()));
}

}  // namespace linkcast::placement
