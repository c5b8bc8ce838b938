// Machines as strangers: each measured one is forecast from the others, as if only its wiring were known.
#include "sim/lending/stranger.hpp"

#include <cstdio>

#include "sim/plugin/usual_library.hpp"
#include "sim/records/left_out.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"
#include "validate/compare.hpp"

namespace linkcast::test::stranger_test {

namespace {

const std::string kData = LINKCAST_DATA_DIR;

/// A shipped machine with the parameters that the others lend it.
std::string as_stranger(const std::string& id) {
  std::vector<lending::Lender> others;
  for (lending::Lender& one : catalogue::MachineFiles(kData).lenders())
    if (one.calibration.name != id) others.push_back(std::move(one));
  Topology topology = catalogue().platform(id).wiring();
  Calibration lent = lending::stranger(topology, others, usual_library(topology));
  lent.scatter = scatter_left_out(read_left_out(kData + "/calibrate/data/left-out.json"), false);
  catalogue().adopt("stranger-" + id, std::move(topology), std::move(lent));
  return "stranger-" + id;
}

}  // namespace

TEST_CASE("a stranger's copies lie in their intervals, and the intervals are not everything", "[stranger]") {
  int points = 0, inside = 0;
  std::vector<double> errors, widths;
  for (const auto& [id, file] : {std::pair<std::string, std::string>("p100-dgx1", "p100-dgx1/p2p-matrix"),
                                 {"abci-v100", "abci-v100x4/p2p-matrix"},
                                 {"dgx2", "dgx2/p2p-matrix"},
                                 {"v100-dgx1", "v100-hcm/p2p-matrix"},
                                 {"abci-a100", "abci-a100/p2p-matrix"},
                                 {"hgx-h100", "hgx-h100/p2p-matrix"},
                                 {"hgx-h200", "hgx-h200/20261121a-p2p_copy"},
                                 {"gx8", "gx8/printed-copies"}}) {
    const Measurement measured = read_measurement(kData + "/calibrate/data/" + file + ".json");
    const validate::Comparison compared = validate::compare(catalogue(), measured, {}, as_stranger(id));
    int hits = 0;
    std::vector<double> own;
    for (const validate::ComparedPoint& p : compared.points) {
      hits += p.measured_s >= p.low_s && p.measured_s <= p.high_s;
      own.push_back(std::abs(p.error()));
      widths.push_back(p.high_s / p.low_s);
    }
    REQUIRE_FALSE(own.empty());
    std::sort(own.begin(), own.end());
    std::printf("%s: %zu points, median error %.3f, inside %.3f\n", id.c_str(), own.size(), own[own.size() / 2],
                double(hits) / double(own.size()));
    errors.push_back(own[own.size() / 2]);
    points += static_cast<int>(own.size());
    inside += hits;
  }
  std::sort(errors.begin(), errors.end());
  std::sort(widths.begin(), widths.end());
  std::printf("all: %d of %d inside, median of medians %.3f, width %.2f\n", inside, points, errors[errors.size() / 2],
              widths[widths.size() / 2]);
}

}  // namespace linkcast::test::stranger_test
