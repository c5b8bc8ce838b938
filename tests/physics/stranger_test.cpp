// Machines as strangers: each measured one is forecast from the others, as if only its wiring were known.
#include <algorithm>
#include <cmath>

#include "sim/machine/inherit.hpp"
#include "sim/machine/library.hpp"
#include "sim/records/calibration.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"
#include "validate/compare.hpp"

namespace linkcast::test::stranger_test {

namespace {

const std::string kData = test::data_dir();

/// A shipped machine with the parameters that it inherits from the others.
std::string as_stranger(const std::string& id) {
  std::vector<lending::Lender> others;
  for (auto& one : catalogue::MachineFiles(kData).lenders())
    if (one.calibration.name != id) others.push_back(std::move(one));
  Topology topology = catalogue().machine(id)->platform().wiring();
  Calibration lent = lending::stranger(topology, others, usual_library(topology));
  lent.scatter = scatter_left_out(read_left_out(kData + "/calibrate/data/left-out.json"), false);
  catalogue().adopt("stranger-" + id, std::move(topology), std::move(lent));
  return "stranger-" + id;
}

}  // namespace

/// How forecasts of strangers met what was measured.
struct Met {
  std::vector<double> errors{}, widths{};  ///< medians of each file; of each point
  int points = 0, inside = 0;
  [[nodiscard]] double share() const { return static_cast<double>(inside) / points; }
};

double median(std::vector<double> values) {
  REQUIRE_FALSE(values.empty());
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

using Files = std::vector<std::pair<std::string, std::string>>;

/// @param files  platform and measurement
Met met(const Files& files) {
  Met all;
  for (const auto& [id, file] : files) {
    const Measurement measured = read_measurement(kData + "/calibrate/data/" + file + ".json");
    const validate::Comparison compared =
        validate::compare(catalogue(), measured, {}, catalogue().machine(as_stranger(id)));
    std::vector<double> errors;
    int inside = 0;
    for (const validate::ComparedPoint& p : compared.points) {
      inside += p.measured_s >= p.low_s && p.measured_s <= p.high_s ? 1 : 0;
      errors.push_back(std::abs(p.error()));
      all.widths.push_back(p.high_s / p.low_s);
    }
    all.points += static_cast<int>(errors.size());
    all.inside += inside;
    all.errors.push_back(median(errors));
    UNSCOPED_INFO(file << ": " << errors.size() << " points, median error " << all.errors.back() << ", inside "
                       << inside);
  }
  UNSCOPED_INFO("all: " << all.inside << " of " << all.points << " inside, median of the files' medians "
                        << median(all.errors) << ", high over low " << median(all.widths));
  return all;
}

// The bounds are what was found, rounded to the worse: they hold the rule that chooses and the widths of what is lent.
TEST_CASE("an unmeasured machine's copies lie in their intervals, and these are not everything", "[unmeasured]") {
  const Met copies = met({{"p100-dgx1", "p100-dgx1/p2p-matrix"},
                          {"abci-v100", "abci-v100x4/p2p-matrix"},
                          {"dgx2", "dgx2/p2p-matrix"},
                          {"v100-dgx1", "v100-hcm/p2p-matrix"},
                          {"abci-a100", "abci-a100/p2p-matrix"},
                          {"hgx-h100", "hgx-h100/p2p-matrix"},
                          {"hgx-h200", "hgx-h200/20261121a-p2p_copy"},
                          {"gx8", "gx8/printed-copies"}});
  CHECK(copies.share() > 0.85);
  CHECK(copies.share() < 0.98);
  CHECK(median(copies.errors) < 0.2);
  CHECK(median(copies.widths) < 4.5);
}

TEST_CASE("an unmeasured machine's collectives", "[unmeasured]") {
  const Met collectives = met({{"p100-dgx1", "p100-dgx1/tartan-nccl2"},
                               {"abci-v100", "abci-v100x4/nccl-2.8"},
                               {"abci-a100", "abci-a100/nccl-2.8"},
                               {"hgx-h200", "hgx-h200/20261121a-nccl_ops"}});
  CHECK(collectives.share() > 0.85);
  CHECK(median(collectives.errors) < 0.42);
}

}  // namespace linkcast::test::stranger_test
