#include "sim/plan/fabric_traffic.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "sim/base/index.hpp"
#include "sim/base/limits.hpp"
#include "sim/machine/adaptive_routing.hpp"

namespace linkcast::activities {
namespace {

constexpr double kRoomFor = 1 + 1e-6;  // source: ours, against rounding
// Detours of a pair, evenly chosen. source: ours; a step of 8,192 GPUs on Alps takes 336, 321, 307 ms with 16, 32, 64,
// and each costs every later event of a replay
constexpr int kChoices = 16;

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

bool is_routed(const Cluster& machine, int key) {
  return key >= machine.key_of_fabric_link(0) && key < machine.first_engine_key();
}

FabricPart fabric_part(const Cluster& machine, const Plan& plan) {
  FabricPart part{plan.crossings, plan.alone_s - plan.latency_s};
  if (part.crossings.empty() || !(part.moving_s > 0)) return {};
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
    : machine_(machine), busy_(at(machine.fabric().links()), 0), place_(busy_.size(), kNone) {}

bool FabricTraffic::waits(const FabricPart& part) const {
  return std::any_of(part.busy.begin(), part.busy.end(), [&](const auto& one) {
    return busy_[at(one.first)] > 0 && busy_[at(one.first)] + one.second > kRoomFor;
  });
}

std::vector<std::vector<Use>> FabricTraffic::settle(const FabricPart& part) {
  const Fabric& fabric = machine_.fabric();
  std::map<std::pair<int, int>, std::size_t> number;
  std::vector<Demand> demands;
  std::vector<std::size_t> demand_of;
  for (const FabricCrossing& one : part.crossings) {
    const auto [entry, fresh] = number.try_emplace({one.from, one.to}, demands.size());
    if (fresh) demands.push_back({one.from, one.to, 0});
    demand_of.push_back(entry->second);
    demands[entry->second].bytes += one.weight * part.work_B[at(one.activity)];
  }
  Concurrent others;
  others.busy_s = [&](int link) { return busy_[at(link)] * part.moving_s; };
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
    add_adaptive_links(fabric, one.from, one.to, {detours.shares[demand_of[i]], detours.choices}, route);
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
  std::vector<std::pair<int, double>>& busy = running_[at(entered.number)];
  if (waits(part)) {
    entered.uses = settle(part);
    for (std::size_t i = 0; i < entered.uses.size(); ++i)
      for (const Use& use : entered.uses[i]) busy.push_back(busy_part(machine_, part, i, use));
  } else {
    busy = part.busy;
  }
  for (const auto& [link, of_time] : busy) busy_[at(link)] += of_time;
  return entered;
}

void FabricTraffic::leave(int number) {
  for (const auto& [link, of_time] : running_[at(number)]) busy_[at(link)] = std::max(0.0, busy_[at(link)] - of_time);
  running_[at(number)].clear();
  free_.push_back(number);
}

void settle_together(const Cluster& machine, std::vector<Plan>& plans) {
  std::vector<FabricPart> parts;
  for (const Plan& plan : plans) parts.push_back(fabric_part(machine, plan));
  const auto move = [](const FabricPart& part) { return !part.crossings.empty(); };
  if (std::count_if(parts.begin(), parts.end(), move) < 2) return;
  FabricTraffic traffic(machine);
  std::vector<FabricTraffic::Entered> entered(parts.size());
  for (int sweep = 0; sweep < 2; ++sweep)
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (!move(parts[i])) continue;
      if (sweep > 0) traffic.leave(entered[i].number);
      entered[i] = traffic.enter(parts[i]);
    }
  for (std::size_t i = 0; i < parts.size(); ++i)
    for (std::size_t a = 0; a < entered[i].uses.size(); ++a)
      replace(machine, entered[i].uses[a], plans[i].activities[a].uses);
}

}  // namespace linkcast::activities
