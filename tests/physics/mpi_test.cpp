// Schedules of messages against the alpha-beta forms on a star without contention, steady state against step by step,
// and what every forecast of an MPI library must obey.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <tuple>

#include "sim/engine/solvers.hpp"
#include "sim/forecast/algorithm.hpp"
#include "sim/machine/library.hpp"
#include "sim/plan/schedule_run.hpp"
#include "sim/query/query.hpp"
#include "tests/support/ask.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fabric_examples.hpp"

namespace linkcast::test::mpi_test {

namespace {

constexpr double kAlpha_s = 2e-6, kRate_Bps = 10e9, kStart_s = 3e-6, kCombine_Bps = 40e9, kSize_B = 48e6;

/// One GPU and one NIC a node, all NICs at one switch.
struct Star {
  explicit Star(int nodes) : platform(topology(), calibration()), cluster(platform, fabric(nodes), kRouting, {"nic0"}) {
    for (int n = 0; n < nodes; ++n) ranks.push_back({n, platform.gpu(0)});
  }
  static Topology topology() {
    const auto path = std::filesystem::temp_directory_path() / "linkcast-star.json";
    std::ofstream(path) << R"({"schema": "topology/1", "name": "star", "title": "star", "source": "test",
      "pcie_peer": "none", "devices": [{"id": "gpu0", "kind": "gpu", "model": "test", "sm": 80},
      {"id": "cpu0", "kind": "cpu", "model": "test", "vendor": "amd"}, {"id": "nic0", "kind": "nic", "model": "test"}],
      "cables": [{"between": ["gpu0", "cpu0"], "kind": "pcie4", "count": 1, "bandwidth": "30 GB/s", "source": "test"},
      {"between": ["nic0", "cpu0"], "kind": "pcie4", "count": 1, "bandwidth": "30 GB/s", "source": "test"}]})";
    return read_topology(path.string());
  }
  static Calibration calibration() {
    Calibration made;
    made.name = made.topology = "star";
    made.parameters["transport.mpi_network.r0.startup_s"] = {kAlpha_s, 0, "s", "fitted"};
    made.parameters["transport.mpi_network.r0.bandwidth_Bps"] = {kRate_Bps, 0, "B/s", "fitted"};
    made.valid_to_B = 1e9;
    return made;
  }
  static std::unique_ptr<const Fabric> fabric(int nodes) {
    return test::build_fabric("single_switch", test::keys({{"nodes", nodes}, {"radix", nodes}}), {"host"});
  }
  [[nodiscard]] double time(const std::string& algorithm, const std::string& op,
                            activities::Rounds rounds = activities::Rounds::kAll) const {
    activities::ScheduleJob job{cluster, ranks, 1, kSize_B, {kStart_s, kCombine_Bps, {}, false, {}}};
    job.costs.post_s = post_s;
    job.costs.eager_B = eager_B;
    const Schedule schedule = algorithms().get(algorithm).schedule(op, static_cast<int>(ranks.size()));
    return activities::run_schedule(job, schedule, *solver, rounds).time_s;
  }
  static constexpr FabricRouting kRouting = FabricRouting::kMinimal;
  double post_s = 0, eager_B = 0;
  Platform platform;
  Cluster cluster;
  std::vector<activities::ClusterEnd> ranks;
  std::unique_ptr<Solver> solver = make_solver("fluid");
};

Json ask(Json query) {
  query["kind"] = "collective";
  query["launch"] = "graph";
  return test::ask(query);
}

std::string refusal(Json query) {
  query["kind"] = "collective";
  return query::answer(catalogue(), query).value("error", "");
}

double time_of(const Json& query) { return ask(query)["time_s"].get<double>(); }

}  // namespace

