// Plans that meet on a fabric with adaptive routing.
#include "sim/plan/fabric_traffic.hpp"

#include <cmath>
#include <map>

#include "sim/base/index.hpp"
#include "sim/machine/adaptive_routing.hpp"
#include "tests/support/ask.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"

namespace linkcast::test::fabric_traffic_test {

using activities::FabricTraffic;
using activities::Plan;

namespace {

constexpr double kBytes = 1e9;

/// Sixteen groups of eight nodes with a port a GPU, two cables between any two groups.
const Cluster& machine() {
  static const catalogue::MachinePtr edited =
      catalogue().edited(catalogue().machine("alps"), {"fabric dragonfly:nodes=128,groups=16,global_links=2"});
  return edited->cluster();
}

/// From a port of the first group to the same one of the second, as fast as the port, on the minimal ways.
Plan crossing(int port) {
  const int from = port, to = machine().endpoint(8, 0) + port;
  std::vector<WeightedLink> links;
  add_adaptive_links(machine().fabric(), from, to, {0, 1}, links);
  std::map<int, double> weights;
  for (const WeightedLink& one : links) weights[machine().key_of_fabric_link(one.link)] += one.share;
  Activity flow{0, kBytes};
  for (const auto& [key, weight] : weights) flow.uses.push_back({key, weight});
  Plan plan;
  plan.activities = {flow};
  plan.crossings = {{0, from, to, 1}};
  plan.alone_s = kBytes / machine().capacity(machine().key_of_fabric_link(links.front().link));
  return plan;
}

/// Part of plan.alone_s that the busiest link has to carry of these together.
double busiest(const std::vector<Plan>& plans) {
  std::map<int, double> part;
  for (const Plan& plan : plans)
    for (const Use& use : plan.activities.front().uses)
      part[use.constraint] += use.weight * kBytes / machine().capacity(use.constraint) / plan.alone_s;
  double most = 0;
  for (const auto& [key, of_time] : part) most = std::max(most, of_time);
  return most;
}

}  // namespace

TEST_CASE("who comes to a full fabric takes detours, and all bytes still pass both ports", "[physics]") {
  REQUIRE(machine().routing() == FabricRouting::kAdaptive);
  FabricTraffic traffic(machine());
  std::vector<int> numbers;
  int detoured = 0;
  for (int port = 0; port < 32; ++port) {
    const Plan plan = crossing(port);
    const activities::FabricPart part = fabric_part(machine(), plan);
    const FabricTraffic::Entered entered = traffic.enter({&part}).front();
    numbers.push_back(entered.number);
    if (entered.uses.empty()) continue;
    ++detoured;
    std::map<int, double> weights;
    for (const Use& use : entered.uses.front()) weights[use.constraint] += use.weight;
    std::vector<int> route;
    machine().fabric().minimal_way(plan.crossings.front().from, plan.crossings.front().to, 0, route);
    CHECK_THAT(weights.at(machine().key_of_fabric_link(route.front())), WithinRel(1.0, 1e-9));
    CHECK_THAT(weights.at(machine().key_of_fabric_link(route.back())), WithinRel(1.0, 1e-9));
    CHECK(entered.uses.front().size() > plan.activities.front().uses.size());
  }
  CHECK(detoured >= 28);  // two fill the two cables
  // all have gone: the next finds the fabric empty
  for (const int number : numbers) traffic.leave(number);
  const activities::FabricPart part = fabric_part(machine(), crossing(0));
  CHECK(traffic.enter({&part}).front().uses.empty());
}

TEST_CASE("a short call sends no long one on detours", "[physics]") {
  Plan call = crossing(1);
  call.alone_s /= 1000;
  call.activities.front().work_B /= 1000;
  FabricTraffic traffic(machine());
  const activities::FabricPart brief = fabric_part(machine(), call), full = fabric_part(machine(), crossing(2)),
                               longer = fabric_part(machine(), crossing(0));
  traffic.enter({&full});  // one of the two cables
  traffic.enter({&brief});
  CHECK(traffic.enter({&longer}).front().uses.empty());
}

TEST_CASE("routes that stay as planned count for others", "[physics]") {
  FabricTraffic traffic(machine());
  std::vector<activities::FabricPart> fixed;
  for (int port = 1; port < 5; ++port) {
    Plan plan = crossing(port);
    plan.crossings.clear();
    fixed.push_back(fabric_part(machine(), plan));
  }
  const activities::FabricPart one = fabric_part(machine(), crossing(0));
  const auto entered = traffic.enter({&one, &fixed[0], &fixed[1], &fixed[2], &fixed[3]});
  CHECK_FALSE(entered.front().uses.empty());
  for (std::size_t i = 1; i < entered.size(); ++i) CHECK(entered[i].uses.empty());
}

TEST_CASE("plans that begin together share the fabric evenly", "[physics]") {
  std::vector<Plan> plans;
  for (int port = 0; port < 32; ++port) plans.push_back(crossing(port));
  CHECK(busiest(plans) > 10);  // 32 ports on two cables, of 25 GB/s each
  activities::settle_together(machine(), plans);
  CHECK(busiest(plans) < 1.6);
  std::vector<Plan> two = {crossing(0)};
  const std::vector<Use> planned = two.front().activities.front().uses;
  activities::settle_together(machine(), two);
  CHECK(two.front().activities.front().uses.size() == planned.size());
}

}  // namespace linkcast::test::fabric_traffic_test
