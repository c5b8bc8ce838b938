// Rates while flows come and go, against filling all of them anew; constraints that cannot fill up connect no flows.
#include <algorithm>
#include <cstddef>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "sim/base/index.hpp"
#include "sim/engine/max_min.hpp"
#include "tests/support/catch.hpp"

namespace linkcast::test::max_min_binding_test {

namespace {

/// All rates rise together until each flow has stopped; without order, sets or sums that are kept.
std::vector<double> filled(const Problem& problem, const std::vector<int>& flows) {
  std::vector<double> rates(problem.activities.size(), 0);
  std::vector<int> rising = flows;
  double level = 0;
  while (!rising.empty()) {
    std::vector<double> free = problem.capacity_Bps, weights(free.size(), 0);
    for (const int flow : flows)
      for (const Use& use : problem.activities[at(flow)].uses)
        if (std::find(rising.begin(), rising.end(), flow) == rising.end())
          free[at(use.constraint)] -= use.weight * rates[at(flow)];
        else
          weights[at(use.constraint)] += use.weight;
    const auto stop_of = [&](int flow) {
      double stop = problem.activities[at(flow)].rate_cap_Bps;
      for (const Use& use : problem.activities[at(flow)].uses)
        stop = std::min(stop, free[at(use.constraint)] / weights[at(use.constraint)]);
      return stop;
    };
    level = std::numeric_limits<double>::infinity();
    for (const int flow : rising) level = std::min(level, stop_of(flow));
    std::vector<int> left;
    for (const int flow : rising) {
      rates[at(flow)] = level;
      if (stop_of(flow) > level * (1 + 1e-12)) left.push_back(flow);
    }
    rising = left;
  }
  return rates;
}

int below(std::mt19937& random, int end) { return static_cast<int>(random() % static_cast<unsigned>(end)); }
double between(std::mt19937& random, double low, double high) { return low + (high - low) * random() * 0x1p-32; }

/// Flows from one port to another through the trunks of both: ports are narrow, trunks hold most sums of them.
Problem ports_and_trunks(std::mt19937& random) {
  Problem problem;
  const int ports = 6;
  for (int port = 0; port < ports; ++port) problem.capacity_Bps.push_back(between(random, 40e9, 50e9));
  for (int trunk = 0; trunk < ports / 2; ++trunk) problem.capacity_Bps.push_back(between(random, 50e9, 200e9));
  for (int flow = 0; flow < 24; ++flow) {
    Activity activity;
    const int from = below(random, ports), to = (from + 1 + below(random, ports - 1)) % ports;
    activity.uses = {{from, 1}, {ports + from / 2, 1 + 0.25 * below(random, 3)}};
    if (to / 2 != from / 2) activity.uses.push_back({ports + to / 2, 1});
    activity.uses.push_back({to, 1});
    if (below(random, 3) == 0) activity.rate_cap_Bps = between(random, 1e9, 60e9);
    problem.activities.push_back(activity);
  }
  return problem;
}

/// Links in a row, each flow over up to five neighbours: a change at one end may reach the other.
Problem row_of_links(std::mt19937& random) {
  Problem problem;
  const int links = 4 + below(random, 40), flows = 10 + below(random, 80);
  const bool whole = below(random, 2) == 0;
  for (int link = 0; link < links; ++link) problem.capacity_Bps.push_back(between(random, 20e9, 400e9));
  for (int flow = 0; flow < flows; ++flow) {
    Activity activity;
    const int first = below(random, links), hops = 1 + below(random, std::min(links, 5));
    for (int hop = 0; hop < hops; ++hop)
      activity.uses.push_back({(first + hop) % links, whole ? 1 : between(random, 0.1, 2)});
    if (below(random, 4) == 0) activity.rate_cap_Bps = between(random, 1e8, 60e9);
    problem.activities.push_back(activity);
  }
  return problem;
}

/// Flows come and go, several between two solves.
/// @returns  flows filled, of all that were active
std::pair<std::size_t, std::size_t> require_anew(const Problem& problem, std::mt19937& random) {
  MaxMin rates;
  rates.load(problem);
  std::vector<int> active;
  std::pair<std::size_t, std::size_t> filled_of;
  for (int step = 0; step < 200; ++step) {
    const int flow = below(random, static_cast<int>(problem.activities.size()));
    const auto found = std::find(active.begin(), active.end(), flow);
    if (found == active.end()) {
      active.push_back(flow);
      rates.add(flow);
    } else {
      active.erase(found);
      rates.remove(flow);
    }
    if (below(random, 3) == 0) continue;
    filled_of.first += rates.solve().size();
    filled_of.second += active.size();
    const std::vector<double> anew = filled(problem, active);
    for (const int one : active) REQUIRE(rates.rate_Bps(one) == Approx(anew[at(one)]).epsilon(1e-12));
  }
  return filled_of;
}

}  // namespace

TEST_CASE("rates of flows that come and go are those of all filled anew", "[engine]") {
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    require_anew(ports_and_trunks(random), random);
  }
}

