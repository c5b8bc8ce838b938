// Placement on one node against all that could have been answered instead.
#include <algorithm>
#include <cstdint>
#include <map>

#include "sim/base/index.hpp"
#include "sim/place/node_search.hpp"
#include "sim/query/query.hpp"
#include "tests/support/ask.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"

namespace linkcast::test::placement_test {

namespace {

Json place_query(const std::string& platform, int ranks) {
  return {{"kind", "place"}, {"platform", platform}, {"job", "all_reduce:64MiB"}, {"ranks", ranks}};
}

double all_reduce_s(const std::string& platform, const std::vector<int>& gpus, const std::string& library = "") {
  Json query{{"kind", "collective"}, {"launch", "graph"}, {"platform", platform}, {"op", "all_reduce"}, {"gpus", gpus}};
  query["size_B"] = 67108864;
  if (!library.empty()) query["library"] = library;
  return ask(query)["time_s"];
}

bool is_fallback(const std::string& platform, const std::vector<int>& gpus, const std::string& library) {
  return catalogue().machine(platform)->communicator(library, gpus)->fallback;
}

std::vector<placement::GpuSet> all_sets(int gpus, int size) {
  placement::GpuSet free;
  for (int gpu = 0; gpu < gpus; ++gpu) free.push_back(gpu);
  std::vector<placement::GpuSet> sets;
  for (auto& one : placement::set_classes(free, size, {})) sets.push_back(one.front());
  return sets;
}

}  // namespace

TEST_CASE("one rank moves nothing, whatever counts: no GPU is worse than another") {
  for (const char* objective : {"time", "neighbours", "both"}) {
    Json query{{"kind", "place"}, {"platform", "summit"}, {"job", "reduce:8B"}, {"ranks", 1}, {"objective", objective}};
    query["with"] = {{{"job", "scatter:3B"}, {"gpus", {4, 0}}}};
    const Json found = ask(query);
    INFO(found);
    for (const Json& row : found["placements"]) CHECK(row["regret"] == 0.0);
    CHECK(found["mean_regret"] == 0.0);
    CHECK(found["worst"]["regret"] == 0.0);
    CHECK(found["why"] == "all sets are as fast; this one leaves the best joined GPUs");
  }
}

TEST_CASE("symmetries keep every copy as fast as it was") {
  for (const char* id : {"p100-dgx1", "v100-dgx1", "summit", "hgx-h200", "gx8"}) {
    const Platform& platform = catalogue().machine(id)->platform();
    const std::vector<int> alike(static_cast<std::size_t>(platform.gpu_count()), 0);
    const auto symmetries = gpu_symmetries(platform, alike);
    INFO(id);
    CHECK_FALSE(symmetries.empty());
    const auto copy_s = [&](int from, int to, const char* transport) -> double {
      return ask({{"kind", "p2p"},
                  {"platform", id},
                  {"src", "gpu" + std::to_string(from)},
                  {"dst", "gpu" + std::to_string(to)},
                  {"size_B", 67108864},
                  {"transport", transport}})["time_s"];
    };
    for (const GpuPermutation& symmetry : symmetries)
      for (int from = 0; from < platform.gpu_count(); ++from)
        for (int to = 0; to < platform.gpu_count(); ++to) {
          if (from == to) continue;
          const int a = symmetry[static_cast<std::size_t>(from)], b = symmetry[static_cast<std::size_t>(to)];
          REQUIRE(platform.peer_route(platform.gpu(from), platform.gpu(to)).has_value() ==
                  platform.peer_route(platform.gpu(a), platform.gpu(b)).has_value());
          REQUIRE(copy_s(a, b, "staged") == Approx(copy_s(from, to, "staged")).epsilon(kExact));
        }
  }
}

TEST_CASE("GPUs of different colours never change places") {
  const Platform& platform = catalogue().machine("hgx-h200")->platform();
  std::vector<int> colours(8, 0);
  colours[3] = colours[5] = 1;
  for (const GpuPermutation& symmetry : gpu_symmetries(platform, colours))
    for (std::size_t gpu = 0; gpu < 8; ++gpu) CHECK(colours[static_cast<std::size_t>(symmetry[gpu])] == colours[gpu]);
  for (int gpu = 0; gpu < 8; ++gpu) colours[static_cast<std::size_t>(gpu)] = gpu;
  CHECK(gpu_symmetries(platform, colours).empty());
}

TEST_CASE("sets of one class have one all_reduce time, whatever the library") {
  for (const char* id : {"p100-dgx1", "v100-dgx1"})
    for (const char* library : {"nccl-2.3", "nccl-2.7", "nccl-2.18", "nccl-2.30"}) {
      const Platform& platform = catalogue().machine(id)->platform();
      const auto symmetries = gpu_symmetries(platform, std::vector<int>(8, 0));
      for (int size = 2; size <= 8; ++size)
        for (const auto& sets : placement::set_classes({0, 1, 2, 3, 4, 5, 6, 7}, size, symmetries))
          for (const placement::GpuSet& set : sets) {
            // A ring through the host runs in rank order, and a symmetry does not keep ascending numbers ascending.
            if (is_fallback(id, set, library)) continue;
            INFO(id << ' ' << library << ' ' << Json(set).dump());
            CHECK(all_reduce_s(id, set, library) == Approx(all_reduce_s(id, sets.front(), library)).epsilon(kExact));
          }
    }
}

TEST_CASE("the best set is the best of all sets, the worst the worst") {
  for (const char* id : {"p100-dgx1", "v100-dgx1"})
    for (int size = 2; size <= 8; ++size) {
      double best_s = 1e9, worst_s = 0;
      for (const placement::GpuSet& set : all_sets(8, size)) {
        const double time_s = all_reduce_s(id, set);
        best_s = std::min(best_s, time_s);
        worst_s = std::max(worst_s, time_s);
      }
      const Json placed = ask(place_query(id, size));
      INFO(id << ", " << size << " GPUs");
      CHECK(placed["time_s"].get<double>() == Approx(best_s).epsilon(kExact));
      CHECK(all_reduce_s(id, placed["gpus"]) == Approx(best_s).epsilon(kExact));
      CHECK(placed["worst"]["time_s"].get<double>() == Approx(worst_s).epsilon(kExact));
      CHECK(placed["search"]["sets"] == placement::number_of_sets(8, size));
      std::vector<int> first;
      for (int gpu = 0; gpu < size; ++gpu) first.push_back(gpu);
      CHECK(placed["first_free"]["gpus"] == Json(first));
      CHECK(placed["first_free"]["regret"].get<double>() ==
            Approx(all_reduce_s(id, first) / best_s - 1).margin(kExact));
    }
}

TEST_CASE("72 GPUs are placed by the symmetries of their racks") {
  for (const int ranks : {4, 64}) {
    Json query = place_query("gb200-nvl72", ranks);
    query["top"] = 2;
    const Json placed = ask(query);
    INFO(placed);
    CHECK(placed["gpus"] == Json(first_numbers(ranks)));
    CHECK(placed["time_s"].get<double>() == Approx(all_reduce_s("gb200-nvl72", first_numbers(ranks))).epsilon(kExact));
    CHECK(placed["search"]["exact"] == true);
    CHECK(placed["search"]["sets"] == placement::number_of_sets(72, ranks));
    std::int64_t sets = 0;
    for (const Json& one : placed["classes"]) sets += one["sets"].get<std::int64_t>();
    CHECK(sets == placement::number_of_sets(72, ranks));
    CHECK(placed["placements"].size() == 2);
  }
}

TEST_CASE("no order of a set through the host takes less than its bound") {
  for (const placement::GpuSet& set : {placement::GpuSet{0, 1, 2, 4}, placement::GpuSet{2, 3, 4, 5}}) {
    placement::GpuSet order = set;
    const double least_s = 2.0 * 3 / 4 * 67108864 / 12e9;  // 12 GB/s: more than any PCIe 3.0 x16 uplink moves
    do CHECK(all_reduce_s("p100-dgx1", order) > least_s);
    while (std::next_permutation(order.begin(), order.end()));
  }
}

TEST_CASE("five GPUs of a DGX-1: the first ones have no NVLink ring, others do") {
  // Paper 001, section 3.4: NCCL falls back to PCIe where no NVLink ring can be built
  const Json placed = ask(place_query("p100-dgx1", 5));
  CHECK(placed["why"].get<std::string>().find("0,1,2,3,4 has no NVLink ring") != std::string::npos);
  CHECK(placed["first_free"]["regret"].get<double>() > 1);
  Json rings = ask({{"kind", "rings"}, {"platform", "p100-dgx1"}, {"gpus", placed["gpus"]}});
  CHECK_FALSE(rings["fallback"].get<bool>());
}

TEST_CASE("without NVLink all that is left is the host path") {
  Json query = place_query("v100-dgx1", 4);
  query["edits"] = {"disable nvlink"};
  const Json placed = ask(query);
  for (const Json& row : placed["placements"]) CHECK(row["why"].get<std::string>().rfind("no NVLink", 0) == 0);
}

TEST_CASE("of equal sets the one that leaves the best joined GPUs is taken") {
  // A pair of V100s with two NVLinks: any of eight. What it leaves must hold another such pair, and a ring of four.
  const Json two = ask(place_query("v100-dgx1", 2));
  Json query = place_query("v100-dgx1", 4);
  query["busy"] = two["gpus"];
  CHECK(ask(query)["time_s"].get<double>() < ask(place_query("v100-dgx1", 4))["time_s"].get<double>() * 2.1);
}

TEST_CASE("neighbours cost: on one shared host path both wait, apart nobody does") {
  // GPUs 0 to 3 and 4 to 7 hang on one socket each. GPU 0 and 5 exchange through both sockets.
  Json query = place_query("v100-dgx1", 3);
  query["with"] = {{{"job", "all_reduce:64MiB"}, {"gpus", {0, 5}}}};
  query["objective"] = "both";
  const Json placed = ask(query);
  CHECK(placed["neighbours"][0]["slowdown"].get<double>() == Approx(1));
  for (const Json& row : placed["placements"])
    for (const Json& gpu : row["gpus"]) CHECK((gpu != 0 && gpu != 5));
  query["top"] = 1000;
  const Json all = ask(query);
  double most = 0;
  for (const Json& row : all["placements"]) most = std::max(most, row["neighbours"][0]["slowdown"].get<double>());
  CHECK(most > 1.05);  // some set shares the host path with it
}

TEST_CASE("rank order of a pipeline: neighbours in the ring of messages sit next to each other") {
  Json query = place_query("v100-dgx1", 4);
  query["job"] = {{"trace", "transformer"},
                  {"options", {{"dp", "1"}, {"tp", "1"}, {"pp", "4"}, {"layers", "4"}, {"steps", "1"}}}};
  query["library"] = "nccl-2.18";
  const Json placed = ask(query);
  double best_s = 1e9;
  for (const placement::GpuSet& set : all_sets(8, 4)) {
    Json replayed = ask({{"kind", "replay"},
                         {"platform", "v100-dgx1"},
                         {"trace", "transformer"},
                         {"library", "nccl-2.18"},
                         {"options", query["job"]["options"]},
                         {"placement", set}});
    best_s = std::min(best_s, replayed["step_time_s"].is_null() ? replayed["makespan_s"].get<double>()
                                                                : replayed["step_time_s"].get<double>());
  }
  CHECK(placed["time_s"].get<double>() <= best_s * (1 + kExact));
  CHECK(placed["search"]["exact"] == true);
}

}  // namespace linkcast::test::placement_test
