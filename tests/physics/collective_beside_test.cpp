// Communicators beside another one: what each entry says is what a query of its own would say; whatever else was asked
// of the first holds for all. And where a job's keys are on the machine that several share.
#include <algorithm>
#include <cmath>

#include "sim/forecast/alternatives.hpp"
#include "sim/forecast/collective_run.hpp"
#include "sim/forecast/other_communicators.hpp"
#include "sim/forecast/placed_collective.hpp"
#include "sim/machine/placed_fabric.hpp"
#include "sim/plan/jobs_beside.hpp"
#include "tests/support/ask.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/made_machine.hpp"

namespace linkcast::test::collective_beside_test {

namespace {

using collective::CollectiveJob;
using collective::PlacedCollective;
using collective::PlacedJob;

// All nodes at one switch, so that all are alike.
const std::string kSwitch =
    "fabric single_switch:nodes=16,radix=128,routing=minimal,source=test,links.host.cable=ib_ndr,"
    "links.host.bandwidth=50 GB/s,links.host.latency=300 ns,links.host.source=test";

double number(const Json& json, const char* key) { return json.at(key).get<double>(); }

Json updated(Json query, const Json& more) {
  query.update(more);
  return query;
}

/// Forecast alone of the entry, as it stands beside `first`, against that of a query with these keys.
void check_alone(const Json& first, const Json& entry, const Json& own, bool same = true) {
  Json both = first;
  both["with"] = Json::array({entry});
  INFO(both.dump() << " against " << own.dump());
  const Json answer = ask(both);
  REQUIRE(answer["others"].size() == 1);
  const double alone_s = number(answer["others"][0], "alone_s"), own_s = number(ask(own), "time_s");
  if (same)
    CHECK_THAT(alone_s, WithinRel(own_s, kExact));
  else
    CHECK(std::abs(alone_s / own_s - 1) > 1e-6);
}

}  // namespace

TEST_CASE("beside: sizes, calls, library, multicast and launch of a communicator are its own or the first one's",
          "[physics][beside]") {
  const Json first{{"platform", "hgx-h200"}, {"kind", "collective"}, {"op", "all_reduce"},
                   {"gpus", {0, 1}},         {"size_B", 64 * kMiB},  {"library", "nccl-2.27"}};
  const Json entry{{"op", "broadcast"}, {"gpus", {3, 2, 4}}, {"size_B", 8 * kMiB}};
  for (const Json& common : {Json{{"launch", "graph"}, {"calls", 1}}, Json{{"launch", "graph"}, {"calls", 40}},
                             Json{{"launch", "pytorch"}, {"calls", 3}}, Json{{"launch", "single_process"}},
                             Json{{"launch", "process"}, {"host_scale", 3}, {"calls", 1}}})
    check_alone(updated(first, common), entry, updated(updated(first, entry), common));
  const Json graph = updated(first, {{"launch", "graph"}});
  const Json sums{{"op", "all_reduce"}, {"gpus", {2, 3, 4, 5, 6, 7}}, {"size_B", 512 * kMiB}};
  for (const bool nvls : {true, false}) {
    const Json asked = updated(graph, {{"nvls", nvls}});
    check_alone(asked, sums, updated(asked, sums));
    check_alone(asked, sums, updated(updated(asked, sums), {{"nvls", !nvls}}), false);
  }
  check_alone(graph, updated(sums, {{"library", "nccl-2.12"}}),
              updated(updated(graph, sums), {{"library", "nccl-2.12"}}));
  check_alone(graph, sums, updated(updated(graph, sums), {{"library", "nccl-2.12"}}), false);
  const Json parts{{"op", "alltoallv"}, {"gpus", {2, 3}}, {"sizes_B", {{0, 67108864}, {1048576, 0}}}};
  Json own = updated(graph, parts);
  own.erase("size_B");
  check_alone(graph, parts, own);
  Json beside = graph;
  beside["with"] = Json::array({parts, sums, {{"op", "allgatherv"}, {"gpus", {6, 7}}, {"sizes_B", {3000, 5000}}}});
  const Json answer = ask(beside);
  CHECK(answer["others"][0]["size_B"] == 67108864);  // the fullest buffer
  CHECK(answer["others"][2]["size_B"] == 8000);
  CHECK(answer["others"][1]["gpus"] == Json{2, 3, 4, 5, 6, 7});
  CHECK(answer["others"][1]["library"] == "nccl-2.27");
  CHECK(answer["others"][1]["op"] == "all_reduce");
}

TEST_CASE("beside: nodes of a communicator are those that it names, else the first one's", "[physics][beside]") {
  const Json first{{"platform", "hgx-h100"}, {"kind", "collective"}, {"launch", "graph"},
                   {"op", "all_reduce"},     {"nodes", 3},           {"gpus", {0, 1}},
                   {"library", "nccl-2.18"}, {"size_B", 64 * kMiB},  {"edits", Json::array({kSwitch})}};
  const Json entry{{"op", "all_gather"}, {"gpus", {4, 5}}, {"size_B", 64 * kMiB}};
  check_alone(first, entry, updated(first, entry));
  for (const Json& nodes : {Json{5, 3}, Json{0, 1}, Json{7, 1, 2, 3}})
    check_alone(first, updated(entry, {{"nodes", nodes}}), updated(updated(first, entry), {{"nodes", nodes.size()}}));
  Json lone = updated(first, entry);
  lone.erase("nodes");
  check_alone(first, updated(entry, {{"nodes", {0}}}), lone);
  check_alone(first, updated(entry, {{"nodes", {2}}}), lone);
  const auto together = [&](const Json& gpus, const Json& nodes) {
    Json both = first;
    both["with"] = Json::array({{{"op", "all_reduce"}, {"gpus", gpus}, {"nodes", nodes}, {"size_B", 64 * kMiB}}});
    return ask(both);
  };
  CHECK(together({4, 5}, {5, 3})["others"][0]["nodes"] == Json{5, 3});
  CHECK_THAT(number(together({0, 1}, {5, 3}), "slowdown"), WithinRel(1, kExact));
  // over the same cards: each gets half, where they limit
  const Json same = together({0, 1}, {0, 1, 2});
  CHECK(number(same, "slowdown") > 1.5);
  CHECK(number(same, "slowdown") < 2 + kExact);
  CHECK_THAT(number(together({0, 1}, {2, 1, 0}), "slowdown"), WithinRel(number(same, "slowdown"), 1e-6));
  // wherever the other one is in the order of its nodes, cards 1 and 2 are shared
  CHECK(number(together({0, 1}, {1, 2}), "slowdown") > 1.2);
  const auto error = [&](const Json& nodes) {
    Json both = first;
    both["with"] = Json::array({updated(entry, {{"nodes", nodes}})});
    return query::answer(catalogue(), both).value("error", "");
  };
  CHECK(error(Json::array()).find("/with/0/nodes: needs at least one node") != std::string::npos);
  CHECK(error({1, 16}).find("/with/0/nodes: 16 is no node: 0 to 15") != std::string::npos);
  CHECK(error({-1}).find("-1 is no node") != std::string::npos);
  CHECK(error({3, 4, 3}).find("node 3 is given twice") != std::string::npos);
  CHECK(error({0, 15}).empty());
}

TEST_CASE("beside: keys of a job's machine on the one that several share", "[physics][beside]") {
  const catalogue::MachinePtr id = catalogue().edited(catalogue().machine("hgx-h100"), {kSwitch});
  const Cluster& shared = id->cluster();
  const PlacedCollective asked{"nccl-2.18", "all_reduce", 1e6};
  const PlacedJob placed = collective::place_job(*id, asked, {{5, 2}, {0, 1}});
  CHECK(collective::nodes_of(placed.job) == std::vector<int>{5, 2});
  REQUIRE(placed.machine);
  const Cluster& own = *placed.machine;
  const std::vector<int> order = [] {
    std::vector<int> all{5, 2};
    for (int node = 0; node < 16; ++node)
      if (node != 5 && node != 2) all.push_back(node);
    return all;
  }();
  for (const int node : {0, 1, 2, 9})
    for (const int constraint : {0, 7}) {
      const std::string expected = "node" + std::to_string(order[static_cast<std::size_t>(node)]) + "/" +
                                   shared.node().constraints()[static_cast<std::size_t>(constraint)].id;
      CHECK(shared.id(collective::SharedKeys(placed.job, shared)(own.key(node, constraint))) == expected);
    }
  for (int link = 0; link < 20; ++link)
    CHECK(collective::SharedKeys(placed.job, shared)(own.key_of_fabric_link(link)) == shared.key_of_fabric_link(link));
  for (const int node : {0, 1, 3})
    for (const int nic : {0, 3})
      for (const bool sends : {true, false}) {
        const int key = own.key_of_engine(own.endpoint(node, nic), sends);
        CHECK(collective::SharedKeys(placed.job, shared)(key) ==
              shared.key_of_engine(shared.endpoint(order[static_cast<std::size_t>(node)], nic), sends));
      }
  const PlacedJob first = collective::place_job(*id, asked, {{0}, {0, 1}});
  const std::string link = shared.node().constraints()[3].id;
  CHECK(collective::name_of(first.job, 3) == link);  // of one node without the node
  CHECK(collective::name_of(placed.job, own.key(1, 3)) == own.id(own.key(1, 3)));
  CHECK(collective::nodes_of(first.job) == std::vector<int>{0});
  std::vector<PlacedJob> others;
  others.push_back(collective::place_job(*id, asked, {{0}, {2, 3}}));
  CHECK(collective::shared_machine(*id, 1, others).nodes() == 1);
  CHECK(collective::shared_machine(*id, 2, others).nodes() == 16);
  others.push_back(collective::place_job(*id, asked, {{3}, {2, 3}}));
  CHECK(collective::shared_machine(*id, 1, others).nodes() == 16);
}

TEST_CASE("a job on some nodes: what it is asked for, and the library of its time", "[physics][beside]") {
  PlacedCollective asked{"", "allgatherv", 9e6, 7, false};
  asked.parts_B = {1e6, 2e6, 6e6};
  const PlacedJob lone = collective::place_job(*catalogue().machine("hgx-h200"), asked, {{0}, {3, 1, 2}});
  CHECK(lone.job.communicator.library == catalogue().machine("hgx-h200")->platform().calibration().default_library);
  CHECK(lone.job.calls == 7);
  CHECK_FALSE(lone.job.nvls);
  CHECK(lone.job.size_B == 9e6);
  CHECK(lone.job.op.parts_B() == asked.parts_B);
  CHECK(lone.job.communicator.gpus == std::vector<int>{3, 1, 2});
  CHECK_FALSE(lone.machine);
  Calibration old = catalogue().machine("hgx-h200")->platform().calibration();
  old.default_library = "nccl-2.3";  // of one node
  CHECK(collective::usual_library_across(old) == "nccl-2.7");
  old.default_library = "nccl-2.12";
  CHECK(collective::usual_library_across(old) == "nccl-2.12");
  PlacedCollective rounds{"mpi-openmpi", "alltoall", 1e6};
  rounds.transport = "mpi_network";
  const PlacedJob across = collective::place_job(*catalogue().machine("leonardo"), rounds, {{4, 3, 2}, {0, 1}});
  CHECK(across.job.transport == "mpi_network");
  CHECK(across.job.ranks() == 6);
  CHECK(across.job.of_rounds());
  CHECK(collective::place_job(*catalogue().machine("leonardo"), rounds, {{0}, {0, 1}}).job.transport.empty());
  rounds.op = "all_reduce";  // through host memory, where no such transport is
  CHECK(collective::place_job(*catalogue().machine("leonardo"), rounds, {{0, 1}, {0, 1}}).job.transport.empty());
}

TEST_CASE("as activities that share links a collective takes alone what it takes alone", "[physics][beside]") {
  Solver& solver = catalogue().solver("fluid");
  const auto check = [&](const std::string& platform, const std::string& library, const std::string& op, double size_B,
                         const collective::PlacedNodes& where) {
    INFO(platform << " " << library << " " << op << " " << size_B << " " << where.nodes.size());
    const PlacedJob placed = collective::place_job(*catalogue().machine(platform), {library, op, size_B}, where);
    const collective::CollectiveRun alone = collective::run_alone(placed.job, solver);
    const activities::Plan plan = collective::forecast_to_share(placed.job, solver);
    CHECK_THAT(plan.alone_s, WithinRel(alone.time_s(), kExact));
    CHECK(plan.latency_s == alone.choice * alone.plan.latency_s);
    const uncertainty::Interval interval = collective::interval_of(placed.job, alone);
    CHECK_THAT(plan.spread.low * alone.time_s(), WithinRel(interval.low_s, kExact));
    CHECK_THAT(plan.spread.high * alone.time_s(), WithinRel(interval.high_s, kExact));
    std::vector<std::string> warnings = collective::forecast_of(placed.job, alone).warnings;
    // which share of one forecast's time figures of another machine make is no warning of activities
    std::erase_if(warnings, [](const std::string& one) { return one.starts_with("not measured on "); });
    CHECK(plan.warnings == std::set<std::string>(warnings.begin(), warnings.end()));
    activities::PlanProblem problem(placed.job.machine);
    problem.add(plan);
    CHECK_THAT(solver.run(problem.problem()).makespan_s, WithinRel(alone.time_s(), 1e-9));
    // twice at once: at least as long, at most twice the bytes' time
    const auto both = collective::run_together({placed.job, placed.job}, placed.job.machine, solver);
    CHECK_THAT(both[0].alone.time_s(), WithinRel(alone.time_s(), kExact));
    CHECK(both[1].slowdown() >= 1);
    CHECK(both[0].together.flow_s <= 2 * alone.flow_s * (1 + 1e-9));
  };
  for (const char* op : {"all_reduce", "reduce_scatter", "broadcast", "alltoall", "gather"})
    for (const double size : {8192.0, 3e6, 512e6}) {
      check("hgx-h200", "nccl-2.27", op, size, {{0}, {0, 1, 2, 5}});
      check("v100-dgx1", "nccl-2.3", std::string(op) == "alltoall" || std::string(op) == "gather" ? "all_gather" : op,
            size, {{0}, {0, 5, 6}});
      check("alps", "nccl-2.18", op, size, {{0, 1, 2}, {0, 1}});
    }
}

TEST_CASE("alternatives: fastest first, and a hint where one is clearly faster", "[physics][beside]") {
  const Cluster& machine = catalogue().machine("hgx-h200")->lone_node();
  const Communicator made = *catalogue().machine("hgx-h200")->communicator("nccl-2.18", {0, 1, 2, 3});
  CollectiveJob job{machine, libraries().get("nccl-2.18"), made, collectives().get("all_reduce"), "all_reduce", 1e6};
  job.launching.kind = launch::Kind::kQueue;  // as calls of a host, which are no graph's: devices take the same
  Solver& solver = catalogue().solver("fluid");
  collective::CollectiveForecast taken = collective::forecast_of(job, collective::run_alone(job, solver));
  const collective::Alternatives found = collective::alternatives_to(job, taken, solver);
  REQUIRE(found.rows.size() > 2);
  REQUIRE(found.believes);
  CHECK(found.believes->algorithm == taken.algorithm);
  CHECK(found.believes->protocol == taken.protocol);
  const TunerRequest request{"all_reduce", {1e6}, "", "", true, false};
  for (const TunerEntry& entry : job.rings().tuner(machine.node(), made, request))
    for (const auto& row : found.rows)
      if (row.algorithm == entry.algorithm && row.protocol == entry.protocol) {
        CHECK(entry.enabled);
        CHECK(row.believed_s == entry.time.si);
      }
  const auto hint = [&](double times) {
    collective::CollectiveForecast slow = taken;
    slow.time_s = times * found.rows.front().time_s;
    return collective::alternatives_to(job, slow, solver).hint;
  };
  const std::string best = found.rows.front().algorithm + " " + found.rows.front().protocol + " would be ";
  CHECK(hint(0.9).empty());
  CHECK(hint(1.05).empty());
  CHECK(hint(1.06) == best + "6 % faster than what the library takes");
  CHECK(hint(1.994) == best + "99 % faster than what the library takes");
  CHECK(hint(2.34) == best + "2.3 times as fast as what the library takes");
  CHECK(hint(12.96) == best + "13.0 times as fast as what the library takes");
  job.launching = {launch::Kind::kProcess, 1, {1e-3, 1e-3, 1e-3}, {2e-3, 2e-3, 2e-3}, ""};
  const collective::Alternatives issued = collective::alternatives_to(job, taken, solver);
  CHECK_THAT(issued.rows.front().time_s, WithinRel(found.rows.front().time_s + 3e-3, 1e-9));
}

TEST_CASE("alternatives: those of the library with and without multicast, on as many channels as it takes",
          "[physics][beside]") {
  const Cluster& machine = catalogue().machine("hgx-h200")->lone_node();
  const Communicator made = *catalogue().machine("hgx-h200")->communicator("nccl-2.18", {0, 1, 2, 3, 4, 5, 6, 7});
  Solver& solver = catalogue().solver("fluid");
  for (const bool nvls : {true, false})
    for (const int channels : {0, 3}) {
      INFO(nvls << " " << channels);
      CollectiveJob job{machine,      libraries().get("nccl-2.18"),
                        made,         collectives().get("all_reduce"),
                        "all_reduce", 268435456,
                        "",           "",
                        channels,     nvls};
      const collective::CollectiveForecast taken = collective::forecast_of(job, collective::run_alone(job, solver));
      const collective::Alternatives found = collective::alternatives_to(job, taken, solver);
      bool multicast = taken.algorithm == "nvls";
      for (const auto& row : found.rows) {
        INFO(row.algorithm << " " << row.protocol);
        multicast = multicast || row.algorithm == "nvls";
        CollectiveJob forced = job;
        forced.algorithm = row.algorithm;
        forced.protocol = row.protocol;
        const collective::CollectiveRun run = collective::run_alone(forced, solver);
        CHECK(row.time_s == run.time_s());
        const TunerRequest request{"all_reduce", {268435456}, row.algorithm, row.protocol, nvls, false, channels};
        CHECK(run.plan.choice.blocks == job.rings().choose(machine.node(), made, request)->channels);
        if (row.algorithm == "ring") CHECK((channels > 0 ? run.plan.choice.blocks == 3 : run.plan.choice.blocks > 3));
      }
      CHECK(multicast == nvls);
    }
}

}  // namespace linkcast::test::collective_beside_test