TEST_CASE("rates along a row of links are those of all filled anew, though most are kept", "[engine]") {
  std::size_t filled = 0, active = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const auto [some, all] = require_anew(row_of_links(random), random);
    filled += some;
    active += all;
  }
  CHECK(3 * filled < active);
}

TEST_CASE("a link that cannot fill up connects no flows", "[engine]") {
  Problem problem;
  problem.capacity_Bps = {46e9, 101e9};  // a port, and a trunk that two such ports cannot fill
  const auto through = [&](std::vector<Use> uses, double cap_Bps) {
    Activity flow;
    flow.uses = std::move(uses);
    flow.rate_cap_Bps = cap_Bps;
    problem.activities.push_back(flow);
  };
  const double no_cap = std::numeric_limits<double>::infinity();
  through({{0, 1}, {1, 1}}, no_cap);
  through({{0, 1}, {1, 1}}, no_cap);
  through({{1, 1}}, 50e9);
  through({{1, 1}}, 50e9);
  MaxMin rates;
  rates.load(problem);
  rates.add(0);
  rates.add(1);
  CHECK(rates.solve().size() == 2);  // they share the port
  rates.add(2);
  CHECK(rates.solve() == std::vector<int>{2});  // 46 + 50 GB/s fit the trunk
  CHECK(rates.rate_Bps(2) == 50e9);
  rates.add(3);
  CHECK(rates.solve().size() == 4);
  CHECK(rates.rate_Bps(3) == Approx((101e9 - 46e9) / 2));
  CHECK(rates.limiter(3) == 1);
  rates.remove(2);
  CHECK(rates.solve() == std::vector<int>{3});  // what the trunk has held up is free of it
  CHECK(rates.rate_Bps(3) == 50e9);
  CHECK(rates.rate_Bps(0) == 23e9);
}

TEST_CASE("flows slower than a port fill no link that the port's rate fits", "[engine]") {
  Problem problem;
  problem.capacity_Bps = {46e9, 101e9};  // a port, and a trunk
  const auto through = [&](std::vector<Use> uses, double cap_Bps) {
    Activity flow;
    flow.uses = std::move(uses);
    flow.rate_cap_Bps = cap_Bps;
    problem.activities.push_back(flow);
  };
  for (int i = 0; i < 3; ++i) through({{0, 1}, {1, 1}}, 40e9);  // 120 GB/s, 46 through the port
  through({{1, 1}}, 50e9);
  through({{1, 1}}, 10e9);
  MaxMin rates;
  rates.load(problem);
  for (int i = 0; i < 3; ++i) rates.add(i);
  CHECK(rates.solve().size() == 3);
  rates.add(3);
  CHECK(rates.solve() == std::vector<int>{3});
  CHECK(rates.rate_Bps(0) == Approx(46e9 / 3));
  rates.add(4);
  CHECK(rates.solve().size() == 5);  // 46 + 50 + 10 GB/s do not
  CHECK(rates.rate_Bps(3) == Approx(101e9 - 46e9 - 10e9));
  rates.remove(4);
  rates.remove(0);
  rates.solve();
  CHECK(rates.rate_Bps(1) == 23e9);
  CHECK(rates.rate_Bps(3) == 50e9);
}

}  // namespace linkcast::test::max_min_binding_test
