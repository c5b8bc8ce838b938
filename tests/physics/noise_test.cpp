// Network noise and jobs beside a collective, against closed forms and examples worked out by hand.
#include <algorithm>
#include <cmath>

#include "sim/plan/busy_links.hpp"
#include "sim/plan/jobs_beside.hpp"
#include "sim/query/query.hpp"
#include "tests/support/ask.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/unlearned.hpp"

namespace linkcast::test::noise_test {

namespace {

catalogue::Catalogue& catalogue() {
  static catalogue::Catalogue shared(test::data_dir());
  return shared;
}

Json ask(Json query) {
  query["platform"] = "leonardo";
  return test::ask(query);
}

Json ring_of(int nodes, Json more) {
  Json query{{"kind", "collective"}, {"launch", "graph"},      {"op", "all_reduce"},  {"nodes", nodes},
             {"gpus_per_node", 4},   {"size_B", 1073741824.0}, {"algorithm", "ring"}, {"protocol", "Simple"}};
  query.update(more);
  query["platform"] = unlearned("leonardo");
  return test::ask(query);
}

/// Of the library's choice.
Json collective_of(int nodes, const Json& more) {
  Json query{{"kind", "collective"}, {"launch", "graph"}, {"nodes", nodes}, {"gpus_per_node", 4}};
  query.update(more);
  return ask(query);
}

NoiseModel leonardo_noise() { return *NoiseModel::of(catalogue().machine("leonardo")->platform().calibration()); }

}  // namespace

TEST_CASE("the slowest of n messages is as slow as the closed form says", "[physics]") {
  // Largest of n draws of most x U^c: P(<= x) = (x / most)^(n / c), mean most x n / (n + c).
  const NoiseModel model = leonardo_noise();
  const NoisyWay way{0, 1, 10, 20, 3};
  const double c = model.loss_exponent / 3;
  for (const int n : {1, 10, 100}) {
    double sum = 0;
    constexpr int kSets = 2000;
    for (int set = 0; set < kSets; ++set) {
      double most = 0;
      for (int i = 0; i < n; ++i)
        most = std::max(most, 1 - 1 / Background(model, static_cast<std::uint64_t>(set), i).slowdown(way));
      sum += most;
    }
    // Spread of one draw of the largest: most x sqrt(n / (n + 2 c) - (n / (n + c))^2); four standard errors
    const double mean = n / (n + c), spread = std::sqrt(n / (n + 2 * c) - mean * mean);
    CHECK_THAT(sum / kSets, WithinAbs(model.most_loss * mean, 4 * model.most_loss * spread / std::sqrt(kSets)));
  }
}

TEST_CASE("a ring runs at the pace of its slowest hop", "[physics]") {
  constexpr int kNodes = 40;  // four leaves of one group: three hops from leaf to leaf and one back
  const Json quiet = ring_of(kNodes, Json::object());
  const double quiet_flow_s = quiet["time_s"].get<double>() - quiet["latency_s"].get<double>();
  const Fabric& fabric = catalogue().machine("leonardo")->cluster().fabric();
  for (int seed = 0; seed < 5; ++seed) {
    const Background background(leonardo_noise(), static_cast<std::uint64_t>(seed), 0);
    double slowest = 1;
    for (int node = 0; node < kNodes; ++node)
      slowest = std::max(slowest, background.slowdown(noisy_way(fabric, 4 * node, 4 * ((node + 1) % kNodes))));
    const Json noisy = ring_of(kNodes, {{"noise", seed}, {"samples", 1}});
    const double flow_s = noisy["time_s"].get<double>() - noisy["latency_s"].get<double>();
    CHECK(slowest > 1);
    CHECK_THAT(flow_s / quiet_flow_s, WithinRel(slowest, 1e-6));
  }
}

TEST_CASE("a ring inside one switch hears nothing", "[physics]") {
  const Json result = ring_of(10, {{"noise", 1}, {"samples", 20}});
  CHECK(result["min_s"] == result["max_s"]);
  CHECK(result["min_s"] == result["quiet_s"]);
}

TEST_CASE("an alltoall by pairs of switches holds the same links as message by message", "[physics]") {
  const Cluster& cluster = catalogue().machine("leonardo")->cluster();
  constexpr int kNodes = 24;  // two leaves and a part of a third
  congestion::UniformTraffic traffic{kNodes, {0}, 1e6, 1.25, 1e12};
  activities::ClusterProblem messages(cluster);
  messages.keep_crossings();
  for (int from = 0; from < kNodes; ++from)
    for (int to = 0; to < kNodes; ++to) {
      if (from == to) continue;
      messages.pass_fabric(4 * from, 4 * to, traffic.stored);
      Activity activity;
      activity.work_B = traffic.bytes;
      messages.add(std::move(activity));
    }
  const congestion::BusyLinks direct = congestion::BusyLinks::of_messages(messages),
                              reduced = congestion::BusyLinks::of_alltoall(cluster, traffic);
  for (int seed = 0; seed < 4; ++seed) {
    const Background background(leonardo_noise(), static_cast<std::uint64_t>(seed), 0);
    const auto slow = [&](const NoisyWay& way) { return background.slowdown(way); };
    CHECK_THAT(reduced.busiest_s(slow), WithinRel(direct.busiest_s(slow), 1e-9));
  }
  // quiet: a port carries 23 messages
  const double port_Bps = 12.5e9 * cluster.wire_share();
  CHECK_THAT(reduced.busiest_s([](const NoisyWay&) { return 1; }), WithinRel(23 * 1.25e6 / port_Bps, 1e-9));
}

TEST_CASE("victims of an incast fall to the pace of its flows", "[physics]") {
  // Three switches. Hosts V and A at the first, B, C, D at the third; all want 10. A to D send to one host of the
  // second switch, whose link carries 10: 2.5 each. V sends to another host of the second switch and shares the cable
  // between the switches (25) with A, whose bytes stand in it: V gets a turn whenever A does, 2.5.
  const auto capacity = [](int link) { return link == 20 || link == 21 ? 25.0 : 10.0; };
  std::vector<congestion::QueuedFlow> flows = {{0, 10, 0, {{0, 20, 30}}},
                                               {1, 10, 0, {{1, 20, 31}}},
                                               {2, 10, 0, {{2, 21, 31}}},
                                               {3, 10, 0, {{3, 21, 31}}},
                                               {4, 10, 0, {{4, 21, 31}}}};
  for (const double share : congestion::head_of_line_shares(flows, capacity)) CHECK_THAT(share, WithinRel(0.25, 1e-6));
  flows[0].service_level = 1;  // a queue of its own, and the cable has room for both
  CHECK(congestion::head_of_line_shares(flows, capacity)[0] == 1);
  flows[0].service_level = 0;
  flows[0].ways = {{0, 22, 30}};  // another cable
  CHECK(congestion::head_of_line_shares(flows, capacity)[0] == 1);
  flows[0].ways = {{0, 20, 30}, {0, 22, 30}};  // half of the bytes on each: its port sends 5 that way, and gets 2.5
  CHECK_THAT(congestion::head_of_line_shares(flows, capacity)[0], WithinRel((0.5 + 1) / 2, 1e-6));
}

TEST_CASE("what a victim holds back holds back others", "[physics]") {
  // As above; W comes to the first switch over a cable 19 together with V and leaves for elsewhere.
  const auto capacity = [](int link) { return link >= 19 && link <= 21 ? 25.0 : 10.0; };
  const std::vector<congestion::QueuedFlow> flows = {{0, 10, 0, {{0, 19, 20, 30}}}, {1, 10, 0, {{1, 20, 31}}},
                                                     {2, 10, 0, {{2, 21, 31}}},     {3, 10, 0, {{3, 21, 31}}},
                                                     {4, 10, 0, {{4, 21, 31}}},     {5, 10, 0, {{5, 19, 32}}}};
  const std::vector<double> shares = congestion::head_of_line_shares(flows, capacity);
  CHECK_THAT(shares[0], WithinRel(0.25, 1e-6));
  CHECK_THAT(shares[5], WithinRel(0.25, 1e-6));
}

TEST_CASE("service levels share a link in turn, and flows of one level in proportion", "[physics]") {
  const auto capacity = [](int) { return 10.0; };
  const auto shares = [&](double first, double second) {
    return congestion::head_of_line_shares({{0, first, 0, {{7}}}, {1, second, 1, {{7}}}}, capacity);
  };
  CHECK(shares(10, 10) == std::vector<double>{0.5, 0.5});
  CHECK_THAT(shares(2, 10)[0], WithinRel(1, 1e-12));
  CHECK_THAT(shares(2, 10)[1], WithinRel(0.8, 1e-12));
  const auto same = congestion::head_of_line_shares({{0, 5, 0, {{7}}}, {1, 15, 0, {{7}}}}, capacity);
  CHECK_THAT(same[0], WithinRel(0.5, 1e-12));  // 20 arrive, 10 leave
  CHECK_THAT(same[1], WithinRel(0.5, 1e-12));
}

TEST_CASE("an incast slows a ring down to its own pace where they share switches", "[physics]") {
  const Json incast = Json::array({{{"op", "incast"}, {"nodes", 32}}});
  const Json apart = ring_of(32, {{"beside", incast}});
  CHECK_THAT(apart["slowdown"].get<double>(), WithinRel(1, 1e-9));
  const Json mixed = ring_of(32, {{"beside", incast}, {"allocation", "random"}, {"allocation_seed", 1}});
  CHECK_THAT(mixed["beside"][0]["sends_of_port"].get<double>(),
             WithinRel(1.0 / 124, 1e-6));  // 31 nodes x 4 to one port
  // Every hop leaves its node at the pace of an incast flow at worst: 124 times as long, on the bytes alone.
  const double flow = mixed["time_s"].get<double>() - mixed["latency_s"].get<double>();
  const double alone = mixed["alone_s"].get<double>() - mixed["latency_s"].get<double>();
  CHECK(flow / alone > 1.5);
  CHECK(flow / alone < 124 * (1 + 1e-6));
}

TEST_CASE("an incast slows an alltoall where they share switches, as it does a ring", "[physics]") {
  const Json incast = Json::array({{{"op", "incast"}, {"nodes", 32}}});
  const auto all = [](Json more) {
    more.update(Json{{"op", "alltoall"}, {"size_B", 1073741824.0}});
    return collective_of(32, more);
  };
  const Json alone = all({}), apart = all({{"beside", incast}});
  CHECK_THAT(apart["slowdown"].get<double>(), WithinRel(1, 1e-9));
  CHECK_THAT(apart["alone_s"].get<double>(),
             WithinRel(alone["time_s"].get<double>(), 1e-6));  // each message, or alike ones
  CHECK(apart["engine"] == "direct");
  const Json mixed = all({{"beside", incast}, {"allocation", "random"}, {"allocation_seed", 1}});
  const double flow = mixed["time_s"].get<double>() - mixed["latency_s"].get<double>();
  const double alone_flow = mixed["alone_s"].get<double>() - mixed["latency_s"].get<double>();
  CHECK(flow / alone_flow > 1.5);
  CHECK(flow / alone_flow < 124 * (1 + 1e-6));  // no message is slower than one of the incast
}

TEST_CASE("rounds of MPI messages wait in noise, each of them", "[physics]") {
  const auto mpi = [](Json more) {
    more.update(Json{{"op", "all_reduce"},
                     {"library", "mpi-openmpi"},
                     {"size_B", 8},
                     {"allocation", "random"},
                     {"allocation_seed", 1}});
    return collective_of(4, more);
  };
  const Json quiet = mpi({}), noisy = mpi({{"noise", 7}, {"samples", 20}});
  CHECK(noisy["quiet_s"] == quiet["time_s"]);
  CHECK(noisy["percentiles"]["p50"] == noisy["time_s"]);
  CHECK(noisy["min_s"] >= quiet["time_s"]);
  CHECK(noisy["max_s"] > noisy["min_s"]);
  CHECK(noisy["mean_s"] == mpi({{"noise", 7}, {"samples", 20}})["mean_s"]);
  Json other_level = mpi({{"noise", 7}, {"samples", 3}, {"service_level", 5}});  // nobody else is there
  CHECK_THAT(other_level["time_s"].get<double>(), WithinRel(quiet["time_s"].get<double>(), 1e-9));
}

TEST_CASE("beside a job in noise, what the collective takes alone is in the same noise", "[physics]") {
  Json both{{"noise", 7}, {"samples", 5}, {"allocation", "random"}, {"allocation_seed", 1}};
  const Json alone = ring_of(32, both);
  both["beside"] = Json::array({{{"op", "incast"}, {"nodes", 32}}});
  const Json loaded = ring_of(32, both);
  CHECK(alone["time_s"] > alone["quiet_s"]);
  CHECK_THAT(loaded["alone_s"].get<double>(), WithinRel(alone["time_s"].get<double>(), 1e-9));
  CHECK_THAT(loaded["slowdown"].get<double>(),
             WithinRel(loaded["time_s"].get<double>() / alone["time_s"].get<double>(), 1e-9));
}

TEST_CASE("a ring's messages move round after round, and its interval moves with the noise", "[physics]") {
  // 4,830 messages, 70 at a time; all at once they might be drawn ten times.
  Json ring{{"platform", "leonardo"}, {"kind", "collective"}, {"op", "all_gather"}, {"library", "mpi-openmpi"},
            {"algorithm", "ring"},    {"nodes", 70},          {"gpus_per_node", 1}, {"size_B", 1048576}};
  const Json quiet = query::answer(catalogue(), ring);
  ring["noise"] = 3;
  ring["samples"] = 11;
  const Json noisy = query::answer(catalogue(), ring);
  REQUIRE(noisy.value("error", "") == "");
  CHECK(noisy["time_s"].get<double>() > quiet["time_s"].get<double>());
  for (const char* end : {"time_low_s", "time_high_s"})
    CHECK_THAT(noisy[end].get<double>() / noisy["time_s"].get<double>(),
               WithinRel(quiet[end].get<double>() / quiet["time_s"].get<double>(), 1e-9));
}

}  // namespace linkcast::test::noise_test
