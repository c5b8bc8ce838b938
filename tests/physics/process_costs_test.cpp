// What messages and staged buffers cost the processes of an MPI: which parameter each cost is, whose, and what stands
// in where none was measured.
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "sim/base/index.hpp"
#include "sim/engine/solvers.hpp"
#include "sim/plan/cluster_message.hpp"
#include "sim/plan/mpi_costs.hpp"
#include "tests/support/ask.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/made_machine.hpp"

namespace linkcast::test::process_costs_test {

namespace {

/// The shipped machine with these parameters instead of all mpi.* that it has.
Platform with(const std::string& shipped, const Values& values, const std::string& without = "mpi.") {
  Calibration made = catalogue().machine(shipped)->platform().calibration();
  std::erase_if(made.parameters,
                [&](const auto& one) { return one.first.rfind("mpi.", 0) == 0 || one.first.rfind(without, 0) == 0; });
  for (const auto& [name, value] : values) made.parameters[name] = {value, 0.1 * value, "", "fitted"};
  made.correlation = {};
  return {catalogue().machine(shipped)->platform().wiring(), made};
}

activities::Message message(activities::ClusterEnd from, activities::ClusterEnd to, double bytes, Pace inside = {}) {
  activities::Message one;
  one.from = from;
  one.to = to;
  one.bytes = bytes;
  one.inside = inside;
  return one;
}

}  // namespace

TEST_CASE("costs of messages: posting by where buffers are, eager sizes and NICs of hosts alone",
          "[physics][process]") {
  const Platform node = with("hgx-h200", {{"mpi.host@openmpi.post_s", 1.1e-6},
                                          {"mpi.gpu@openmpi.post_s", 2.2e-6},
                                          {"mpi.host@openmpi.eager_B", 3300},
                                          {"mpi.inside@openmpi.startup_s", 4.4e-6},
                                          {"mpi.inside@openmpi.bandwidth_Bps", 5.5e9},
                                          {"mpi.host@openmpi.nics", 2}});
  const activities::MessageCosts host = activities::message_costs(node, "mpi-openmpi", true),
                                 gpu = activities::message_costs(node, "mpi-openmpi", false);
  CHECK(host.post_s == 1.1e-6);
  CHECK(host.eager_B == 3300);
  CHECK(host.nics == 2);
  CHECK(gpu.post_s == 2.2e-6);
  CHECK(gpu.eager_B == 0);  // a sender of GPU memory waits
  CHECK(gpu.nics == 1);
  REQUIRE_FALSE(node.transports().message("mpi_socket_host"));
  CHECK(host.inside.delay_s == 4.4e-6);
  CHECK(host.inside.cap_Bps == 5.5e9);
  // another library has none of these
  const activities::MessageCosts other = activities::message_costs(node, "mpi-mpich", true);
  CHECK(other.post_s != host.post_s);
  CHECK(other.nics == 1);
  // where messages between host processes were measured nothing stands in for them
  const Platform& summit = catalogue().machine("summit")->platform();
  REQUIRE((summit.transports().message("mpi_socket_host") || summit.transports().message("mpi_node_host")));
  CHECK(activities::message_costs(summit, "mpi-openmpi", true).inside.delay_s == Pace{}.delay_s);
  const activities::PostCost post = activities::post_cost(node, true),
                             none = activities::post_cost(with("hgx-h200", {}), true);
  CHECK(post.time_s == 1.1e-6);
  CHECK_THAT(post.error, WithinRel(0.1, kExact));
  CHECK(post.measured);
  CHECK(activities::post_cost(node, false).time_s == 2.2e-6);
  CHECK_FALSE(none.measured);
  // half of 1.02 us that a small message between hosts takes on Leonardo (paper 002); Spectrum MPI has 0.6 us
  CHECK_THAT(none.time_s, WithinRel(0.51e-6, 0.03));
  CHECK(std::log(0.6e-6 / none.time_s) < none.error);
  const Platform old = with("hgx-h200", {{"mpi.library@openmpi.version", 4.0}});
  CHECK(activities::library_version(old.calibration(), "mpi-openmpi") == 4.0);
  CHECK(activities::library_version(old.calibration(), "mpi-mpich") == 0);
}

TEST_CASE("costs of staging and of reductions: a library's own, else those of copies", "[physics][process]") {
  const Platform own = with("hgx-h200", {{"mpi.staging@openmpi.copy_s", 11e-6},
                                         {"mpi.staging@openmpi.copy_Bps", 12e9},
                                         {"mpi.staging@openmpi.fresh_Bps", 13e9},
                                         {"mpi.staging@openmpi.fresh_from_B", 14e6},
                                         {"mpi.host@openmpi.reduce_Bps", 15e9}});
  const activities::StagingCosts costs = activities::staging_costs(own, "mpi-openmpi", false);
  CHECK(costs.copy_s == 11e-6);
  CHECK(costs.copy_Bps == 12e9);
  CHECK(costs.fresh_Bps == 13e9);
  CHECK(costs.fresh_from_B == 14e6);
  CHECK(costs.measured);
  CHECK_THAT(costs.start_error.sigma, WithinRel(0.1, kExact));
  CHECK_THAT(costs.rate_error.sigma, WithinRel(0.1, kExact));
  const activities::CombineCost sums = activities::combine_cost(own, "mpi-openmpi", true);
  CHECK(sums.rate_Bps == 15e9);
  CHECK(sums.start_s == 0);
  CHECK(sums.measured);
  CHECK_THAT(sums.rate_error.sigma, WithinRel(0.1, kExact));
  CHECK_FALSE(activities::combine_cost(own, "mpi-mpich", true).measured);
  CHECK_FALSE(activities::combine_cost(own, "mpi-openmpi", false).measured);
  // not of this library: copies of pageable memory, where they were measured
  const activities::StagingCosts copies = activities::staging_costs(with("hgx-h200", {}), "mpi-openmpi", false);
  const Transports& known = own.transports();
  REQUIRE(known.measured("d2h_pageable"));
  CHECK(copies.copy_s == known.get("d2h_pageable").regimes.front().startup.value);
  CHECK(copies.copy_Bps == known.get("d2h_pageable").regimes.back().rate_cap->value);
  CHECK_FALSE(copies.measured);
  // else a third of the way, 18.5 of 55 GB/s on H200, and the start of a copy of pinned memory
  const Platform pinned = with("hgx-h200", {}, "transport.d2h_pageable");
  const activities::StagingCosts guessed = activities::staging_costs(pinned, "mpi-openmpi", false);
  double way = kInfinity;
  for (const int link : pinned.to_host(pinned.gpu(0)).links)
    way = std::min(way, pinned.constraints()[static_cast<std::size_t>(link)].capacity.value);
  CHECK_THAT(guessed.copy_Bps, WithinRel(18.5 / 55 * way, 0.02));
  CHECK(guessed.copy_s == known.get("d2h").regimes.front().startup.value);
  CHECK(guessed.rate_error.sigma > copies.rate_error.sigma);
}

TEST_CASE("a process copies its messages through host memory one after the other, others at once",
          "[physics][process]") {
  const Platform node = with("hgx-h200", {});
  const Cluster cluster(node);
  const auto host = [&](int gpu) { return activities::ClusterEnd{0, node.socket_of(node.gpu(gpu)), gpu}; };
  const double bytes = 32e6, start_s = 2e-6, rate_Bps = 4e9;  // below what stands for a process, and above it
  const auto time = [&](const std::vector<std::pair<int, int>>& messages, double rate) {
    activities::ClusterProblem problem(cluster);
    for (const auto& [from, to] : messages)
      activities::add_message(problem, message(host(from), host(to), bytes, {start_s, rate}));
    return make_solver("fluid")->run(problem.problem()).makespan_s;
  };
  for (const double rate : {rate_Bps, 10 * rate_Bps}) {
    const double one = bytes / rate;
    CHECK_THAT(time({{0, 1}}, rate), WithinRel(start_s + one, kExact));
    CHECK_THAT(time({{0, 1}, {0, 2}, {0, 3}}, rate), WithinRel(start_s + one, kExact));  // the receivers read
    CHECK_THAT(time({{1, 0}, {2, 0}, {3, 0}}, rate), WithinRel(start_s + 3 * one, kExact));
    CHECK_THAT(time({{0, 1}, {1, 0}}, rate), WithinRel(start_s + one, kExact));
  }
  // whose process it is nobody said
  activities::ClusterProblem unnamed(cluster);
  const activities::ClusterEnd nobody{0, node.socket_of(node.gpu(0))};
  for (int from = 1; from < 4; ++from)
    activities::add_message(unnamed, message(host(from), nobody, bytes, {start_s, rate_Bps}));
  CHECK_THAT(make_solver("fluid")->run(unnamed.problem()).makespan_s, WithinRel(start_s + bytes / rate_Bps, kExact));
}

TEST_CASE("small messages of GPU buffers: their senders read one after the other, copies run at once",
          "[physics][process]") {
  const Platform& node = catalogue().machine("leonardo")->platform();
  const Cluster cluster(node);
  const auto time = [&](const std::vector<std::pair<int, int>>& messages, double bytes) {
    activities::ClusterProblem problem(cluster);
    for (const auto& [from, to] : messages)
      activities::add_message(problem, message({0, node.gpu(from), from}, {0, node.gpu(to), to}, bytes));
    return make_solver("fluid")->run(problem.problem()).makespan_s;
  };
  const Regime& eager = node.transports().message("mpi_socket")->regimes.front();
  const double bytes = 1024, one = bytes / eager.rate_cap->value;
  REQUIRE(bytes < eager.to_B);
  CHECK_THAT(time({{0, 1}, {0, 2}, {0, 3}}, bytes), WithinRel(eager.startup.value + 3 * one, kExact));
  CHECK_THAT(time({{1, 0}, {2, 0}, {3, 0}}, bytes), WithinRel(eager.startup.value + one, kExact));
  CHECK_THAT(time({{0, 1}, {0, 2}, {0, 3}}, 1e8), WithinRel(time({{0, 1}}, 1e8), kExact));  // each over its NVLinks
}

TEST_CASE("pinned staging: the process issues each copy and waits for it, and copies what it keeps",
          "[physics][process]") {
  const Platform own = with("hgx-h200", {});
  const double device_s = own.transports().get("d2h").regimes.front().startup.value;
  REQUIRE(own.transports().measured("d2h"));
  const activities::StagingCosts pinned = activities::staging_costs(own, "mpi-staged", true);
  CHECK_THAT(pinned.copy_s, WithinRel(device_s + activities::issue_and_wait_s(own, false), kExact));
  // of Summit the process's own part is in the figure
  const Platform& summit = catalogue().machine("summit")->platform();
  CHECK(activities::staging_costs(summit, "mpi-staged", true).copy_s ==
        summit.calibration().parameters.at("mpi.staging.copy_s").value);
  const Json all = ask({{"kind", "collective"},
                        {"platform", "hgx-h200"},
                        {"op", "alltoall"},
                        {"gpus", {0, 1, 2, 3}},
                        {"size_B", 4e8},
                        {"library", "mpi-staged"}});
  const double copies_s = all["staging_s"].get<double>();
  // three messages and its own part, each a quarter, at the rate of a process
  CHECK_THAT(all["time_s"].get<double>() - copies_s - all["latency_s"].get<double>(),
             WithinRel(4e8 / activities::host_copy_Bps(own, "mpi-staged", 1e8), 1e-3));
  CHECK(activities::host_copy_Bps(summit, "mpi-staged", 1e6) ==
        summit.transports().message("mpi_socket_host")->regime(1e6).rate_cap->value);
}

TEST_CASE("the staging baseline has Open MPI's version and costs of messages between hosts", "[physics][process]") {
  const auto answer = [](const char* platform, const char* library, const char* op, double size_B, const Json& edits) {
    return ask({{"kind", "collective"},
                {"platform", platform},
                {"op", op},
                {"nodes", 4},
                {"gpus_per_node", 2},
                {"size_B", size_B},
                {"library", library},
                {"edits", edits}});
  };
  const char* platform = "abci-a100";
  REQUIRE(catalogue().machine(platform)->platform().calibration().find("mpi.library@openmpi.version") != nullptr);
  std::set<std::string> differ;
  for (const char* op : {"all_reduce", "all_gather", "broadcast", "reduce_scatter", "alltoall"})
    for (const double size_B : {64.0, 65536.0, 16777216.0}) {
      std::vector<std::string> chosen;
      for (const char* version : {"4.0", "4.1"}) {
        const Json edits{std::string("set mpi.library@openmpi.version=") + version};
        const auto algorithm = [&](const char* library) -> std::string {
          return answer(platform, library, op, size_B, edits)["algorithm"];
        };
        chosen.push_back(algorithm("mpi-staged"));
        CHECK(chosen.back() == algorithm("mpi-openmpi"));
      }
      if (chosen[0] != chosen[1]) differ.insert(op);
    }
  CHECK(differ.size() >= 2);
  const auto time_s = [&](double size_B, const Json& edits) {
    return answer(platform, "mpi-staged", "all_reduce", size_B, edits)["time_s"].get<double>();
  };
  const double size_B = 16777216;
  CHECK(time_s(size_B, {"set mpi.host@openmpi.reduce_Bps=0.1GB/s"}) > time_s(size_B, Json::array()) + 0.1);
  // Copies between GPU and host are the baseline's own: those of Open MPI are of pageable memory.
  CHECK(time_s(size_B, {"set mpi.staging@openmpi.copy_Bps=0.1GB/s"}) == time_s(size_B, Json::array()));
}

}  // namespace linkcast::test::process_costs_test
