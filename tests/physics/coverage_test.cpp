// Whether 90 % intervals of collectives hold what they promise, on points that no fit saw. Every kind:
// docs/accuracy.md.
#include <map>

#include "calibrate/learn/collectives.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"

namespace linkcast::test::coverage_test {

namespace {

// 90 % are meant; of some 50 points of few curves, which err alike, the share itself scatters by a tenth.
constexpr double kLeast = 0.8;

std::string data(const std::string& file) { return test::data_dir() + "/" + file; }

double covered(const std::vector<learn::Point>& points) {
  double inside = 0;
  for (const learn::Point& p : points) inside += p.measured_s >= p.low_s && p.measured_s <= p.high_s ? 1 : 0;
  return inside / static_cast<double>(points.size());
}

/// By "one node, 64 KiB to 4 MiB".
std::map<std::string, std::vector<learn::Point>> by_kind(const std::vector<learn::Point>& points) {
  std::map<std::string, std::vector<learn::Point>> kinds;
  for (const learn::Point& p : points)
    kinds[(p.nodes > 1 ? "between nodes, " : "one node, ") + std::string(learn::size_class_of(p.size_B).text)]
        .push_back(p);
  return kinds;
}

/// Without what the machine's own collectives taught.
Calibration unlearned(const std::string& platform, const std::string& version) {
  Calibration calibration = read_calibration(data("models/params/" + platform + ".json"));
  std::erase_if(calibration.parameters,
                [&](const auto& p) { return p.first.find("@" + version) != std::string::npos; });
  std::erase_if(calibration.scatter,
                [](const Scatter& s) { return s.transport.find("collective") != std::string::npos; });
  calibration.correlation = {};
  return calibration;
}

}  // namespace

TEST_CASE("intervals hold what other hosts of a measured kind show", "[physics]") {
  std::vector<Measurement> hosts;
  for (const char* day : {"20261121b", "20261121c", "20261121e"}) {  // the rows of the interval come from 20261121a
    hosts.push_back(read_measurement(data("calibrate/data/hgx-h200/" + std::string(day) + "-nccl_ops.json")));
    hosts.back().library = "nccl-2.27";
  }
  std::vector<std::string> refused;
  const Calibration calibration = read_calibration(data("models/params/hgx-h200.json"));
  const std::vector<learn::Point> points = learn::forecasts(
      catalogue(), read_topology(data("topologies/hgx-h200.json")), calibration, learn::samples_of(hosts), refused);
  REQUIRE(points.size() > 500);
  for (const auto& [kind, some] : by_kind(points)) {
    INFO(kind);
    CHECK(covered(some) >= kLeast);
    CHECK(covered(some) < 1);  // too wide
  }
}

TEST_CASE("intervals hold sizes that were left out, in one node and between nodes", "[physics]") {
  const std::vector<Measurement> measured = {read_measurement(data("calibrate/data/abci-v100x4/nccl-2.8.json"))};
  const std::vector<learn::Sample> samples = learn::samples_of(measured);
  const Calibration copies = unlearned("abci-v100", "2.8");
  std::vector<learn::Point> all;
  for (const learn::SizeClass& sizes : learn::size_classes()) {
    const learn::HeldOut held = learn::hold_out(catalogue(), read_topology(data("topologies/abci-v100.json")), copies,
                                                samples, learn::Part(sizes.part));
    all.insert(all.end(), held.points.begin(), held.points.end());
  }
  REQUIRE(all.size() == samples.size());
  CHECK(covered(all) >= kLeast);
}

}  // namespace linkcast::test::coverage_test
