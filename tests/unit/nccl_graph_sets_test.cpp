// Every set of GPUs of the thirteen samples in every version: each GPU once per ring and tree, hops of the kind they
// claim, no link over what the version counts it for, the same answer twice, in seconds.
#include <iostream>

#include "tests/support/catch.hpp"
#include "tests/unit/nccl_set_checks.hpp"

namespace linkcast::test::nccl_graph_sets_test {

namespace {

using nccl_graph::first;
using nccl_graph::SetChecks;

constexpr double kMostSeconds = 10;  // of one search; they take milliseconds

/// The samples but dgx2, which has 65519 sets. Shipped: the sample's wiring is that of topologies.
const std::vector<std::string> kMachines = {
    "p100-dgx1",       "v100-dgx1",       "sample:alps",       "sample:cirrascale_gx8", "sample:hgx_h200",
    "sample:leonardo", "sample:lumi",     "sample:pcie8_dual", "sample:pcie8_dual_4x",  "sample:pcie8_dual_v100",
    "sample:summit",   "sample:summitdev"};

std::vector<std::string> versions() {
  std::vector<std::string> names = nccl_graph::names();
  names.insert(names.begin(), "nccl-2.3");
  return names;
}

std::vector<int> members(unsigned mask) {
  std::vector<int> gpus;
  for (int gpu = 0; mask >> gpu; ++gpu)
    if ((mask >> gpu) & 1U) gpus.push_back(gpu);
  return gpus;
}

/// All sets of 2 and more of `count` GPUs.
std::vector<std::vector<int>> all_sets(int count) {
  std::vector<std::vector<int>> found;
  for (unsigned mask = 1; mask < (1U << count); ++mask)
    if ((mask & (mask - 1)) != 0) found.push_back(members(mask));
  return found;
}

/// The answer with GPU numbers replaced by ranks in the set.
std::string by_rank(const Communicator& made) {
  std::map<int, int> rank;
  for (std::size_t i = 0; i < made.gpus.size(); ++i) rank[made.gpus[i]] = static_cast<int>(i);
  Communicator turned = made;
  const auto turn = [&](auto& list) {
    for (auto& item : list) {
      for (int& gpu : item.order) gpu = rank.at(gpu);
      for (auto& hop : item.hops) {
        hop.from = rank.at(hop.from);
        hop.to = rank.at(hop.to);
        if (hop.via >= 0) hop.via = rank.at(hop.via);
      }
    }
  };
  turn(turned.channels);
  turn(turned.trees);
  return nccl_graph::answer(turned);
}

void check_sets(const std::string& version, const std::string& machine, const std::vector<std::vector<int>>& sets) {
  SetChecks checks(version, machine);
  int wrong = 0;
  for (const auto& gpus : sets)
    if (const std::string what = checks.check(gpus); !what.empty() && ++wrong <= 3) UNSCOPED_INFO(what);
  INFO("slowest: " << checks.figures().worst);
  CHECK(wrong == 0);
  CHECK(checks.figures().worst_s < kMostSeconds);
}

/// Answers of dgx2 for the first k GPUs, k = 2 to 16, by rank.
std::map<std::size_t, std::string> dgx2_by_count(const std::string& version) {
  std::map<std::size_t, std::string> answers;
  for (int count = 2; count <= 16; ++count)
    answers[static_cast<std::size_t>(count)] = by_rank(nccl_graph::build(version, "dgx2", first(count)));
  return answers;
}

}  // namespace

TEST_CASE("every set of every sample, nccl-2.3 to nccl-2.8", "[unit]") {
  const std::string version = GENERATE("nccl-2.3", "nccl-2.7", "nccl-2.8");
  for (const std::string& machine : kMachines)
    check_sets(version, machine, all_sets(nccl_graph::platform(machine).gpu_count()));
}

TEST_CASE("every set of every sample, nccl-2.12 to nccl-2.30", "[unit]") {
  const std::string version = GENERATE("nccl-2.12", "nccl-2.18", "nccl-2.22", "nccl-2.27", "nccl-2.30");
  for (const std::string& machine : kMachines)
    check_sets(version, machine, all_sets(nccl_graph::platform(machine).gpu_count()));
}

TEST_CASE("DGX-2: the number of GPUs decides", "[unit]") {
  // All NVSwitches are one device to the library and every GPU has six links to it, so sets of one size differ only in
  // the PCIe tree, which no channel passes. Held for each number of GPUs on either baseboard and for 50 other sets.
  const std::string version = GENERATE(from_range(versions()));
  std::vector<std::vector<int>> sets;
  for (int left = 0; left <= 8; ++left)
    for (int right = 0; right <= 8; ++right)
      if (left + right >= 2) sets.push_back(members(((1U << left) - 1) | (((1U << right) - 1) << 8)));
  for (unsigned mask = 3; mask < (1U << 16); mask += 1301)
    if ((mask & (mask - 1)) != 0) sets.push_back(members(mask));
  check_sets(version, "dgx2", sets);
  const auto answers = dgx2_by_count(version);
  for (const auto& gpus : sets) CHECK(by_rank(nccl_graph::build(version, "dgx2", gpus)) == answers.at(gpus.size()));
}

TEST_CASE("every set of DGX-2", "[.long]") {
  for (const std::string& version : versions()) {
    DYNAMIC_SECTION(version) {
      SetChecks checks(version, "dgx2");
      const auto answers = dgx2_by_count(version);
      int sets = 0, wrong = 0;
      for (const auto& gpus : all_sets(16)) {
        const auto made = checks.timed(gpus);
        const std::string what = checks.check(made);
        const bool same = by_rank(made) == answers.at(gpus.size());
        if ((!what.empty() || !same) && ++wrong <= 3) UNSCOPED_INFO(what << (same ? "" : "not as the first GPUs"));
        ++sets;
      }
      const auto& figures = checks.figures();
      std::cout << version << ": " << sets << " sets in " << figures.seconds << " s, slowest " << figures.worst_s * 1e3
                << " ms: " << figures.worst << std::endl;
      CHECK(wrong == 0);
      CHECK(figures.worst_s < kMostSeconds);
    }
  }
}

TEST_CASE("graph era: members in another order turn the rings only", "[unit]") {
  const auto made = nccl_graph::build("nccl-2.18", "v100-dgx1", {7, 6, 5, 4, 3, 2, 1, 0});
  CHECK(made.channels.size() == 6);
  for (const auto& channel : made.channels) CHECK(channel.order.front() == 7);
  CHECK_THROWS_WITH(nccl_graph::build("nccl-2.18", "p100-dgx1", {0, 8}), "gpus: no GPU 8: 0 to 7 exist");
  CHECK_THROWS_WITH(libraries().get("nccl-2.28"),
                    "unknown library 'nccl-2.28' (did you mean 'nccl-2.18', 'nccl-2.20' or 'nccl-2.22'?): one of "
                    "mpi-cray, mpi-mpich, mpi-openmpi, mpi-spectrum, mpi-staged, "
                    "nccl-1, nccl-2.12, nccl-2.14, nccl-2.18, nccl-2.20, nccl-2.22, nccl-2.23, nccl-2.27, nccl-2.3, "
                    "nccl-2.30, nccl-2.7, nccl-2.8, rccl-2.15, "
                    "rccl-2.18, rccl-2.21, rccl-2.26, rccl-2.28, rccl-2.30, sglang, trtllm, vllm");
}

}  // namespace linkcast::test::nccl_graph_sets_test
