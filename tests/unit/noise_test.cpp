// Distributions of network noise against closed forms, its draws, its requests, and where nodes are placed.
#include "sim/machine/noise.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>
#include <set>

#include "calibrate/fit/fit.hpp"
#include "sim/base/random.hpp"
#include "sim/machine/placed_fabric.hpp"
#include "sim/query/query.hpp"
#include "sim/records/measurement.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/program.hpp"

namespace linkcast::test::noise_test {

namespace {

catalogue::Catalogue& catalogue() {
  static catalogue::Catalogue shared(test::data_dir());
  return shared;
}

const NoiseModel kModel{0.5, 4, 1e-6, 1.5, 0};

Json pair_of(const char* dst, Json more) {
  Json query{{"platform", "leonardo"}, {"kind", "p2p"}, {"src", "node0/gpu0"}, {"dst", dst}, {"size_B", 1048576}};
  query.update(more);
  return query::answer(catalogue(), query);
}

Json ring_of(int nodes, Json more) {
  Json query{{"platform", "leonardo"}, {"kind", "collective"}, {"op", "all_reduce"},
             {"nodes", nodes},         {"gpus_per_node", 4},   {"size_B", 1073741824}};
  query.update(more);
  return query::answer(catalogue(), query);
}

}  // namespace

TEST_CASE("random numbers are even, never at the ends, and those of a seed", "[unit]") {
  CHECK(uniform(0) > 0);
  CHECK(uniform(~0ULL) < 1);
  double sum = 0, squares = 0, normals = 0, normal_squares = 0;
  constexpr int kDraws = 100000;
  for (int i = 0; i < kDraws; ++i) {
    const double u = uniform(joined(7, static_cast<std::uint64_t>(i)));
    const double z = normal(joined(9, static_cast<std::uint64_t>(i)));
    sum += u;
    squares += u * u;
    normals += z;
    normal_squares += z * z;
  }
  // moments of both distributions; four standard errors of the mean of so many draws
  CHECK_THAT(sum / kDraws, WithinAbs(0.5, 4 * std::sqrt(1 / 12.0 / kDraws)));
  CHECK_THAT(squares / kDraws, WithinAbs(1 / 3.0, 4 * std::sqrt(4 / 45.0 / kDraws)));
  CHECK_THAT(normals / kDraws, WithinAbs(0, 4 * std::sqrt(1.0 / kDraws)));
  CHECK_THAT(normal_squares / kDraws, WithinAbs(1, 4 * std::sqrt(2.0 / kDraws)));
}

TEST_CASE("the normal quantile inverts the distribution", "[unit]") {
  CHECK_THAT(normal_quantile(0.5), WithinAbs(0, 1e-12));
  for (const double p : {1e-6, 0.05, 0.3, 0.975, 0.999307})
    CHECK_THAT(std::erfc(-normal_quantile(p) / std::sqrt(2.0)) / 2, WithinRel(p, 1e-12));
}

TEST_CASE("a way of several links loses what the worst of them takes", "[unit]") {
  // P(largest of n <= x) = P(one <= x)^n: the quantile of n links at u is that of one link at u^(1/n)
  for (const int links : {1, 2, 3})
    for (const double u : {0.1, 0.5, 0.9})
      CHECK_THAT(kModel.lost(u, links), WithinRel(kModel.lost(std::pow(u, 1.0 / links), 1), 1e-12));
  CHECK(kModel.lost(0.9, 0) == 0);
  CHECK(kModel.lost(1, 3) == kModel.most_loss);
}

TEST_CASE("draws depend on seed, sample and switches only", "[unit]") {
  const Fabric& fabric = catalogue().machine("leonardo")->cluster().fabric();
  const NoisyWay far = noisy_way(fabric, 0, 4000), twin = noisy_way(fabric, 1, 4001), back = noisy_way(fabric, 4000, 0);
  CHECK(far.links == 3);
  CHECK(noisy_way(fabric, 0, 41).links == 2);  // next leaf of the same group
  const Background here(kModel, 1, 0);
  CHECK(here.slowdown(far) == Background(kModel, 1, 0).slowdown(far));
  CHECK(here.slowdown(far) == here.slowdown(twin));
  CHECK(here.slowdown(far) != here.slowdown(back));
  CHECK(here.slowdown(far) != Background(kModel, 1, 1).slowdown(far));
  CHECK(here.slowdown(far) != Background(kModel, 2, 0).slowdown(far));
  CHECK(here.wait_s(far) != here.wait_s(twin));
  const NoisyWay near = noisy_way(fabric, 0, 4);
  CHECK(here.slowdown(near) == 1);
  CHECK(here.wait_s(near) == 0);
}

TEST_CASE("the fit of noise meets the printed mean and extreme", "[unit]") {
  const std::string folder = test::data_dir() + "/calibrate/data/leonardo/";
  const Topology topology = read_topology(test::data_dir() + "/topologies/leonardo.json");
  fit::FitRequest request;
  request.name = "leonardo";
  request.default_library = "nccl-2.18";
  request.topology = &topology;
  for (const char* file : {"printed-internode.json", "printed-noise.json"})
    request.measurements.push_back(read_measurement(folder + file));
  const double farther_s = 5e-7;
  request.distances = {{"other group", {farther_s, 3}}};
  const Calibration fitted = fit::fit_parameters(request).calibration;
  const auto model = NoiseModel::of(fitted);
  REQUIRE(model);
  // Half round trips drawn from the fitted model, four standard errors: the printed mean, and as many beyond the
  // printed extreme of n as make it the median of the extremes of n, 1 - (1/2)^(1/n) of all.
  constexpr int kDraws = 400000, kWay = 3;
  double goodput = 0, goodput_squares = 0, wait_s = 0, wait_squares = 0;
  int slower = 0, later = 0;
  for (std::uint64_t i = 0; i < 2 * kDraws; i += 2) {
    const auto byte = [&](std::uint64_t n) { return 1 / (1 - model->lost(uniform(joined(5, n)), kWay)); };
    const auto wait = [&](std::uint64_t n) { return model->waited_s(normal(joined(6, n)), kWay); };
    const double Gbps = 395 * 2 / (byte(i) + byte(i + 1)), s = (wait(i) + wait(i + 1)) / 2;
    goodput += Gbps;
    goodput_squares += Gbps * Gbps;
    wait_s += s;
    wait_squares += s * s;
    slower += Gbps < 216;
    later += s > 132e-6 - 2.03e-6 - farther_s;
  }
  const auto error = [](double sum, double squares) {
    return 4 * std::sqrt((squares / kDraws - sum * sum / kDraws / kDraws) / kDraws);
  };
  CHECK_THAT(goodput / kDraws, WithinAbs(328, error(goodput, goodput_squares)));
  CHECK_THAT(wait_s / kDraws, WithinAbs(4.23e-6 - 2.03e-6 - farther_s, error(wait_s, wait_squares)));
  const double beyond_100 = kDraws * (1 - std::pow(0.5, 1.0 / 100)), beyond_1000 = kDraws * (1 - std::pow(0.5, 1e-3));
  CHECK_THAT(slower, WithinAbs(beyond_100, 4 * std::sqrt(beyond_100)));
  CHECK_THAT(later, WithinAbs(beyond_1000, 4 * std::sqrt(beyond_1000)));
  request.distances.clear();
  CHECK_THROWS_AS(fit::fit_parameters(request), InputError);
}

TEST_CASE("what cannot be a distribution is refused", "[unit]") {
  const test::ScratchFolder scratch;
  const auto refusal = [&](const std::string& figures) {
    std::ofstream(scratch / "m.json") << R"({"schema": "measurement/1", "id": "i", "machine": "m", "topology": "t",
      "bench": "b", "source": "s", "timing": "single", "environment": {}, "method": {}, "points": [{"transport": "mpi",
      "source": "gpu0", "target": "gpu0", "between_nodes": true, "distance": "other group", "service_level": 0,
      "size_B": 1, )" + figures + "}]}";
    try {
      read_measurement((scratch / "m.json").string());
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refusal(R"("repetitions": 10, "mean_time_s": 2, "max_time_s": 3)").empty());
  CHECK(refusal(R"("repetitions": 1, "mean_time_s": 2)").find("repetitions") != std::string::npos);
  CHECK(refusal(R"("repetitions": 10, "mean_time_s": 2, "max_time_s": 1)").find("max_time_s") != std::string::npos);
  CHECK(refusal(R"("repetitions": 10, "max_time_s": 1)").find("exactly one") != std::string::npos);
  CHECK(refusal(R"("repetitions": 10, "mean_bandwidth_Bps": 1, "min_bandwidth_Bps": 2)").find("below the mean") !=
        std::string::npos);
}

