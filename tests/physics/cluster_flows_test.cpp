// Copies that start together on several nodes: they share NICs, ports, links and copy engines as those of one node do.
#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <tuple>

#include "sim/engine/solvers.hpp"
#include "sim/forecast/copies.hpp"
#include "sim/forecast/copy_plan.hpp"
#include "sim/plan/cluster_problem.hpp"
#include "sim/query/query.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"

namespace linkcast::test::cluster_flows_test {

namespace {

constexpr double kSize_B = 1073741824;

Json asked(const std::string& platform, const Json& list, const Json& more = Json::object()) {
  Json query{{"platform", platform}, {"kind", "flows"}, {"flows", list}};
  query.update(more);
  return query::answer(test::catalogue(), query);
}

Json flows(const std::string& platform, const Json& list, const Json& more = Json::object()) {
  Json out = asked(platform, list, more);
  INFO(out.value("error", ""));
  REQUIRE(out.contains("flow_times_s"));
  return out;
}

Json p2p(const std::string& platform, const std::string& src, const std::string& dst, double size_B,
         const Json& more = Json::object()) {
  Json query{{"platform", platform}, {"kind", "p2p"}, {"src", src}, {"dst", dst}, {"size_B", size_B}};
  query.update(more);
  Json out = query::answer(test::catalogue(), query);
  INFO(out.value("error", ""));
  REQUIRE(out.contains("time_s"));
  return out;
}

std::string error(const std::string& platform, const Json& list, const Json& more) {
  return asked(platform, list, more).value("error", "");
}

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

double seconds(const Json& out, const char* key = "time_s") { return out[key].get<double>(); }

}  // namespace

namespace {

/// Ends of two crossings of a fabric that hashes onto one link between switches, all at ports of their own.
std::vector<std::pair<int, int>> colliding(const Cluster& cluster) {
  const Fabric& fabric = cluster.fabric();
  std::map<int, std::pair<int, int>> first_on;  // by link
  for (int node = 0; node < cluster.nodes() / 2; ++node) {
    const std::pair<int, int> ends{cluster.endpoint(node, 0), cluster.endpoint(cluster.nodes() - 1 - node, 1)};
    std::vector<WeightedLink> way;
    add_fabric_links(fabric, FabricRouting::kEcmp, ends.first, ends.second, way);
    for (const WeightedLink& one : way) {
      const FabricLink link = fabric.link(one.link);
      if (std::min(link.from, link.to) < fabric.endpoints()) continue;
      const auto [entry, fresh] = first_on.try_emplace(one.link, ends);
      if (!fresh) return {entry->second, ends};
    }
  }
  return {};
}

/// @returns  bound of 5 GB over each crossing
double bound_s(const Cluster& cluster, const std::vector<std::pair<int, int>>& crossings) {
  activities::ClusterProblem problem(cluster);
  for (const auto& [from, to] : crossings) {
    problem.pass_fabric(from, to, 1);
    Activity flow;
    flow.work_B = 5e9;
    problem.add(std::move(flow));
  }
  return problem.wire_bound_s();
}

}  // namespace

TEST_CASE("what collides by a hash bounds the time as if it were spread over all shortest routes", "[physics]") {
  const catalogue::MachinePtr machine = test::catalogue().machine("hgx-h200");
  const Cluster& cluster = machine->cluster();
  REQUIRE(cluster.routing() == FabricRouting::kEcmp);
  const auto two = colliding(cluster);
  REQUIRE(two.size() == 2);
  CHECK_THAT(bound_s(cluster, two), WithinRel(5e9 / 50e9, 1e-12));  // NDR, 50 GB/s: each has its own port
  // Cables of a tenth of the rate, 16 from each leaf: two that leave one leaf have them all, nothing is faster.
  const auto thin = test::catalogue().edited(
      machine, {"fabric rail_optimized:spines=16,uplinks_per_leaf=16,links.leaf_spine.bandwidth=5GB/s"});
  std::vector<std::pair<int, int>> leaf;  // all of rail 0 of the first unit, to rail 1
  for (int node = 0; node < 32; ++node)
    leaf.emplace_back(thin->cluster().endpoint(node, 0), thin->cluster().endpoint((node + 1) % 32, 1));
  CHECK_THAT(bound_s(thin->cluster(), leaf), WithinRel(32 * 5e9 / (16 * 5e9), 1e-9));
}

TEST_CASE("one flow between nodes is the copy alone, from rest", "[physics]") {
  for (const char* platform : {"leonardo", "alps", "summit", "apenet-plus"})
    for (const double size_B : {8.0, 1048576.0, kSize_B}) {
      const Json one = flows(platform, {{"node0/gpu0", "node1/gpu0", size_B}});
      const Json alone = p2p(platform, "node0/gpu0", "node1/gpu0", size_B, {{"timing", "single"}});
      for (const char* key : {"time_s", "time_low_s", "time_high_s", "bandwidth_Bps", "bottleneck", "warnings"})
        CHECK(one[key] == alone[key]);
      CHECK(one["transports"][0] == alone["transport"]);
      CHECK(one["timing"] == "single");
    }
}

TEST_CASE("flows inside one node of a cluster are those of the node", "[physics]") {
  const std::vector<std::pair<int, int>> pairs = {{0, 1}, {0, 2}, {2, 1}, {1, 3}};
  for (const char* engine : {"copy_engine", "sm"}) {
    Json here = Json::array(), there = Json::array();
    for (const auto& [from, to] : pairs) {
      here.push_back({"gpu" + std::to_string(from), "gpu" + std::to_string(to), kSize_B});
      there.push_back({"node5/gpu" + std::to_string(from), "node5/gpu" + std::to_string(to), kSize_B});
    }
    const Json own = flows("leonardo", here, {{"engine", engine}}), of = flows("leonardo", there, {{"engine", engine}});
    for (const char* key : {"time_s", "time_low_s", "time_high_s", "flow_times_s", "transports", "timing", "warnings"})
      CHECK(own[key] == of[key]);
    REQUIRE(own["bottleneck"].size() == of["bottleneck"].size());
    for (std::size_t i = 0; i < own["bottleneck"].size(); ++i)
      CHECK(of["bottleneck"][i] == "node5/" + own["bottleneck"][i].get<std::string>());
  }
}

TEST_CASE("two nodes copy inside at once as one alone does", "[physics]") {
  const Json one = flows("leonardo", {{"gpu0", "gpu1", kSize_B}});
  const Json two = flows("leonardo", {{"node0/gpu0", "node0/gpu1", kSize_B}, {"node7/gpu0", "node7/gpu1", kSize_B}});
  CHECK(two["flow_times_s"][0] == one["flow_times_s"][0]);
  CHECK(two["flow_times_s"][1] == one["flow_times_s"][0]);
}

TEST_CASE("flows that leave by one NIC halve its rate, those of different NICs do not meet", "[physics]") {
  const Json alone = p2p("leonardo", "node0/gpu0", "node1/gpu0", kSize_B);
  const double bytes_s = seconds(alone) - seconds(alone, "latency_s");
  const Json two = flows("leonardo", {{"node0/gpu0", "node1/gpu0", kSize_B}, {"node0/gpu0", "node2/gpu0", kSize_B}});
  CHECK_THAT(seconds(two) - seconds(alone, "latency_s"), WithinRel(2 * bytes_s, 1e-3));
  const Json apart = flows("leonardo", {{"node0/gpu0", "node1/gpu0", kSize_B}, {"node2/gpu1", "node3/gpu1", kSize_B}});
  CHECK_THAT(seconds(apart), WithinRel(seconds(alone), 1e-3));
  const Json both = flows("leonardo", {{"node0/gpu0", "node1/gpu0", kSize_B}, {"node1/gpu0", "node0/gpu0", kSize_B}});
  const Json ways = p2p("leonardo", "node0/gpu0", "node1/gpu0", kSize_B, {{"bidirectional", true}});
  CHECK_THAT(seconds(both), WithinRel(seconds(ways), 1e-9));
  CHECK(ways["bottleneck"].size() == 2);  // the port of either direction
}

TEST_CASE("an incast of eight nodes takes its port in turn", "[physics]") {
  Json list = Json::array();
  for (int node = 1; node <= 8; ++node)
    list.push_back({"node" + std::to_string(node) + "/gpu0", "node0/gpu0", kSize_B});
  const Json alone = p2p("leonardo", "node1/gpu0", "node0/gpu0", kSize_B), all = flows("leonardo", list);
  const double bytes_s = seconds(alone) - seconds(alone, "latency_s");
  CHECK_THAT(seconds(all) - seconds(alone, "latency_s"), WithinRel(8 * bytes_s, 1e-3));
  REQUIRE(all["bottleneck"].size() == 1);  // the port that all come in by
  CHECK_THAT(seconds(all, "bandwidth_Bps"), WithinRel(seconds(alone, "bandwidth_Bps"), 1e-2));
}

TEST_CASE("a card's engine gives all its flows together what it gives one", "[physics]") {
  const Json alone = p2p("apenet-plus", "node0/gpu0", "node1/gpu0", kSize_B);
  const Json two = flows("apenet-plus", {{"node0/gpu0", "node1/gpu0", kSize_B}, {"node0/gpu0", "node4/gpu0", kSize_B}});
  CHECK_THAT(seconds(two) - seconds(alone, "latency_s"),
             WithinRel(2 * (seconds(alone) - seconds(alone, "latency_s")), 1e-2));
}

TEST_CASE("every link carries the bytes of the flows over it", "[physics]") {
  const Cluster& machine = test::catalogue().machine("leonardo")->cluster();
  const auto solver = make_solver("fluid");
  const Json query{{"flows",
                    {{"node0/gpu0", "node1/gpu0", kSize_B},
                     {"node0/gpu0", "node900/gpu2", 3 * kSize_B},
                     {"node1/gpu1", "node1/gpu2", kSize_B},
                     {"node3/gpu0", "node1/gpu0", 2 * kSize_B}}}};
  ObjectReader r(query, "query");
  log::NoProgress none;
  copy::CopyPlan plan(machine, copy::read_flows(machine, r, none), {0, 1, 2, 3});
  const Solution solution = solver->run(plan.problem());
  std::map<std::string, double> carried;
  for (std::size_t c = 0; c < solution.carried_B.size(); ++c)
    carried[machine.id(plan.cluster_problem().key(static_cast<int>(c)))] = solution.carried_B[c];
  const auto port = [&](std::size_t copy, bool first) {  // of the fabric: what leaves and what arrives
    const std::vector<int> links = plan.links_of(plan.copies()[copy]);
    std::vector<int> fabric;
    std::copy_if(links.begin(), links.end(), std::back_inserter(fabric),
                 [&](int key) { return key >= machine.key_of_fabric_link(0); });
    return machine.id(first ? fabric.front() : fabric.back());
  };
  REQUIRE(port(0, true) == port(1, true));
  REQUIRE(port(0, false) == port(3, false));
  CHECK_THAT(carried[port(0, true)], WithinRel(4 * kSize_B, 1e-9));
  CHECK_THAT(carried[port(0, false)], WithinRel(3 * kSize_B, 1e-9));
  CHECK_THAT(carried["node1/gpu1->gpu2"], WithinRel(kSize_B, 1e-9));
}

TEST_CASE("a lone copy is solved on the links that it takes, as on all links of its node", "[physics]") {
  const auto solver = make_solver("fluid");
  for (const char* platform : {"p100-dgx1", "dgx2", "hgx-h200"}) {
    const Cluster& machine = test::catalogue().machine(platform)->lone_node();
    const std::size_t all = machine.node().constraints().size();
    const auto run = [&](const Json& flows) {
      const Json query{{"flows", flows}};
      ObjectReader r(query, "query");
      log::NoProgress none;
      copy::CopyRequest request = copy::read_flows(machine, r, none);
      std::vector<std::size_t> order(request.copies.size());
      std::iota(order.begin(), order.end(), 0);
      copy::CopyPlan plan(machine, request, order);
      const Solution solution = solver->run(plan.problem());
      const copy::PlannedCopy& first = plan.copies().front();
      const int limit = solution.limited_by[static_cast<std::size_t>(first.main)];
      return std::tuple(plan.problem().capacity_Bps.size(), solution.finish_s[static_cast<std::size_t>(first.last)],
                        limit == kOwnCap ? "" : machine.id(plan.cluster_problem().key(limit)));
    };
    for (const char* target : {"gpu1", "gpu5", "cpu0"}) {
      const auto [few, alone_s, alone_limit] = run({{"gpu0", target, kSize_B}});
      const auto [many, among_s, among_limit] = run({{"gpu0", target, kSize_B}, {"gpu2", "gpu2", 1}});
      INFO(platform << " " << target);
      CHECK(many == all);
      CHECK(few <= all);
      if (std::string(target) != "gpu5") CHECK(few < all / 4);  // on a DGX-1 a staged copy is two
      CHECK(alone_s == among_s);
      CHECK(alone_limit == among_limit);
    }
  }
}

TEST_CASE("staged messages of one GPU take turns at its copy engine", "[physics]") {
  const Json transport{{"transport", "pinned"}};
  const Json alone = p2p("apenet-plus", "node0/gpu0", "node1/gpu0", kSize_B, transport);
  const Json two =
      flows("apenet-plus", {{"node0/gpu0", "node1/gpu0", kSize_B}, {"node0/gpu0", "node4/gpu0", kSize_B}}, transport);
  CHECK(two["flow_times_s"][0] < two["flow_times_s"][1]);
  CHECK(seconds(two) > 1.2 * seconds(alone));
}

TEST_CASE("noise of the network touches the flows that cross it", "[physics]") {
  const Json noise{{"noise", 1}, {"samples", 50}};
  const Json list = {{"node0/gpu0", "node2000/gpu0", kSize_B}, {"node0/gpu1", "node0/gpu2", kSize_B}};
  const Json quiet = flows("leonardo", list), noisy = flows("leonardo", list, noise);
  CHECK(noisy["quiet_s"] == quiet["time_s"]);
  CHECK(seconds(noisy) > seconds(quiet));
  CHECK(noisy["flow_times_s"][1] == quiet["flow_times_s"][1]);
  CHECK(noisy["percentiles"]["p50"] == noisy["time_s"]);
  const Json one = flows("leonardo", Json::array({list[0]}), noise);
  const Json alone = p2p("leonardo", "node0/gpu0", "node2000/gpu0", kSize_B, noise);
  CHECK(one["percentiles"] == alone["percentiles"]);
  CHECK(one["flow_times_s"][0] == one["time_s"]);
}

TEST_CASE("keys that flows of a cluster cannot have are refused by name", "[physics]") {
  const Json between = {{"node0/gpu0", "node1/gpu0", 8}}, inside = {{"node0/gpu0", "node0/gpu1", 8}};
  CHECK(says(error("leonardo", between, {{"engine", "sm"}}), "engine: is of copies inside a node"));
  CHECK(says(error("leonardo", between, {{"timing", "back_to_back"}}), "timing: back_to_back is of copies"));
  CHECK(says(error("leonardo", between, {{"transport", "staged"}}), "'staged' is not allowed"));
  CHECK(error("leonardo", inside, {{"noise", 1}}).empty());
  CHECK(error("leonardo", {{"gpu0", "gpu1", 8}}, {{"noise", 1}}).empty());
  CHECK(says(error("leonardo", {{"node0/gpu0", "node9999/gpu0", 8}}, Json::object()), "/flows/0/1: "));
}

TEST_CASE("every answer about copies names its timing, and a bare device is of the first node", "[physics]") {
  CHECK(p2p("leonardo", "gpu0", "gpu1", 8)["timing"] == "back_to_back");
  CHECK(p2p("leonardo", "node0/gpu0", "node1/gpu0", 8)["timing"] == "single");
  CHECK(p2p("apenet-plus", "gpu0", "nic0", 8)["timing"] == "back_to_back");
  CHECK(flows("leonardo", {{"gpu0", "gpu1", 8}})["timing"] == "single");
  CHECK(flows("leonardo", {{"gpu0", "gpu1", 8}}, {{"timing", "back_to_back"}})["timing"] == "back_to_back");
  CHECK(p2p("leonardo", "gpu0", "node1/gpu0", 8)["time_s"] == p2p("leonardo", "node0/gpu0", "node1/gpu0", 8)["time_s"]);
}

}  // namespace linkcast::test::cluster_flows_test
