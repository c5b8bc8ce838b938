// What a printed mean over pairs far apart says of ways between switches.
#include "calibrate/fit/fit.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/error_of.hpp"

namespace linkcast::test::distance_fit_test {

namespace {

constexpr double kNear_s = 4.33e-6, kFar_s = 5.56e-6, kFarther_s = 0.8e-6;
const std::string kScale = "cable.slingshot.latency_scale";

fit::FitRequest request(const Topology& topology, double mean_s) {
  const std::string folder = test::data_dir() + "/calibrate/data/alps/";
  fit::FitRequest made;
  made.name = topology.name;
  made.topology = &topology;
  made.measurements.push_back(read_measurement(folder + "printed-internode.json"));
  made.measurements.push_back(read_measurement(folder + "printed-distance.json"));
  made.measurements.back().spreads.at(0).mean_time_s = mean_s;
  made.distances = {{"other group", {kFarther_s, 3}}};
  return made;
}

const Topology& alps() {
  static const Topology topology = read_topology(test::data_dir() + "/topologies/alps.json");
  return topology;
}

}  // namespace

TEST_CASE("the scale of ways between switches meets the printed mean", "[unit][fit]") {
  const fit::FitResult result = fit::fit_parameters(request(alps(), kFar_s));
  const Parameter* scale = result.calibration.find(kScale);
  REQUIRE(scale != nullptr);
  CHECK_THAT(scale->value, WithinRel((kFar_s - kNear_s) / kFarther_s, 1e-3));
  CHECK(scale->stderr_ > 0.05 * scale->value);
}

TEST_CASE("a machine with the same cables takes the scale, one that lends none does not", "[unit][fit]") {
  fit::FitRequest other = request(alps(), kFar_s);
  other.measurements.pop_back();
  CHECK(fit::fit_parameters(other).calibration.find(kScale) == nullptr);
  other.inherited.push_back(fit::fit_parameters(request(alps(), kFar_s)).calibration);
  const fit::FitResult result = fit::fit_parameters(other);
  const Parameter* scale = result.calibration.find(kScale);
  REQUIRE(scale != nullptr);
  CHECK(scale->provenance == "inherited:alps");
}

TEST_CASE("a mean below that of neighbours, or of no distance, is refused", "[unit][fit]") {
  CHECK_THROWS_AS(fit::fit_parameters(request(alps(), 0.9 * kNear_s)), InputError);
  fit::FitRequest nowhere = request(alps(), kFar_s);
  nowhere.distances.clear();
  CHECK_THROWS_AS(fit::fit_parameters(nowhere), InputError);
}

}  // namespace linkcast::test::distance_fit_test