// source of the forms: Thakur, Rabenseifner, Gropp 2005, with a start of kStart_s for every reduction
TEST_CASE("times on a star are the alpha-beta forms, steady or step by step", "[physics][mpi]") {
  for (const int n : {2, 4, 8, 16}) {
    const Star star(n);
    const double log = std::log2(n), part = (n - 1.0) / n;
    const double move = kSize_B / kRate_Bps, add = kSize_B / kCombine_Bps;
    for (const activities::Rounds rounds : {activities::Rounds::kAll, activities::Rounds::kSteady}) {
      const auto check = [&](const char* algorithm, const char* op, double expected) {
        INFO(algorithm << " " << op << " " << n << (rounds == activities::Rounds::kAll ? "" : " steady"));
        CHECK_THAT(star.time(algorithm, op, rounds), WithinRel(expected, kExact));
      };
      check("recursive_doubling", "all_reduce", log * (kAlpha_s + move + kStart_s + add));
      check("rabenseifner", "all_reduce", 2 * log * kAlpha_s + log * kStart_s + part * (2 * move + add));
      check("ring", "all_reduce", (n - 1) * (2 * kAlpha_s + kStart_s) + part * (2 * move + add));
      check("ring", "all_gather", (n - 1) * kAlpha_s + part * move);
      check("bruck", "all_gather", log * kAlpha_s + part * move);
      check("bruck", "alltoall", log * (kAlpha_s + move / 2));
      check("pairwise", "alltoall", (n - 1) * kAlpha_s + part * move);
      check("linear", "alltoall", kAlpha_s + part * move);
      check("binomial", "broadcast", log * (kAlpha_s + move));
      check("binomial", "reduce", log * (kAlpha_s + move + kStart_s + add));
      check("binomial", "gather", log * kAlpha_s + part * move);
      // reduce, then scatter: a broadcast in its place would send the whole buffer log(n) times
      check("binomial", "reduce_scatter", log * (2 * kAlpha_s + move + kStart_s + add) + part * move);
      check("scatter_all_gather", "broadcast", (log + n - 1) * kAlpha_s + 2 * part * move);
    }
  }
}

// Gropp, Olson, Samfass: Modeling MPI Communication Performance on SMP Nodes, EuroMPI 2016: a process sends one message
// after the other; Culler et al., LogP, 1993: it does not wait for them to arrive
TEST_CASE("messages are posted one after the other, and eager ones hold nobody up", "[physics][mpi]") {
  Star star(8);
  star.post_s = 5e-6;
  const double move = kSize_B / kRate_Bps, ranks = 8;
  CHECK_THAT(star.time("linear", "alltoall"), WithinRel(kAlpha_s + (ranks - 1) / ranks * move, 0.01));
  star.post_s = move;  // longer than what a part takes on the wire: the last of 7 is posted after 6 of them
  CHECK_THAT(star.time("linear", "alltoall"), WithinRel(6 * move + kAlpha_s + move / ranks, kExact));
  star.post_s = 0;
  const double waiting = star.time("ring", "all_reduce");
  star.eager_B = kSize_B;
  CHECK_THAT(star.time("ring", "all_reduce"), WithinRel(waiting, kExact));  // all hops alike: none waits for another
  star.post_s = 1e-4;
  CHECK_THAT(star.time("ring", "all_gather"), WithinRel((ranks - 1) * (kAlpha_s + move / ranks), kExact));
  star.post_s = 1;  // a rank that posts slowly is what takes the time
  CHECK_THAT(star.time("ring", "all_gather"), WithinRel((ranks - 1) * star.post_s, kExact));
}

TEST_CASE("what is no power of two takes two rounds more", "[physics][mpi]") {
  const double move = kSize_B / kRate_Bps, add = kSize_B / kCombine_Bps;
  for (const int n : {3, 5, 6, 7, 12}) {
    const Star star(n);
    const double log = std::floor(std::log2(n)), power = std::exp2(log);
    CHECK_THAT(star.time("recursive_doubling", "all_reduce"),
               WithinRel((log + 2) * (kAlpha_s + move) + (log + 1) * (kStart_s + add), kExact));
    const double part = (power - 1) / power;
    CHECK_THAT(
        star.time("rabenseifner", "all_reduce"),
        WithinRel((2 * log + 2) * kAlpha_s + (log + 1) * kStart_s + (2 * part + 2) * move + (part + 1) * add, kExact));
    CHECK_THAT(star.time("binomial", "broadcast"), WithinRel(std::ceil(std::log2(n)) * (kAlpha_s + move), kExact));
  }
}