TEST_CASE("nodes are placed without loss, and jobs apart where asked", "[unit]") {
  const Cluster& cluster = catalogue().machine("leonardo")->cluster();
  std::vector<int> order = random_order(cluster.nodes(), 5);
  CHECK(order == random_order(cluster.nodes(), 5));
  CHECK(order != random_order(cluster.nodes(), 6));
  const auto placed = placed_cluster(cluster, order);
  const Fabric& there = cluster.fabric();
  for (const int node : {1, 17, 333}) {  // NIC 2 of node 0 to NIC 3 of another one
    std::vector<int> way, same;
    placed->fabric().minimal_way(2, 4 * node + 3, 0, way);
    there.minimal_way(4 * order[0] + 2, 4 * order[static_cast<std::size_t>(node)] + 3, 0, same);
    CHECK(way == same);
    CHECK(placed->fabric().link(way.front()).from == 2);
    CHECK(placed->fabric().link(way.back()).to == 4 * node + 3);
  }
  std::sort(order.begin(), order.end());
  std::vector<int> all(order.size());
  std::iota(all.begin(), all.end(), 0);
  CHECK(order == all);
  const std::vector<int> packed = packed_order(cluster, {32, 32});  // ten nodes a leaf: the second begins at the fifth
  CHECK(packed[31] == 31);
  CHECK(packed[32] == 40);
  CHECK(std::set<int>(packed.begin(), packed.end()).size() == all.size());
}

