// Placement over nodes against every placement there is, and jobs on a small dragonfly+.
#include <algorithm>

#include "sim/place/cluster_search.hpp"
#include "sim/place/schedule.hpp"
#include "sim/query/query.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"

namespace linkcast::test::cluster_placement_test {

namespace {

/// Four groups of two leaves with two nodes each, one cable between two groups: crossing groups costs.
const char* const kSmall =
    "fabric dragonfly_plus:nodes=16,groups=4,leaves_per_group=2,spines_per_group=2,nodes_per_group=4,"
    "endpoints_per_leaf=8,global_ports_per_spine=2,global_links=1,radix=40";

catalogue::MachinePtr small() { return catalogue().edited(catalogue().machine("leonardo"), {kSmall}); }

placement::Traffic all_reduce(const std::vector<int>& nodes) {
  return placement::nodes_traffic(catalogue(), *small(), "", "all_reduce", 268435456, {nodes, {0, 1, 2, 3}});
}

double alone_s(const std::vector<int>& nodes) { return all_reduce(nodes).alone_s; }

Json place(Json changes) {
  Json query{{"kind", "place"}, {"platform", "leonardo"},     {"edits", {kSmall}},
             {"nodes", 16},     {"job", "all_reduce:256MiB"}, {"ranks", 16}};
  query.update(changes);
  return query::answer(catalogue(), query);
}

}  // namespace

TEST_CASE("groups of a fabric: nodes of a leaf, of a group") {
  const catalogue::MachinePtr kept = small();
  const placement::FabricGroups groups(kept->cluster());
  REQUIRE(groups.levels() == 2);
  for (int node = 0; node < 16; ++node) {
    CHECK(groups.group(0, node) == node / 2);
    CHECK(groups.group(1, node) == node / 4);
  }
}

TEST_CASE("packed nodes take the group that they fill best, spread ones a group each") {
  const catalogue::MachinePtr kept = small();
  const placement::FabricGroups groups(kept->cluster());
  std::vector<char> free(16, 1);
  free[0] = free[4] = free[5] = 0;  // groups of 3, 2, 4 and 4 free nodes
  CHECK(placement::packed_nodes(groups, free, 2) == std::vector<int>{6, 7});
  CHECK(placement::packed_nodes(groups, free, 3) == std::vector<int>{2, 3, 1});
  CHECK(placement::packed_nodes(groups, free, 4) == std::vector<int>{8, 9, 10, 11});
  CHECK(placement::spread_nodes(groups, free, 4) == std::vector<int>{1, 6, 8, 12});
  CHECK(placement::first_nodes(free, 3) == std::vector<int>{1, 2, 3});
  const std::vector<int> random = placement::random_nodes(free, 5, 1);
  CHECK(random == placement::random_nodes(free, 5, 1));
  CHECK(random != placement::random_nodes(free, 5, 2));
  for (const int node : random) CHECK(free[static_cast<std::size_t>(node)] != 0);
}

TEST_CASE("placement over nodes: none of all sets is faster, none beats the bound") {
  std::vector<char> free(16, 1);
  free[1] = free[2] = free[7] = free[8] = free[13] = free[14] = 0;  // no group is whole
  Json busy = Json::array();
  std::vector<int> open;
  for (int node = 0; node < 16; ++node)
    if (free[static_cast<std::size_t>(node)] != 0)
      open.push_back(node);
    else
      busy.push_back(node);
  const Json placed = place({{"busy", busy}});
  INFO(placed.dump());
  REQUIRE(placed.contains("time_s"));
  double least_s = 1e9;
  std::vector<char> taken(open.size(), 0);
  std::fill(taken.begin(), taken.begin() + 4, 1);
  do {
    std::vector<int> nodes;
    for (std::size_t i = 0; i < open.size(); ++i)
      if (taken[i] != 0) nodes.push_back(open[i]);
    const double time_s = alone_s(nodes);
    least_s = std::min(least_s, time_s);
    CHECK(time_s >= placed["bound_s"].get<double>());
  } while (std::prev_permutation(taken.begin(), taken.end()));
  CHECK(placed["time_s"].get<double>() <= least_s * 1.001);
  CHECK(placed["first_free"]["time_s"].get<double>() == Approx(alone_s({0, 3, 4, 5})).epsilon(kExact));
  CHECK(placed["gap"].get<double>() == Approx(placed["time_s"].get<double>() / placed["bound_s"].get<double>() - 1));
}

TEST_CASE("placement over nodes keeps off a neighbour's cables") {
  // Nodes 0 to 3 and 4 to 7 hold the neighbour: all that it has to cross lies between groups 0 and 1.
  const Json placed =
      place({{"with", {{{"job", "all_reduce:256MiB"}, {"nodes", {2, 3, 4, 5}}}}}, {"objective", "both"}});
  INFO(placed.dump());
  REQUIRE(placed.contains("time_s"));
  CHECK(placed["time_s"].get<double>() == Approx(placed["alone_s"].get<double>()).epsilon(kExact));
  CHECK(placed["neighbours"][0]["slowdown"].get<double>() == Approx(1).epsilon(kExact));
  for (const Json& node : placed["nodes"]) CHECK(node.get<int>() / 4 >= 2);
}

TEST_CASE("a trace over nodes: as fast as its replay there, and none of all sets of two is faster") {
  const Json job{{"trace", "data_parallel"}, {"options", {{"steps", 1}}}};
  const Json placed = place({{"job", job}, {"ranks", 8}, {"busy", {1, 2, 7, 8, 13, 14}}});
  INFO(placed.dump());
  REQUIRE(placed.contains("time_s"));
  CHECK(!placed.contains("bound_s"));
  CHECK(placed["time_low_s"] < placed["time_s"]);
  const auto replayed_s = [&](int a, int b) {
    Json placement = Json::array();
    for (const int node : {a, b})
      for (int gpu = 0; gpu < 4; ++gpu) placement.push_back(4 * node + gpu);
    return query::answer(catalogue(), {{"kind", "replay"},
                                       {"platform", "leonardo"},
                                       {"edits", {kSmall}},
                                       {"nodes", 16},
                                       {"trace", "data_parallel"},
                                       {"options", {{"steps", 1}}},
                                       {"ranks", 8},
                                       {"placement", placement}})
        .at("step_time_s")
        .get<double>();
  };
  const double best_s = placed["time_s"].get<double>();
  CHECK(best_s == Approx(replayed_s(placed["nodes"][0], placed["nodes"][1])).epsilon(kExact));
  const std::vector<int> open = {0, 3, 4, 5, 6, 9, 10, 11, 12, 15};
  double least_s = 1e9, most_s = 0;
  for (std::size_t a = 0; a < open.size(); ++a)
    for (std::size_t b = a + 1; b < open.size(); ++b) {
      least_s = std::min(least_s, replayed_s(open[a], open[b]));
      most_s = std::max(most_s, replayed_s(open[a], open[b]));
    }
  CHECK(best_s <= least_s * 1.0001);
  CHECK(most_s > best_s * 1.0001);  // else the test shows nothing
}

TEST_CASE("placement over nodes: what is refused") {
  const auto says = [](const Json& changes, const std::string& part) {
    const std::string error = place(changes).value("error", "");
    INFO(error);
    CHECK(error.find(part) != std::string::npos);
  };
  says({{"nodes", 17}}, "/nodes: must be 1 to 16");
  says({{"ranks", 6}}, "/ranks: must be a multiple of the 4");
  says({{"ranks", 4}}, "two nodes at least");
  says({{"ranks", 68}}, "17 nodes are needed, and 16");
  says({{"busy", {"node16"}}}, "/busy/0: \"node16\" is no node: node0 to node15");
  says({{"busy", {1, 1}}}, "/busy/1");
  says({{"job", "no-such-trace"}}, "no-such-trace");
  says({{"job", "data_parallel"}, {"with", {{{"job", "all_reduce:1MiB"}, {"nodes", {1, 2}}}}}},
       "/with: a trace over nodes is placed without neighbours");
  says({{"with", {{{"job", "data_parallel"}, {"nodes", {1, 2}}}}}}, "/with/0/job: a neighbour over nodes");
  says({{"library", "mpi-unknown"}}, "unknown library 'mpi-unknown'");
  says({{"objective", "both"}}, "needs neighbours");
  says({{"gpus_per_node", 5}}, "/gpus_per_node: must be 1 to 4");
  says({{"with", {{{"job", "all_reduce:1MiB"}, {"nodes", {3}}}}}}, "/with/0/nodes");
}

TEST_CASE("a day on a small dragonfly+: every job runs, linkcast loses least to neighbours") {
  scheduling::JobList list{"small", "test", {}, {}};
  for (int i = 0; i < 30; ++i)
    list.jobs.push_back(
        {"j" + std::to_string(i), i * 2.0, i % 3 == 0 ? 4 : 8 * (1 + i % 2), 200, 0.005, "all_reduce", 1e8});
  scheduling::Machine machine(catalogue(), small(), 16, "");
  log::NoProgress none;
  const auto mean = [&](const std::string& policy) {
    double sum = 0;
    for (const scheduling::JobOutcome& one : scheduling::schedule(list, machine, policy, 3, none)) {
      CHECK(one.slowdown() >= 1 - 1e-6);
      sum += one.slowdown();
    }
    return sum / static_cast<double>(list.jobs.size());
  };
  const double ours = mean("linkcast");
  for (const char* policy : {"first-fit", "spread", "random"}) {
    INFO(policy);
    CHECK(ours <= mean(policy));
  }
}

}  // namespace linkcast::test::cluster_placement_test