TEST_CASE("steady state is step by step on real machines", "[physics][mpi]") {
  const auto solver = make_solver("fluid");
  for (const auto& [name, nodes] : {std::pair("leonardo", 12), std::pair("alps", 12), std::pair("summit", 8)}) {
    const Cluster& cluster = catalogue().machine(name)->cluster();
    const Platform& node = cluster.node();
    for (const double size : {4096.0, 8388608.0}) {
      activities::ScheduleJob job{
          cluster, {}, node.gpu_count(), size, activities::combine_cost(node, "mpi-cray", false)};
      for (int n = 0; n < nodes; ++n)
        for (int k = 0; k < node.gpu_count(); ++k) job.ranks.push_back({n, node.gpu(k)});
      for (const auto& [algorithm, op] :
           {std::pair("rabenseifner", "all_reduce"), std::pair("ring", "all_reduce"), std::pair("bruck", "all_gather"),
            std::pair("pairwise", "alltoall"), std::pair("linear", "alltoall"), std::pair("scattered", "alltoall")}) {
        const Schedule schedule = algorithms().get(algorithm).schedule(op, static_cast<int>(job.ranks.size()));
        const double all = activities::run_schedule(job, schedule, *solver, activities::Rounds::kAll).time_s;
        const double steady = activities::run_schedule(job, schedule, *solver, activities::Rounds::kSteady).time_s;
        INFO(name << " " << algorithm << " " << op << " " << size << ": " << steady / all);
        CHECK(steady > 0.9 * all);
        CHECK(steady < 1.1 * all);
      }
    }
  }
}

TEST_CASE("a larger buffer never takes less time", "[physics][mpi]") {
  for (const std::string platform : {"leonardo", "lumi", "hgx-h200"})
    for (const PluginInfo& info : algorithms().list())
      for (const std::string& op : algorithms().get(info.name).operations()) {
        double before = 0;
        for (double size = 64; size < 2e9; size *= 4) {
          const double time = time_of({{"platform", platform},
                                       {"op", op},
                                       {"gpus", {0, 1, 2}},
                                       {"size_B", size},
                                       {"library", "mpi-cray"},
                                       {"algorithm", info.name}});
          INFO(platform << " " << info.name << " " << op << " " << size);
          CHECK(time >= before * (1 - kExact));
          before = time;
        }
      }
}

TEST_CASE("what is posted at once: all of linear but a reduce, 32 of scattered, one of pairwise", "[physics][mpi]") {
  const auto at_once = [](const char* algorithm, const char* op) {
    return algorithms().get(algorithm).schedule(op, 100).phases.front().at_once;
  };
  for (const char* op : {"alltoall", "broadcast", "gather", "scatter", "all_gather"})
    CHECK(at_once("linear", op) == 100);
  CHECK(at_once("linear", "reduce") == 1);
  CHECK(at_once("scattered", "alltoall") == 32);
  CHECK(at_once("pairwise", "alltoall") == 1);
}

TEST_CASE("Open MPI reduces in host memory, Cray MPICH on the GPUs", "[physics][mpi]") {
  const auto query = [](const char* library, const char* op) {
    return Json{
        {"platform", "leonardo"}, {"op", op}, {"gpus", {0, 1, 2, 3}}, {"size_B", 268435456}, {"library", library}};
  };
  const Json open = ask(query("mpi-openmpi", "all_reduce")), cray = ask(query("mpi-cray", "all_reduce"));
  CHECK(open["algorithm"] == "rabenseifner");
  CHECK(open["transports"] == Json{"mpi_socket_host"});
  CHECK(cray["transports"] == Json{"mpi_socket"});
  CHECK(cray["staging_s"] == 0);
  // Three copies of the buffer over PCIe 4 x16: two down, one up.
  CHECK(open["staging_s"].get<double>() > 3 * 268435456 / 31.508e9);
  CHECK(open["time_s"].get<double>() > 10 * cray["time_s"].get<double>());
  CHECK(ask(query("mpi-openmpi", "alltoall"))["staging_s"] == 0);
  CHECK(ask(query("mpi-staged", "alltoall"))["staging_s"].get<double>() > 2 * 268435456 / 31.508e9);
}

