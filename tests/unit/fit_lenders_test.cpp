// Which machine lends what: ways through host memory from the same host, the level 2 cache's end by the caches' sizes.
#include "calibrate/fit/fit.hpp"
#include "sim/machine/inherit.hpp"
#include "tests/support/catch.hpp"

namespace linkcast::test::fit_lenders_test {

namespace {

constexpr double kPascal_B = 4194304, kVolta_B = 6291456;

Topology shipped(const std::string& name) { return read_topology(test::data_dir() + "/topologies/" + name + ".json"); }

MeasuredPoint copy(const std::string& transport, int from, int to, double size_B, double time_s) {
  MeasuredPoint point;
  point.transport = transport;
  point.source = "gpu" + std::to_string(from);
  point.target = "gpu" + std::to_string(to);
  point.size_B = size_B;
  point.time_s = {time_s};
  return point;
}

Calibration calibration(const std::string& name, const std::map<std::string, double>& values) {
  Calibration c;
  c.path = c.name = name;
  for (const auto& [parameter, value] : values) c.parameters[parameter] = {value, 0, "s", "fitted"};
  return c;
}

fit::FitRequest request_for(const Topology& topology, const std::vector<MeasuredPoint>& points) {
  Measurement m;
  m.path = "synthetic.json";
  m.topology = topology.name;
  m.points = points;
  fit::FitRequest request;
  request.name = topology.name;
  request.topology = &topology;
  request.measurements = {m};
  return request;
}

const std::map<std::string, double> kStaged = {
    {"cable.pcie3.to_host_Bps", 13e9},       {"cable.pcie3.from_host_Bps", 10e9}, {"cable.pcie3.duplex_Bps", 19e9},
    {"transport.staged.r0.flat_s", 21e-6},   {"transport.staged.r0.to_B", 16384}, {"transport.staged.chunk_B", 1048576},
    {"transport.staged.r1.startup_s", 23e-6}};

}  // namespace

TEST_CASE("ways through host memory are lent by the machine with the same CPUs, others by the first", "[unit][fit]") {
  const Topology here = shipped("v100-dgx1");
  fit::FitRequest request = request_for(here, {copy("peer", 0, 1, 4e7, 4e7 / 24e9)});
  auto elsewhere = kStaged;
  for (auto& [name, value] : elsewhere) value *= 1.25;
  elsewhere["transport.peer.r0.startup_s"] = 7e-6;
  auto same_host = kStaged;
  same_host["transport.peer.r0.startup_s"] = 9e-6;
  request.inherited = {calibration("elsewhere", elsewhere), calibration("same host", same_host)};
  request.lenders = {{shipped("abci-v100")}, {shipped("p100-dgx1")}};
  const Calibration fitted = fit::fit_parameters(request).calibration;
  for (const auto& [name, value] : kStaged) {
    INFO(name);
    REQUIRE(fitted.find(name) != nullptr);
    CHECK(fitted.find(name)->value == value);
  }
  CHECK(fitted.find("transport.peer.r0.startup_s")->value == 7e-6);

  request.lenders.clear();  // nothing is known of the hosts: staged copies were not measured, and none stand in
  CHECK(fit::fit_parameters(request).calibration.find("transport.staged.r1.startup_s") == nullptr);
}

TEST_CASE("kernels are inherited between releases of one generation alone", "[unit][fit]") {
  const std::string base = "nccl.ring.LL@2.27.base_s";
  Topology b200 = shipped("dgx-b200");
  const auto with_sm = [&b200](int sm) {
    for (Device& device : b200.devices)
      if (device.kind == DeviceKind::kGpu) device.sm = sm;
    return b200;
  };
  using namespace lending;
  const Lender blackwell{calibration("b200", {{base, 7e-6}}), with_sm(100)};
  for (const auto& [sm, inherited] : {std::pair{100, true}, {103, true}, {90, false}, {120, false}}) {
    INFO(sm);
    const auto found = lend(with_sm(sm), {blackwell});
    CHECK((found.count(base) > 0) == inherited);
    if (inherited) CHECK(found.at(base).value == 7e-6);
    if (inherited) CHECK(found.at(base).stderr_ > 0);
  }
}

TEST_CASE("local copies move faster up to the size of the cache, where only large ones were measured", "[unit][fit]") {
  const Topology here = shipped("v100-dgx1");
  fit::FitRequest request =
      request_for(here, {copy("local", 0, 0, 4, 2e-6), copy("local", 0, 0, 4e9, 2e-6 + 4e9 / 400e9)});
  request.l2_B = kVolta_B;
  request.inherited = {calibration("P100", {{"transport.local.r0.startup_s", 3e-6},
                                            {"transport.local.r0.bandwidth_Bps", 500e9},
                                            {"transport.local.r0.to_B", kPascal_B},
                                            {"transport.local.r1.startup_s", 3e-6},
                                            {"transport.local.r1.bandwidth_Bps", 250e9}})};
  request.lenders = {{shipped("p100-dgx1"), kPascal_B}};
  const Calibration fitted = fit::fit_parameters(request).calibration;
  CHECK_THAT(fitted.find("transport.local.r0.bandwidth_Bps")->value, WithinRel(800e9, 1e-6));
  CHECK_THAT(fitted.find("transport.local.r1.bandwidth_Bps")->value, WithinRel(400e9, 1e-6));
  CHECK(fitted.find("transport.local.r0.to_B")->value == kVolta_B);
  CHECK(fitted.find("transport.local.r0.bandwidth_Bps")->provenance.rfind("derived", 0) == 0);

  request.l2_B = 0;  // of GPUs whose cache is not known nothing is guessed
  CHECK(fit::fit_parameters(request).calibration.find("transport.local.r0.to_B") == nullptr);
}

}  // namespace linkcast::test::fit_lenders_test
