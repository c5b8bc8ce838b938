// What a machine's own data leave open: cables of several kinds on one way, of a kind never calibrated, no large
// copies.
#include "calibrate/fit/fit.hpp"
#include "tests/support/catch.hpp"

namespace linkcast::test::fit_kinds_test {

namespace {

Topology shipped(const std::string& name) { return read_topology(test::data_dir() + "/topologies/" + name + ".json"); }

MeasuredPoint copy(const std::string& transport, int a, int b, double size_B, double time_s) {
  MeasuredPoint point;
  point.transport = transport;
  point.source = "gpu" + std::to_string(a);
  point.target = "gpu" + std::to_string(b);
  point.size_B = size_B;
  point.time_s = {time_s};
  return point;
}

fit::FitResult fit(const Topology& topology, const std::vector<MeasuredPoint>& points,
                   const std::vector<Calibration>& inherited = {}) {
  Measurement m;
  m.path = "synthetic.json";
  m.topology = topology.name;
  m.points = points;
  fit::FitRequest request;
  request.name = topology.name;
  request.topology = &topology;
  request.measurements = {m};
  request.inherited = inherited;
  return fit::fit_parameters(request);
}

Calibration lender(const std::map<std::string, double>& values) {
  Calibration c;
  c.path = c.name = "lender";
  for (const auto& [name, value] : values) c.parameters[name] = {value, 0, "s", "fitted"};
  return c;
}

const Parameter& parameter(const fit::FitResult& result, const std::string& name) {
  INFO(name);
  const Parameter* found = result.calibration.find(name);
  REQUIRE(found != nullptr);
  return *found;
}

}  // namespace

TEST_CASE("peer copies through the root complex give its cables a rate of their own", "[unit][fit]") {
  const double size = 1e8;
  const fit::FitResult result =
      fit(shipped("gx8"), {copy("peer", 0, 1, size, size / 13e9), copy("peer", 0, 4, size, 0.01)});
  CHECK_THAT(parameter(result, "cable.pcie3.bandwidth_Bps").value, WithinRel(13e9, 1e-9));
  CHECK_THAT(parameter(result, "cable.pcie3_root.bandwidth_Bps").value, WithinRel(10e9, 1e-9));
  CHECK(std::count(result.undetermined.begin(), result.undetermined.end(),
                   "transport.peer.r0.startup_s: peer copies of a few bytes") == 1);
}

TEST_CASE("PCIe cables measured one way carry both at the share that a lender measured", "[unit][fit]") {
  const double size = 1e8;
  const std::vector<MeasuredPoint> points = {copy("peer", 0, 1, size, size / 13e9), copy("peer", 0, 4, size, 0.01)};
  const Calibration host = lender({{"cable.pcie3.to_host_Bps", 14e9},
                                   {"cable.pcie3.from_host_Bps", 10e9},
                                   {"cable.pcie3.duplex_Bps", 18e9}});  // 0.75 of both
  const fit::FitResult result = fit(shipped("gx8"), points, {host});
  CHECK_THAT(parameter(result, "cable.pcie3.duplex_Bps").value, WithinRel(0.75 * 2 * 13e9, 1e-9));
  CHECK_THAT(parameter(result, "cable.pcie3_root.duplex_Bps").value, WithinRel(0.75 * 2 * 10e9, 1e-9));
  CHECK_THAT(parameter(result, "cable.pcie3.duplex_Bps").stderr_, WithinRel(0.75 * 2 * 1.3e9, 1e-9));
  const Calibration one_way = lender({{"cable.pcie3.to_host_Bps", 14e9}, {"cable.pcie3.from_host_Bps", 10e9}});
  CHECK(fit(shipped("gx8"), points, {one_way}).calibration.find("cable.pcie3.duplex_Bps") == nullptr);
}

TEST_CASE("small copies alone give the start-up, the rate is inherited with a tenth of error", "[unit][fit]") {
  const Topology sli = shipped("rtx2080-sli");
  const fit::FitResult result = fit(sli, {copy("peer", 0, 1, 1, 8e-6), copy("local", 0, 0, 1, 5e-6)},
                                    {lender({{"cable.nvlink2.bandwidth_Bps", 24e9},
                                             {"transport.local.r0.startup_s", 2e-6},
                                             {"transport.local.r0.bandwidth_Bps", 4e11}})});
  CHECK_THAT(parameter(result, "transport.peer.r0.startup_s").value, WithinRel(8e-6, 1e-9));
  CHECK_THAT(parameter(result, "transport.local.r0.startup_s").value, WithinRel(5e-6, 1e-9));
  CHECK(parameter(result, "transport.local.r0.startup_s").provenance == "fitted");
  CHECK_THAT(parameter(result, "cable.nvlink2.bandwidth_Bps").stderr_, WithinRel(2.4e9, 1e-9));
  CHECK(parameter(result, "cable.nvlink2.bandwidth_Bps").provenance == "inherited:lender");
}

TEST_CASE("a PCIe generation that nobody calibrated gets the rate of its staged copies, both ways", "[unit][fit]") {
  // a copy of s bytes in chunks of c at rate r both ways takes a + (s + c) / r
  const double chunk = 1 << 20, rate = 20e9, startup = 15e-6, size = 16e7;
  std::vector<MeasuredPoint> points;
  for (const int b : {2, 3}) {
    points.push_back(copy("staged", 0, b, 16, 12e-6));
    points.push_back(copy("staged", 0, b, size, startup + (size + chunk) / rate));
  }
  const fit::FitResult result = fit(shipped("abci-a100"), points,
                                    {lender({{"transport.staged.r0.flat_s", 10e-6},
                                             {"transport.staged.r0.to_B", 16384},
                                             {"transport.staged.r1.startup_s", 13e-6},
                                             {"transport.staged.chunk_B", chunk}})});
  CHECK_THAT(parameter(result, "transport.staged.r1.startup_s").value, WithinRel(startup, 1e-9));
  CHECK_THAT(parameter(result, "cable.pcie4.to_host_Bps").value, WithinRel(rate, 1e-3));
  CHECK_THAT(parameter(result, "cable.pcie4.from_host_Bps").value, WithinRel(rate, 1e-3));
}

}  // namespace linkcast::test::fit_kinds_test