// Lassen has Summit's CPUs, GPUs, cards and MPI; only messages of GPU buffers were measured on it.
TEST_CASE("Lassen's collectives between nodes take what those of Summit take", "[physics][mpi]") {
  for (const char* op : {"all_reduce", "alltoall"})
    for (const double size : {64.0, 65536.0, 4194304.0}) {
      const auto query = [&](const char* platform) {
        return Json{{"platform", platform}, {"op", op},       {"nodes", 4},
                    {"gpus_per_node", 4},   {"size_B", size}, {"library", "mpi-spectrum"}};
      };
      INFO(op << " " << size);
      const Json lassen = ask(query("lassen")), summit = ask(query("summit"));
      CHECK(lassen["transports"] == summit["transports"]);
      CHECK(lassen["time_s"].get<double>() > 0.6 * summit["time_s"].get<double>());
      CHECK(lassen["time_s"].get<double>() < 1.3 * summit["time_s"].get<double>());
      CHECK(lassen["time_high_s"].get<double>() / lassen["time_s"].get<double>() > 1.5);
    }
}

// source: calibrate/data/summit/mpi-all-reduce.json, mpi-alltoall.json; nothing was fitted to them here
TEST_CASE("Spectrum MPI stages: small all_reduce and alltoall take three copies and a few messages", "[physics][mpi]") {
  for (const auto& [op, size, measured_s] :
       {std::tuple("all_reduce", 64.0, 45.07e-6), std::tuple("all_reduce", 1048576.0, 936.1e-6),
        std::tuple("alltoall", 768.0, 47.01e-6), std::tuple("alltoall", 786432.0, 407.9e-6)}) {
    const Json result = ask({{"platform", "summit"},
                             {"op", op},
                             {"nodes", 2},
                             {"gpus_per_node", 6},
                             {"size_B", size},
                             {"library", "mpi-spectrum"}});
    INFO(op << " " << size << " " << result["time_s"]);
    CHECK(std::abs(std::log(result["time_s"].get<double>() / measured_s)) < std::log(1.25));
    CHECK(result["staging_s"].get<double>() > 3 * 12e-6);
  }
}

TEST_CASE("rounds of many ranks fill the NICs where detours carry all that they send", "[physics][mpi]") {
  // 64 nodes of Alps are one group of switches, each joined to each: 252 of 256 parts leave their node by its NICs.
  constexpr double kSize = 536870912, kNic = 25e9;
  const Json result = ask({{"platform", "alps"},
                           {"op", "alltoall"},
                           {"nodes", 64},
                           {"gpus_per_node", 4},
                           {"size_B", kSize},
                           {"library", "mpi-cray"}});
  CHECK(result["steady_state"] == true);
  const double bytes_s = result["time_s"].get<double>() - result["latency_s"].get<double>();
  CHECK(bytes_s > 252.0 / 256 * kSize / kNic);
  CHECK(bytes_s < 1.1 * 252.0 / 256 * kSize / kNic);
}

TEST_CASE("4,096 ranks are answered, and what is too much is refused", "[physics][mpi]") {
  for (const char* op : {"all_reduce", "all_gather", "alltoall", "broadcast", "reduce_scatter"}) {
    const Json result = ask({{"platform", "alps"},
                             {"op", op},
                             {"nodes", 1024},
                             {"gpus_per_node", 4},
                             {"size_B", 1073741824},
                             {"library", "mpi-cray"}});
    CHECK(result["steady_state"] == true);
    // Nobody receives more than its NIC carries, nor less than the buffer without its own part.
    const double share = std::string(op) == "broadcast" ? 1 : 4092.0 / 4096;
    CHECK(result["time_s"].get<double>() > share * 1073741824 / 25e9);
  }
  CHECK(refusal({{"platform", "lumi"},
                 {"op", "all_reduce"},
                 {"nodes", 2976},
                 {"gpus_per_node", 8},
                 {"size_B", 1024},
                 {"library", "mpi-cray"}})
            .find("too many messages") != std::string::npos);
  CHECK(refusal({{"platform", "alps"}, {"op", "all_reduce"}, {"gpus", {0, 1}}, {"size_B", 8}, {"library", "mpi-x"}})
            .find("unknown library") != std::string::npos);
  CHECK(refusal({{"platform", "alps"},
                 {"op", "alltoall"},
                 {"gpus", {0, 1}},
                 {"size_B", 8},
                 {"library", "mpi-cray"},
                 {"algorithm", "rabenseifner"}})
            .find("algorithm") != std::string::npos);
  CHECK(refusal({{"platform", "gx8"},
                 {"op", "alltoall"},
                 {"nodes", 2},
                 {"gpus_per_node", 2},
                 {"size_B", 8},
                 {"library", "mpi-cray"}}) != "");
}

