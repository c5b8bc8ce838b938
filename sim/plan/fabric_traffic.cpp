#include "sim/plan/fabric_traffic.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "sim/base/index.hpp"
#include "sim/base/limits.hpp"

namespace linkcast::activities {
namespace {

constexpr double kRoomFor = 1.01;  // source: ours, nobody leaves for a hundredth
// Detours of a pair that routes settle for, and of these each pair's own. source: ours; 27 concurrent all_gathers
// between two switches of Alps take 1.4 times one (2.4 with 16 that all share), and each costs every later event of a
// replay
constexpr int kChoices = 32, kTaken = 16;
constexpr int kSweeps = 2;  // source: ours, so that the first see the last

/// Part of its time that a plan keeps a link busy by one use.
std::pair<int, double> busy_part(const Cluster& machine, const FabricPart& part, std::size_t activity, const Use& use) {
  return {use.constraint - machine.key_of_fabric_link(0),
          use.weight * part.work_B[activity] / (part.moving_s * machine.capacity(use.constraint))};
}

void replace(const Cluster& machine, const std::vector<Use>& by, std::vector<Use>& uses) {
  std::erase_if(uses,
                [&](const Use& use) { return !is_own_limit(use.constraint) && is_routed(machine, use.constraint); });
  uses.insert(uses.end(), by.begin(), by.end());
}

}  // namespace

CrossingDemands demands_of(const std::vector<FabricCrossing>& crossings, const std::function<double(int)>& work_B) {
  std::map<std::pair<int, int>, std::size_t> number;
  CrossingDemands of;
  for (const FabricCrossing& one : crossings) {
    const auto [entry, fresh] = number.try_emplace({one.from, one.to}, of.demands.size());
    if (fresh) of.demands.push_back({one.from, one.to, 0});
    of.of_crossing.push_back(entry->second);
    of.demands[entry->second].bytes += one.weight * work_B(one.activity);
  }
  return of;
}

bool is_routed(const Cluster& machine, int key) {
  return key >= machine.key_of_fabric_link(0) && key < machine.first_engine_key();
}

FabricPart fabric_part(const Cluster& machine, const Plan& plan) {
  FabricPart part{plan.crossings, plan.alone_s - plan.latency_s};
  if (machine.nodes() < 2 || machine.routing() != FabricRouting::kAdaptive || !(part.moving_s > 0)) return {};
  for (const Activity& one : plan.activities) part.work_B.push_back(one.work_B);
  std::map<int, double> busy;
  for (std::size_t i = 0; i < part.work_B.size(); ++i)
    for (const Use& use : plan.activities[i].uses)
      if (!is_own_limit(use.constraint) && is_routed(machine, use.constraint)) {
        const auto [link, of_time] = busy_part(machine, part, i, use);
        busy[link] += of_time;
      }
  part.busy.assign(busy.begin(), busy.end());
  return part;
}

FabricTraffic::FabricTraffic(const Cluster& machine)
    : machine_(machine), busy_(at(machine.fabric().links()), 0), busy_s_(busy_), place_(busy_.size(), kNone) {}

/// Part of a time that a link carries what runs: who moves for less of it counts for less.
double FabricTraffic::busy_meanwhile(int link, double moving_s) const {
  return std::min(busy_[at(link)], busy_s_[at(link)] / moving_s);
}

/// The busiest of these links between switches: no detour spares a port.
double FabricTraffic::busiest(const std::vector<std::pair<int, double>>& busy, double moving_s) const {
  const int endpoints = machine_.fabric().endpoints();
  double most = 0;
  for (const auto& [link, of_time] : busy) {
    const FabricLink ends = machine_.fabric().link(link);
    if (ends.from >= endpoints && ends.to >= endpoints) most = std::max(most, busy_meanwhile(link, moving_s) + of_time);
  }
  return most;
}

bool FabricTraffic::waits(const FabricPart& part) const {
  return std::any_of(part.busy.begin(), part.busy.end(), [&](const auto& one) { return busy_[at(one.first)] > 0; }) &&
         busiest(part.busy, part.moving_s) > kRoomFor;
}

std::vector<std::vector<Use>> FabricTraffic::settle(const FabricPart& part) {
  const Fabric& fabric = machine_.fabric();
  const auto [demands, demand_of] = demands_of(part.crossings, [&](int activity) { return part.work_B[at(activity)]; });
  Concurrent others;
  others.busy_s = [&](int link) { return busy_meanwhile(link, part.moving_s) * part.moving_s; };
  others.moving_s = part.moving_s;
  others.choices = kChoices;
  const auto per_byte_s = [&](int link) { return 1 / machine_.capacity(machine_.key_of_fabric_link(link)); };
  const Detours detours = endpoint_detours(fabric, per_byte_s, demands, others);
  std::vector<std::vector<Use>> uses(part.work_B.size());
  std::vector<WeightedLink> route;
  for (std::size_t i = 0; i < part.crossings.size(); ++i) {
    work::look();
    const FabricCrossing& one = part.crossings[i];
    std::vector<Use>& own = uses[at(one.activity)];
    route.clear();
    add_adaptive_links(fabric, one.from, one.to, {detours.shares[demand_of[i]], detours.choices, kTaken}, route);
    for (const WeightedLink& passed : route) {
      int& place = place_[at(passed.link)];
      if (place == kNone) {
        place = static_cast<int>(own.size());
        own.push_back({machine_.key_of_fabric_link(passed.link), 0});
      }
      own[at(place)].weight += passed.share * one.weight;
    }
    if (i + 1 < part.crossings.size() && part.crossings[i + 1].activity == one.activity) continue;
    for (const Use& use : own) place_[at(use.constraint - machine_.key_of_fabric_link(0))] = kNone;
  }
  return uses;
}

FabricTraffic::Entered FabricTraffic::enter(const FabricPart& part) {
  if (free_.empty()) {
    free_.push_back(static_cast<int>(running_.size()));
    running_.emplace_back();
  }
  Entered entered{free_.back()};
  free_.pop_back();
  Running& running = running_[at(entered.number)];
  running = {part.moving_s, part.busy};
  if (!part.crossings.empty() && waits(part)) {
    std::vector<std::vector<Use>> uses = settle(part);
    std::map<int, double> busy;
    for (std::size_t i = 0; i < uses.size(); ++i)
      for (const Use& use : uses[i]) {
        const auto [link, of_time] = busy_part(machine_, part, i, use);
        busy[link] += of_time;
      }
    std::vector<std::pair<int, double>> settled(busy.begin(), busy.end());
    if (kRoomFor * busiest(settled, part.moving_s) < busiest(part.busy, part.moving_s)) {
      entered.uses = std::move(uses);
      running.busy = std::move(settled);
    }
  }
  for (const auto& [link, of_time] : running.busy) {
    busy_[at(link)] += of_time;
    busy_s_[at(link)] += of_time * part.moving_s;
  }
  return entered;
}

void FabricTraffic::leave(int number) {
  Running& running = running_[at(number)];
  for (const auto& [link, of_time] : running.busy) {
    busy_[at(link)] = std::max(0.0, busy_[at(link)] - of_time);
    busy_s_[at(link)] = std::max(0.0, busy_s_[at(link)] - of_time * running.moving_s);
  }
  running = {};
  free_.push_back(number);
}

std::vector<FabricTraffic::Entered> FabricTraffic::enter(const std::vector<const FabricPart*>& parts) {
  // In an order of their own, whatever that of the list: first those that keep their routes.
  std::vector<std::size_t> order(parts.size());
  std::iota(order.begin(), order.end(), 0);
  const auto key = [&](std::size_t i) {
    const FabricPart& part = *parts[i];
    const bool keeps = part.crossings.empty();
    return std::tuple(!keeps, keeps ? 0 : part.crossings.front().from, keeps ? 0 : part.crossings.front().to,
                      part.moving_s);
  };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  std::vector<Entered> entered(parts.size());
  for (int sweep = 0; sweep < (parts.size() > 1 ? kSweeps : 1); ++sweep)
    for (const std::size_t i : order) {
      if (sweep > 0) leave(entered[i].number);
      entered[i] = enter(*parts[i]);
    }
  return entered;
}

void settle_together(const Cluster& machine, std::vector<Plan>& plans) {
  if (machine.nodes() < 2 || machine.routing() != FabricRouting::kAdaptive || plans.size() < 2) return;
  std::vector<FabricPart> parts;
  std::vector<const FabricPart*> all;
  for (const Plan& plan : plans) parts.push_back(fabric_part(machine, plan));
  for (const FabricPart& part : parts) all.push_back(&part);
  FabricTraffic traffic(machine);
  const std::vector<FabricTraffic::Entered> entered = traffic.enter(all);
  for (std::size_t i = 0; i < parts.size(); ++i)
    for (std::size_t a = 0; a < entered[i].uses.size(); ++a)
      replace(machine, entered[i].uses[a], plans[i].activities[a].uses);
}

}  // namespace linkcast::activities
