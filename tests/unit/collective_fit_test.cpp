// Base costs of a communication library from synthetic collectives whose costs are known.
#include <algorithm>
#include <cmath>

#include "calibrate/fit/fit.hpp"
#include "tests/support/catch.hpp"

namespace linkcast::test::collective_fit_test {

namespace {

constexpr double kBase = 5e-6, kHop = 1e-6, kRate = 25e9, kTurn = 0.6;

MeasuredCollective all_reduce(int gpus, double size_B, int channels) {
  MeasuredCollective c;
  c.op = "all_reduce";
  for (int k = 0; k < gpus; ++k) c.gpus.push_back(k);
  c.size_B = size_B;
  c.algorithm = "Ring";
  c.protocol = "Simple";
  c.channels = channels;
  const double steps = 2 * (gpus - 1), hop_B = channels == 0 ? 0 : size_B * steps / gpus;
  c.time_s = {kBase + steps * kHop + hop_B * (steps + kTurn) / (steps * kRate)};
  return c;
}

Measurement measurement(const std::vector<int>& counts, const std::string& bench = "nccl_base") {
  Measurement m;
  m.path = "synthetic.json";
  m.topology = "hgx-h200";
  m.bench = bench;
  m.timing = "back_to_back";
  for (const int gpus : counts) {
    m.collectives.push_back(all_reduce(gpus, 8, 0));
    m.collectives.push_back(all_reduce(gpus, 67108864, 1));
  }
  return m;
}

Measurement one_copy() {
  Measurement m;
  m.path = "copy.json";
  m.topology = "hgx-h200";
  m.timing = "back_to_back";
  for (const double size : {4.0, 1048576.0, 67108864.0}) {
    MeasuredPoint point;
    point.transport = "peer";
    point.source = "gpu0";
    point.target = "gpu1";
    point.direction = "write";
    point.size_B = size;
    point.time_s = {2e-6 + size / 400e9};
    m.points.push_back(point);
  }
  return m;
}

fit::FitResult fit(const Measurement& collectives) {
  const Topology topology = read_topology(test::data_dir() + "/topologies/hgx-h200.json");
  fit::FitRequest request;
  request.name = "hgx-h200";
  request.topology = &topology;
  request.measurements = {one_copy(), collectives};
  return fit::fit_parameters(request);
}

double value(const fit::FitResult& result, const std::string& name) {
  INFO(name);
  const Parameter* found = result.calibration.find(name);
  REQUIRE(found != nullptr);
  return found->value;
}

}  // namespace

TEST_CASE("base, step, channel rate and turn of a ring are found", "[unit][fit]") {
  const fit::FitResult result = fit(measurement({2, 3, 4}));
  CHECK_THAT(value(result, "nccl.ring.Simple.base_s"), WithinRel(kBase, 1e-6));
  CHECK_THAT(value(result, "nccl.ring.Simple.hop_s"), WithinRel(kHop, 1e-6));
  CHECK_THAT(value(result, "nccl.ring.Simple.channel_Bps"), WithinRel(kRate, 1e-6));
  CHECK_THAT(value(result, "nccl.ring.Simple.turn_steps"), WithinRel(kTurn, 1e-6));
  CHECK(result.calibration.find("nccl.ring.LL.base_s") == nullptr);
}

TEST_CASE("one GPU count cannot tell base from step, and the copies are fitted all the same", "[unit][fit]") {
  const fit::FitResult result = fit(measurement({2, 2}));
  CHECK(result.calibration.find("nccl.ring.Simple.base_s") == nullptr);
  CHECK(result.calibration.find("cable.nvlink4.bandwidth_Bps") != nullptr);
  const std::string missing = "nccl.ring.Simple.base_s and hop_s: smallest all_reduce of another GPU count";
  CHECK(std::count(result.undetermined.begin(), result.undetermined.end(), missing) == 1);
}

TEST_CASE("collectives of any other bench are left out of every fit", "[unit][fit]") {
  for (const auto& [name, parameter] : fit(measurement({2, 3, 4}, "nccl_ops")).calibration.parameters)
    CHECK(name.rfind("nccl.", 0) != 0);
}

}  // namespace linkcast::test::collective_fit_test