TEST_CASE("the rules of Open MPI 4.1.4 and MPICH 4.0.2", "[physics][mpi]") {
  const auto takes = [](const char* library, const char* op, double size, int ranks) {
    return libraries().get(library).schedules()->algorithm({op, {size}, ranks});
  };
  // source: ompi/mca/coll/tuned/coll_tuned_decision_fixed.c, read at both sides of a limit
  CHECK(takes("mpi-openmpi", "all_reduce", 8191, 4) == "recursive_doubling");
  CHECK(takes("mpi-openmpi", "all_reduce", 8192, 4) == "rabenseifner");
  CHECK(takes("mpi-openmpi", "alltoall", 1023 * 128, 128) == "bruck");
  CHECK(takes("mpi-openmpi", "alltoall", 1024 * 128, 128) == "linear");
  CHECK(takes("mpi-openmpi", "all_gather", 1024, 6) == "bruck");
  CHECK(takes("mpi-openmpi", "broadcast", 1048576, 16) == "scatter_all_gather");
  // source: Open MPI 4.0, the same file: a machine that runs it says so, Spectrum MPI is made from it
  const auto old = [](const char* op, double size, int ranks) {
    return libraries().get("mpi-openmpi").schedules()->algorithm({op, {size}, ranks, 4.0});
  };
  CHECK(old("all_reduce", 4, 16) == "recursive_doubling");
  CHECK(takes("mpi-openmpi", "all_reduce", 4, 16) == "ring");
  CHECK(old("all_reduce", 9999, 4) == "recursive_doubling");
  CHECK(old("all_reduce", 10000, 4) == "ring");
  CHECK(takes("mpi-spectrum", "all_reduce", 16384, 12) == "ring");
  CHECK(old("alltoall", 199 * 13, 13) == "bruck");
  CHECK(old("alltoall", 2999 * 12, 12) == "linear");
  CHECK(old("alltoall", 3000 * 12, 12) == "pairwise");
  CHECK(old("all_gather", 49999, 8) == "recursive_doubling");
  CHECK(old("all_gather", 49999, 6) == "bruck");
  CHECK(old("gather", 1023 * 11, 11) == "binomial");
  CHECK(old("scatter", 300 * 11, 11) == "linear");
  CHECK(old("broadcast", 1024, 16) == takes("mpi-openmpi", "broadcast", 1024, 16));
  // source: maint/tuning/coll/mpir/generic.json
  CHECK(takes("mpi-mpich", "all_reduce", 8, 4) == "recursive_doubling");
  CHECK(takes("mpi-mpich", "all_reduce", 64, 32) == "recursive_doubling");  // fewer elements than ranks
  CHECK(takes("mpi-mpich", "all_reduce", 4096, 32) == "rabenseifner");
  CHECK(takes("mpi-cray", "all_reduce", 2048, 32) == "recursive_doubling");
  CHECK(takes("mpi-mpich", "alltoall", 256 * 8, 8) == "bruck");
  CHECK(takes("mpi-mpich", "alltoall", 257 * 8, 8) == "scattered");
  CHECK(takes("mpi-mpich", "alltoall", 32769 * 8, 8) == "pairwise");
  CHECK(takes("mpi-mpich", "all_gather", 524288, 8) == "ring");
}

}  // namespace linkcast::test::mpi_test