TEST_CASE("noise is reproducible by seed, and off or on a quiet level nothing changes", "[unit]") {
  const Json quiet = pair_of("node2000/gpu0", Json::object()), level = pair_of("node2000/gpu0", {{"service_level", 4}});
  CHECK(quiet["time_s"] == level["time_s"]);
  const Json noisy = pair_of("node2000/gpu0", {{"noise", 3}, {"samples", 40}});
  CHECK(noisy == pair_of("node2000/gpu0", {{"noise", 3}, {"samples", 40}}));
  CHECK(noisy["percentiles"] != pair_of("node2000/gpu0", {{"noise", 4}, {"samples", 40}})["percentiles"]);
  CHECK(noisy["quiet_s"] == quiet["time_s"]);
  CHECK(noisy["time_s"] == noisy["percentiles"]["p50"]);
  CHECK(noisy["min_s"].get<double>() > quiet["time_s"].get<double>());
  const Json other = pair_of("node2000/gpu0", {{"noise", 3}, {"service_level", 1}});
  CHECK(other["min_s"] == quiet["time_s"]);
  CHECK(other["max_s"] == quiet["time_s"]);
  const Json near = pair_of("node1/gpu0", {{"noise", 3}});
  CHECK(near["min_s"] == near["max_s"]);
  CHECK(ring_of(16, {{"noise", 3}, {"samples", 3}}) == ring_of(16, {{"noise", 3}, {"samples", 3}}));
  CHECK(ring_of(16, {{"noise", 3}, {"samples", 3}})["quiet_s"] == ring_of(16, Json::object())["time_s"]);
}

TEST_CASE("a round trip in noise is half of a message there and one back", "[unit]") {
  const auto from = [](const char* src, const char* dst, Json more) {
    more.update(Json{{"src", src}, {"noise", 3}, {"samples", 1}});
    return pair_of(dst, more)["time_s"].get<double>();
  };
  const double there = from("node0/gpu0", "node2000/gpu0", {}), back = from("node2000/gpu0", "node0/gpu0", {});
  CHECK(there != back);
  CHECK_THAT(from("node0/gpu0", "node2000/gpu0", {{"round_trip", true}}), WithinRel((there + back) / 2, 1e-12));
  CHECK(pair_of("node2000/gpu0", {{"round_trip", true}}).value("error", "").find("give noise") != std::string::npos);
}

TEST_CASE("requests of noise that make no sense are refused in one line", "[unit]") {
  const auto error = [](const Json& result) { return result.value("error", ""); };
  const auto has = [](const std::string& text, const char* part) {
    INFO(text);
    CHECK(text.find(part) != std::string::npos);
    CHECK(text.find('\n') == std::string::npos);
  };
  has(error(ring_of(4, {{"samples", 4}})), "give noise as well");
  has(error(ring_of(4, {{"noise", 1}, {"samples", 0}})), "samples");
  has(error(ring_of(4, {{"noise", -1}})), "seed");
  has(error(ring_of(4, {{"noise", 1}, {"service_level", 16}})), "must be 0 to 15");
  has(error(ring_of(4, {{"noise", 1}, {"platform", "lumi"}})), "never fitted on lumi");
  has(error(ring_of(64, {{"noise", 1}, {"library", "mpi-openmpi"}, {"algorithm", "ring"}})), "too many messages");
  has(error(ring_of(4, {{"allocation_seed", 1}})), "allocation random");
  has(error(ring_of(4, {{"beside", {{{"op", "incast"}, {"nodes", 1}}}}})), "must be 2 or more");
  has(error(ring_of(4, {{"beside", {{{"op", "incast"}, {"nodes", 3455}}}}})), "3456 nodes");
  const Json incast = Json::array({{{"op", "incast"}, {"nodes", 2}}});
  has(error(ring_of(4, {{"op", "alltoall"}, {"noise", 1}, {"beside", incast}})), "is for rings and trees");
  has(error(ring_of(4, {{"op", "alltoall"}, {"engine", "reduced"}, {"beside", incast}})), "take direct");
  has(error(ring_of(257, {{"op", "alltoall"}, {"beside", incast}})), "at most 1024");
  has(error(pair_of("node0/gpu1", {{"noise", 1}, {"service_level", 16}})), "must be 0 to 15");
}

}  // namespace linkcast::test::noise_test
