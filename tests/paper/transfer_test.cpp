// From P100 to V100: what was fitted on a P100 DGX-1, with the V100's wiring and NVLinks 25 % faster, against copies
// measured on V100 machines. Every point is held out: no parameter comes from a V100.
#include <algorithm>
#include <cmath>
#include <map>

#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"
#include "validate/compare.hpp"

namespace linkcast::test::transfer_test {

namespace {

const std::string kData = test::data_dir();

struct Transfer {
  validate::Comparison comparison;
  double share_of_nominal;  ///< what an NVLink of the P100 attains of its nominal rate
};

Transfer transfer(const std::string& target) {
  const Json how = read_json_file(kData + "/validate/plots/transfer.json");
  const std::string from = how.at("from");
  const Json& one = how.at("targets").at(target);
  const catalogue::MachinePtr machine =
      catalogue().edited(catalogue().machine(from), one.at("edits").get<std::vector<std::string>>());
  const Platform& platform = machine->platform();
  // the wiring is that of the machine measured: as many links between each pair, at the same nominal rate
  const Topology& wiring = catalogue().machine(target)->platform().wiring();
  for (const int a : wiring.gpus())
    for (const int b : wiring.gpus()) {
      const auto device = [&](int gpu) {
        return *platform.wiring().find(wiring.devices[static_cast<std::size_t>(gpu)].id);
      };
      REQUIRE(platform.wiring().direct_links(device(a), device(b)) == wiring.direct_links(a, b));
      if (const Cable* cable = wiring.direct(a, b))
        REQUIRE(platform.wiring().direct(device(a), device(b))->bandwidth.si == cable->bandwidth.si);
    }
  Transfer result{validate::compare(catalogue(), read_measurement(kData + "/" + one.at("measured").get<std::string>()),
                                    {}, machine),
                  0};
  CHECK_FALSE(result.comparison.fitted);
  CHECK(result.comparison.unanswered.empty());
  const double nominal = catalogue().machine(from)->platform().wiring().direct(0, 1)->bandwidth.si;
  result.share_of_nominal =
      catalogue().machine(from)->platform().calibration().find("cable.nvlink1.bandwidth_Bps")->value / nominal;
  return result;
}

std::vector<validate::ComparedPoint> points(const validate::Comparison& comparison, const std::string& transport,
                                            bool large) {
  std::vector<validate::ComparedPoint> some;
  for (const validate::ComparedPoint& p : comparison.points)
    if (p.transport == transport && (p.size_B >= 1e6) == large) some.push_back(p);  // source: 16 B or 40 MB and more
  REQUIRE(some.size() >= 4);
  return some;
}

}  // namespace

// No link attains more than its nominal rate, so a forecast that leaves a link the share that the P100's reaches is
// low by at most what is missing to the whole, 7.5 %. It is not high either: signalling rates grew by more than 25 %.
TEST_CASE("NVLinks of V100 follow from P100 and the data sheet to what the P100 leaves of nominal", "[paper]") {
  for (const std::string target : {"v100-dgx1", "abci-v100"}) {
    const Transfer result = transfer(target);
    CHECK(result.share_of_nominal > 0.9);  // source: share of flits that carry data in packets of 256 bytes, 16/17
    for (const validate::ComparedPoint& p : points(result.comparison, "peer", true)) {
      INFO(target << ": " << p.ends << " measured " << p.measured_s << " s, forecast " << p.predicted_s << " s");
      CHECK(p.error() < 1 / result.share_of_nominal - 1);
      CHECK(p.error() > 0);
      CHECK(p.low_s < p.measured_s);
      CHECK(p.high_s > p.measured_s);
    }
  }
}

// Rates taken over from another machine carry a standard error of 10 % (calibrate/fit), so a 90 % interval of 1.645
// times that. ABCI's node is of the P100 DGX-1's kind: one PCIe 3.0 switch for two GPUs. That copies below one switch
// are the slow ones is structure and carries over in full.
TEST_CASE("host copies of ABCI's V100 node follow from P100 as closely as rates taken over claim", "[paper]") {
  const Transfer result = transfer("abci-v100");
  std::map<bool, std::vector<const validate::ComparedPoint*>> by_switch;  // true: GPUs 2k and 2k+1 share a switch
  const auto staged = points(result.comparison, "staged", true);
  for (const validate::ComparedPoint& p : staged) {
    INFO(p.ends << " measured " << p.measured_s << " s, forecast " << p.predicted_s << " s");
    CHECK(std::abs(std::log(1 + p.error())) < 1.645 * 0.1);  // source: the two figures above
    by_switch[(p.ends[3] - '0') / 2 == (p.ends.back() - '0') / 2].push_back(&p);
  }
  REQUIRE(by_switch[true].size() == 4);
  REQUIRE(by_switch[false].size() == 8);
  for (const validate::ComparedPoint* near : by_switch[true])
    for (const validate::ComparedPoint* far : by_switch[false]) {
      CHECK(near->measured_s > far->measured_s);
      CHECK(near->predicted_s > far->predicted_s);
    }
}

TEST_CASE("edits apply to comparisons and name the platform", "[paper]") {
  const Measurement measurement = read_measurement(kData + "/calibrate/data/p100-dgx1/p2p-matrix.json");
  const catalogue::MachinePtr slow = catalogue().edited(catalogue().machine("p100-dgx1"), {"scale nvlink:0.5"});
  const validate::Comparison plain = validate::compare(catalogue(), measurement, {}),
                             edited = validate::compare(catalogue(), measurement, {}, slow);
  CHECK(edited.platform == "p100-dgx1 (edited: scale nvlink:0.5)");
  REQUIRE(edited.points.size() == plain.points.size());
  for (std::size_t i = 0; i < plain.points.size(); ++i)
    if (plain.points[i].transport == "peer" && plain.points[i].size_B > 1e6)  // source: start-up is below 1 %
      CHECK_THAT(edited.points[i].predicted_s / plain.points[i].predicted_s, WithinRel(2.0, 0.01));
}

}  // namespace linkcast::test::transfer_test
