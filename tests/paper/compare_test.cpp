// Predictions against committed measurements, point by point.
#include "validate/compare.hpp"

#include "tests/support/catch.hpp"

namespace linkcast::test::compare_test {

namespace {
const std::string kData = test::data_dir();
}

TEST_CASE("a comparison groups by transport and size, and knows what was fitted", "[paper]") {
  catalogue::Catalogue catalogue(kData);
  const Measurement measurement = read_measurement(kData + "/calibrate/data/p100-dgx1/p2p-matrix.json");
  const validate::Comparison comparison = validate::compare(catalogue, measurement, {});
  CHECK(comparison.platform == "p100-dgx1");
  CHECK(comparison.unanswered.empty());
  CHECK(comparison.fitted);
  CHECK(comparison.within_limits());
  std::size_t points = 0;
  for (const validate::CompareGroup& group : comparison.groups) {
    points += static_cast<std::size_t>(group.points);
    CHECK(group.p95_error >= group.median_error);
  }
  CHECK(points == measurement.points.size());
  CHECK(comparison.worst.size() == 5);
  const Json listed = validate::to_json(comparison, true)["points"];
  REQUIRE(listed.size() == comparison.points.size());
  for (std::size_t i = 0; i < listed.size(); ++i)
    CHECK(listed[i]["held_out"].get<bool>() == !comparison.points[i].determined);
  CHECK_FALSE(validate::compare(catalogue, measurement, {0.0, std::nullopt}).within_limits());
  CHECK(validate::compare(catalogue, measurement, {10.0, 10.0}).within_limits());
}

TEST_CASE("a copy that was changed after the fit is held out, and its error shows", "[paper]") {
  catalogue::Catalogue catalogue(kData);
  Measurement measurement = read_measurement(kData + "/calibrate/data/p100-dgx1/p2p-matrix.json");
  measurement.sha256 = "another file";
  for (MeasuredPoint& point : measurement.points)
    for (double& time : point.time_s) time *= 2;
  const validate::Comparison comparison = validate::compare(catalogue, measurement, {0.1, std::nullopt});
  CHECK_FALSE(comparison.fitted);
  CHECK_FALSE(comparison.within_limits());
  for (const validate::CompareGroup& group : comparison.groups) CHECK(group.median_error > 0.3);
  const Json written = validate::to_json(comparison);
  for (const Json& group : written["groups"]) CHECK_FALSE(group["fitted"].get<bool>());
}

TEST_CASE("a measurement of an unknown machine is an input error", "[paper]") {
  catalogue::Catalogue catalogue(kData);
  Measurement measurement = read_measurement(kData + "/calibrate/data/p100-dgx1/p2p-matrix.json");
  measurement.topology = "abacus";
  CHECK_THROWS_AS(validate::compare(catalogue, measurement, {}), InputError);
}

TEST_CASE("messages between processes are compared with their curves", "[paper]") {
  catalogue::Catalogue catalogue(kData);
  for (const char* file : {"summitdev/internode-pinned-gpudirect.json", "summitdev/internode-gpudirect-rdma.json",
                           "summit/mpi-cpu.json", "lassen/mpi-gpu.json"}) {
    INFO(file);
    Measurement measurement = read_measurement(kData + "/calibrate/data/" + file);
    const validate::Comparison comparison = validate::compare(catalogue, measurement, {0.15, std::nullopt});
    CHECK(comparison.unanswered.empty());
    CHECK(comparison.points.size() == measurement.points.size());
    CHECK(comparison.within_limits());  // a curve goes through its data; both rails of Summit are 11 % off
    for (const validate::CompareGroup& group : comparison.groups) CHECK(group.fitted);
    measurement.sha256 = "another file";
    CHECK(validate::compare(catalogue, measurement, {}).held_out.points == static_cast<int>(measurement.points.size()));
  }
}

TEST_CASE("copies that the fit left out are held out, though their file is one of its sources", "[paper]") {
  catalogue::Catalogue catalogue(kData);
  const Measurement measurement = read_measurement(kData + "/calibrate/data/v100-hcm/p2p-matrix.json");
  const validate::Comparison comparison = validate::compare(catalogue, measurement, {});
  CHECK(comparison.fitted);
  REQUIRE(comparison.groups.size() == 2);
  for (const validate::CompareGroup& group : comparison.groups) {
    INFO(group.transport);
    CHECK(group.fitted == (group.transport == "peer"));
  }
}

TEST_CASE("collectives that a fit learned from are not called held out", "[paper]") {
  catalogue::Catalogue catalogue(kData);
  for (const char* file : {"dgx-b200/nccl-2.29.json", "l40s/nccl-2.27.json", "hgx-h100/20261126i-nccl_base.json"}) {
    INFO(file);
    Measurement measurement = read_measurement(kData + "/calibrate/data/" + file);
    measurement.collectives.resize(40);
    CHECK(validate::compare(catalogue, measurement, {}).held_out.points == 0);
    measurement.sha256 = "another file";
    CHECK(validate::compare(catalogue, measurement, {}).held_out.points == 40);
  }
}

}  // namespace linkcast::test::compare_test
