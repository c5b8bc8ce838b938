// Outliers and two modes: found where they were put, and nowhere else.
#include "calibrate/fit/suspicious.hpp"

#include "calibrate/fit/fit.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/synthetic_copies.hpp"

namespace linkcast::test::suspicious_test {

namespace {

std::vector<double> times(Noise& noise, int low, double low_s, int high = 0, double high_s = 0) {
  std::vector<double> list;
  for (int i = 0; i < low; ++i) list.push_back(low_s * noise());
  for (int i = 0; i < high; ++i) list.push_back(high_s * noise());
  return list;
}

}  // namespace

TEST_CASE("two modes of known times and shares", "[unit][fit]") {
  Noise noise(1, 0.01);
  for (const int high : {4, 10, 16}) {
    fit::TwoModes modes;
    REQUIRE(fit::find_two_modes(times(noise, 20 - high, 15.6e-6, high, 20.2e-6), modes));
    CHECK_THAT(modes.low_s, WithinRel(15.6e-6, 0.01));
    CHECK_THAT(modes.high_s, WithinRel(20.2e-6, 0.01));
    CHECK_THAT(modes.high_share, WithinAbs(high / 20.0, 1e-12));
  }
  fit::TwoModes modes;
  CHECK_FALSE(fit::find_two_modes(times(noise, 18, 15.6e-6, 2, 20.2e-6), modes));  // two of 20 are outliers
  CHECK(fit::find_outliers(times(noise, 18, 15.6e-6, 2, 20.2e-6)).size() == 2);
  Noise fine(2, 0.001);
  CHECK_FALSE(fit::find_two_modes(times(fine, 10, 1e-5, 10, 1.03e-5), modes));  // 3 % apart: does not matter
  CHECK_FALSE(fit::find_two_modes(times(noise, 5, 1e-5, 5, 2e-5), modes));      // ten repetitions tell nothing
  std::vector<double> with_outlier = times(noise, 10, 15.6e-6, 9, 20.2e-6);
  with_outlier.push_back(80e-6);
  CHECK(fit::find_two_modes(with_outlier, modes));
}

TEST_CASE("clean repetitions raise no alarm", "[unit][fit]") {
  for (const double sigma : {0.001, 0.01, 0.05, 0.2}) {
    Noise noise(33, sigma);
    int two = 0, outliers = 0;
    constexpr int kPoints = 2000;
    for (int point = 0; point < kPoints; ++point) {
      const auto list = times(noise, 20, 1e-5);
      fit::TwoModes modes;
      two += fit::find_two_modes(list, modes) ? 1 : 0;
      outliers += static_cast<int>(fit::find_outliers(list).size());
    }
    INFO("noise " << sigma);
    CHECK(two <= kPoints / 100);
    CHECK(outliers <= 20 * kPoints / 1000);  // 1 in 1000: the deviation of 20 times is itself uncertain
  }
}

TEST_CASE("points are grouped by transport, timing and size", "[unit][fit]") {
  Noise noise(4, 0.002);
  Measurement m = sweep(
      "peer", Pairs::kPeer, [](int, int, double n) { return 9e-6 + n / 18.5e9; }, noise, 12);
  int pairs = 0;
  for (MeasuredPoint& p : m.points) {
    if (p.size_B == 1 && ++pairs <= 5)
      for (std::size_t i = 0; i < 4; ++i) p.time_s[i] *= 1.4;
    if (p.size_B == 1024 && p.source == "gpu0") p.time_s[0] *= 3;
  }
  const auto found = fit::fit_parameters(request_for({m})).suspicious;
  REQUIRE(found.size() == 29);
  for (const fit::Suspicious& g : found) {
    INFO(g.size_B);
    CHECK(g.points == 32);
    CHECK(g.two_modes == (g.size_B == 1 ? 5 : 0));
    CHECK(g.outliers == (g.size_B == 1024 ? 4 : 0));
  }
  CHECK_THAT(found[0].high_s / found[0].low_s, WithinRel(1.4, 0.01));
  const auto lines = fit::lines_of(found);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].find("peer: one of two times at 5 of 928 points, 1 B, e.g. ") == 0);
  CHECK(lines[0].find(" at 1 B; 4 outliers at 4 of 928 points, up to ") != std::string::npos);
  const Json json = fit::to_json(found, 1);
  CHECK(json["groups"].size() == 1);
  CHECK(json["groups"][0]["two_modes"]["points"] == 5);
  CHECK(json["groups_left_out"] == 1);
}

TEST_CASE("the worst outlier is the one farthest off, below as above", "[unit][fit]") {
  for (const auto& [first, second] : {std::pair(0.25, 3.0), {3.0, 0.25}, {0.5, 4.0}}) {
    std::vector<fit::Sample> samples;
    for (int point = 0; point < 2; ++point)
      for (int i = 0; i < 11; ++i) {
        fit::Sample& s = samples.emplace_back();
        s.transport = "peer";
        s.size_B = 1024;
        s.point = point;
        s.time_s = 1e-5 * (i == 5 ? point == 0 ? first : second : 1 + 1e-4 * i);
      }
    const auto found = fit::find_suspicious(samples);
    REQUIRE(found.size() == 1);
    CHECK(found[0].outliers == 2);
    CHECK_THAT(found[0].worst, WithinRel(first * second > 1 ? 4 : 0.25, 0.01));
  }
}

TEST_CASE("8 H200: staged copies from rest take one of two times, pulled ones too", "[unit][fit]") {
  const std::string root = test::data_dir(), data = root + "/calibrate/data/hgx-h200/20261121a-";
  const Topology topology = read_topology(root + "/topologies/hgx-h200.json");
  fit::FitRequest request =
      request_for({read_measurement(data + "p2p_copy_single.json"), read_measurement(data + "host_copy.json")});
  request.topology = &topology;
  int staged = 0, staged_points = 0, pulled = 0;
  for (const fit::Suspicious& g : fit::fit_parameters(request).suspicious) {
    if (g.transport == "staged" && g.size_B < 65536) {
      staged += g.two_modes;
      staged_points += g.points;
    }
    if (g.transport == "peer_read") pulled += g.two_modes;
  }
  CHECK(staged > staged_points / 2);
  CHECK(pulled > 0);
}

}  // namespace linkcast::test::suspicious_test
