// Every set of GPUs: each GPU once per ring and tree, no link over its budget, the same answer twice, in seconds.
#include <chrono>
#include <cmath>
#include <set>

#include "models/libraries/graph/channel_plan.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/nccl_graph.hpp"

namespace {

using linkcast::Communicator;
using linkcast::Hop;
using linkcast::HopKind;
using nccl_graph::platform;

/// All sets of 2 and more of `count` GPUs, of those every `stride`-th.
std::vector<std::vector<int>> sets(int count, unsigned stride) {
  std::vector<std::vector<int>> found;
  for (unsigned mask = 3; mask < (1U << count); mask += stride) {
    std::vector<int> gpus;
    for (int gpu = 0; gpu < count; ++gpu)
      if ((mask >> gpu) & 1U) gpus.push_back(gpu);
    if (gpus.size() >= 2) found.push_back(gpus);
  }
  return found;
}

bool each_once(const std::vector<int>& order, const std::vector<int>& gpus) {
  return order.size() == gpus.size() &&
         std::set<int>(order.begin(), order.end()) == std::set<int>(gpus.begin(), gpus.end());
}

/// GB/s per directed pair of devices with NVLink between them.
void add_nvlinks(std::map<std::pair<int, int>, double>& used, const std::vector<Hop>& hops, double speed) {
  for (const Hop& hop : hops) {
    if (hop.kind == HopKind::kPeer) used[{hop.from, hop.to}] += speed;
    if (hop.kind != HopKind::kRelay) continue;
    used[{hop.from, hop.via}] += speed;
    used[{hop.via, hop.to}] += speed;
  }
}

/// GB/s of one NVLink as the version counts. Expected: models/libraries/SOURCES.md, "Graph era: search"
double nvlink(const std::string& version, const linkcast::Platform& machine) {
  const int sm = machine.topology().devices[static_cast<std::size_t>(machine.gpu(0))].sm;
  for (const auto& known : linkcast::graph::versions())
    if (known.name == version) return linkcast::graph::by_sm(known.search.nvlink, sm);
  return 0;
}

int links_to_switches(const linkcast::Platform& machine, int gpu) {
  int links = 0;
  for (const auto& cable : machine.topology().cables)
    for (const auto& [end, other] : {std::pair{cable.a, cable.b}, {cable.b, cable.a}})
      if (end == machine.gpu(gpu) &&
          machine.topology().devices[static_cast<std::size_t>(other)].kind == linkcast::DeviceKind::kNvswitch)
        links += cable.count;
  return links;
}

void check_budgets(const Communicator& made, const linkcast::Platform& machine, double per_link) {
  std::map<std::pair<int, int>, double> rings, trees;
  for (const auto& channel : made.channels) add_nvlinks(rings, channel.hops, made.library_channel_bandwidth.si / 1e9);
  for (const auto& tree : made.trees) add_nvlinks(trees, tree.hops, made.tree_channel_bandwidth.si / 1e9);
  for (const auto* used : {&rings, &trees}) {
    std::map<int, double> out, in;
    for (const auto& [pair, speed] : *used) {
      const int links = machine.topology().direct_links(machine.gpu(pair.first), machine.gpu(pair.second));
      if (links > 0) CHECK(speed <= links * per_link + 1e-9);
      out[pair.first] += speed;
      in[pair.second] += speed;
    }
    for (const auto* way : {&out, &in})
      for (const auto& [gpu, speed] : *way)
        if (const int links = links_to_switches(machine, gpu); links > 0) CHECK(speed <= links * per_link + 1e-9);
  }
}

void check_set(const std::string& version, const std::string& machine, const std::vector<int>& gpus) {
  const Communicator made = nccl_graph::build(version, machine, gpus);
  const Communicator again = nccl_graph::build(version, machine, gpus);
  INFO(version << ", " << machine << ": " << made.why);
  REQUIRE_FALSE(made.channels.empty());
  CHECK(made.channels.size() == made.trees.size());
  CHECK(static_cast<int>(made.channels.size()) <= made.rings_found);
  for (std::size_t i = 0; i < made.channels.size(); ++i) {
    CHECK(each_once(made.channels[i].order, gpus));
    CHECK(made.channels[i].order.front() == gpus.front());
    CHECK(made.channels[i].hops.size() == gpus.size());
    CHECK(each_once(made.trees[i].order, gpus));
    CHECK(made.trees[i].hops.size() == gpus.size() - 1);
    CHECK(made.channels[i].order == again.channels[i].order);
    CHECK(made.trees[i].order == again.trees[i].order);
    for (const Hop& hop : made.channels[i].hops)
      if (hop.kind == HopKind::kRelay) CHECK(std::find(gpus.begin(), gpus.end(), hop.via) != gpus.end());
  }
  CHECK(made.why == again.why);
  check_budgets(made, platform(machine), nvlink(version, platform(machine)));
}

}  // namespace

TEST_CASE("graph era, every set: each GPU once, no link over budget, deterministic", "[unit]") {
  const std::string machine = GENERATE("p100-dgx1", "v100-dgx1");
  const auto started = std::chrono::steady_clock::now();
  for (const std::string& version : nccl_graph::names())
    for (const auto& gpus : sets(8, 1)) check_set(version, machine, gpus);
  CHECK(std::chrono::steady_clock::now() - started < std::chrono::minutes(2));  // twice 7 x 247 searches
}

TEST_CASE("graph era, every set of machines with other links", "[unit]") {
  for (const std::string& version : nccl_graph::names()) {
    for (const auto& gpus : sets(6, 1)) check_set(version, "sample:summit", gpus);
    for (const std::string machine : {"sample:summitdev", "sample:leonardo", "sample:alps", "abci-v100"})
      for (const auto& gpus : sets(4, 1)) check_set(version, machine, gpus);
  }
}

TEST_CASE("graph era, sets behind NVSwitches and below PCIe switches", "[unit]") {
  for (const std::string version : {"nccl-2.12", "nccl-2.18", "nccl-2.30"}) {
    for (const auto& gpus : sets(16, 331)) check_set(version, "dgx2", gpus);
    for (const auto& gpus : sets(8, 1)) check_set(version, "hgx-h200", gpus);
    for (const auto& gpus : sets(8, 3)) check_set(version, "sample:lumi", gpus);
    for (const std::string machine :
         {"sample:cirrascale_gx8", "sample:pcie8_dual", "sample:pcie8_dual_4x", "sample:pcie8_dual_v100"})
      for (const auto& gpus : sets(8, 5)) check_set(version, machine, gpus);
  }
}

TEST_CASE("graph era: members in another order turn the rings only", "[unit]") {
  const auto made = nccl_graph::build("nccl-2.18", "v100-dgx1", {7, 6, 5, 4, 3, 2, 1, 0});
  CHECK(made.channels.size() == 6);
  for (const auto& channel : made.channels) CHECK(channel.order.front() == 7);
  CHECK_THROWS_WITH(nccl_graph::build("nccl-2.18", "p100-dgx1", {0, 8}), "gpus: no GPU 8: 0 to 7 exist");
  CHECK_THROWS_WITH(linkcast::libraries().get("nccl-2.28"),
                    "unknown library 'nccl-2.28': one of mpi-cray, mpi-mpich, mpi-openmpi, mpi-spectrum, mpi-staged, "
                    "nccl-2.12, nccl-2.18, nccl-2.22, nccl-2.27, nccl-2.3, "
                    "nccl-2.30, nccl-2.7, nccl-2.8");
}
