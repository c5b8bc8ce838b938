// Standard errors from resampled data, against closed forms of the scatter that was put in.
#include "calibrate/fit/bootstrap.hpp"

#include <cmath>
#include <random>
#include <set>

#include "calibrate/fit/fit.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/synthetic_copies.hpp"

namespace linkcast::test::bootstrap_test {

namespace {

constexpr double kStart = 9e-6, kRate = 18.5e9, kNoise = 0.01;
double line(int, int, double n) { return kStart + n / kRate; }

fit::FitResult fit(const std::vector<Measurement>& measurements, int replicas) {
  fit::FitRequest request = request_for(measurements);
  request.bootstrap = replicas;
  return fit::fit_parameters(request);
}

/// Standard errors of start-up and rate of weighted least squares with relative noise, from the normal equations.
std::pair<double, double> analytic(const Measurement& m) {
  double s = 0, sx = 0, sxx = 0;
  for (const MeasuredPoint& p : m.points) {
    const double x = p.size_B, w = 1 / std::pow(line(0, 1, x), 2);
    for (std::size_t i = 0; i < p.time_s.size(); ++i) s += w, sx += w * x, sxx += w * x * x;
  }
  const double determinant = s * sxx - sx * sx;
  return {kNoise * std::sqrt(sxx / determinant), kNoise * std::sqrt(s / determinant) * kRate * kRate};
}

}  // namespace

TEST_CASE("bootstrap of known noise gives the analytic standard error", "[unit][fit]") {
  const int repetitions = GENERATE(1, 5);
  INFO(repetitions << " repetitions a point");
  Noise noise(11, kNoise);
  const Measurement m = sweep("peer", Pairs::kPeer, line, noise, repetitions);
  const fit::FitResult result = fit({m}, 100);
  const auto [startup, rate] = analytic(m);
  const auto& startup_error = result.bootstrap.of.at("transport.peer.r0.startup_s");
  const auto& rate_error = result.bootstrap.of.at("cable.nvlink1.bandwidth_Bps");
  CHECK_THAT(startup_error.stderr_, WithinRel(startup, 0.3));
  CHECK_THAT(rate_error.stderr_, WithinRel(rate, 0.3));
  CHECK_THAT(result.covariance.at("cable.nvlink1.bandwidth_Bps"), WithinRel(rate, 0.3));
  CHECK(startup_error.replicas > 90);  // no piece is spent on noise
  CHECK(result.bootstrap.failed == 0);
}

TEST_CASE("points that differ more than their repetitions: only the bootstrap sees it", "[unit][fit]") {
  // Every point has its own 3 %, its repetitions 0.1 %. The covariance takes the 20 repetitions for independent.
  Noise between(3, 0.03), within(4, 0.001);
  Measurement m = sweep("peer", Pairs::kPeer, line, within, 20);
  for (MeasuredPoint& p : m.points) {
    const double own = between();
    for (double& t : p.time_s) t *= own;
  }
  const fit::FitResult result = fit({m}, 50);
  const std::string name = "cable.nvlink1.bandwidth_Bps";
  const double ratio = result.bootstrap.of.at(name).stderr_ / result.covariance.at(name);
  CHECK_THAT(ratio, WithinRel(std::sqrt(20), 0.35));
  const Parameter& p = *result.calibration.find(name);
  CHECK_THAT(p.stderr_, WithinRel(std::hypot(result.bootstrap.of.at(name).stderr_, 0.005 * p.value), 1e-9));
}

TEST_CASE("without bootstrap the standard error is the covariance's, and values never change", "[unit][fit]") {
  Noise noise(5, kNoise);
  const Measurement m = sweep("peer", Pairs::kPeer, line, noise, 1);
  const fit::FitResult without = fit({m}, 0), with = fit({m}, 20), again = fit({m}, 20);
  CHECK(without.bootstrap.of.empty());
  for (const auto& [name, p] : without.calibration.parameters) {
    INFO(name);
    CHECK(with.calibration.find(name)->value == p.value);
    CHECK(with.calibration.find(name)->stderr_ >= p.stderr_);
    CHECK(with.calibration.find(name)->stderr_ == again.calibration.find(name)->stderr_);
  }
  const Parameter& p = *without.calibration.find("transport.peer.r0.startup_s");
  CHECK_THAT(p.stderr_,
             WithinRel(std::hypot(without.covariance.at("transport.peer.r0.startup_s"), 0.03 * p.value), 1e-9));
}

TEST_CASE("ranges that many refits cut elsewhere say so", "[unit][fit]") {
  // A step of 1 % of the time at 64 KiB where a median of 8 GPUs scatters by 1 %; and one of a factor of 3.
  const auto step = [](double after_s) {
    return [=](int, int, double n) { return (n <= 65536 ? 3e-6 : after_s) + n / 500e9; };
  };
  Noise loud(8, 0.03), quiet(8, 0.002);
  const fit::FitResult result = fit({sweep("local", Pairs::kSelf, step(3.03e-6), loud)}, 40);
  const fit::FitResult clear = fit({sweep("local", Pairs::kSelf, step(9e-6), quiet)}, 40);
  const std::string end = "transport.local.r0.to_B";
  REQUIRE(clear.bootstrap.of.count(end) == 1);
  CHECK(clear.bootstrap.of.at(end).replicas == 40);
  CHECK(clear.bootstrap.of.at(end).stderr_ == 0);
  int fewest = 40;
  for (const auto& [name, error] : result.bootstrap.of) fewest = std::min(fewest, error.replicas);
  CHECK(fewest < 40);
}

TEST_CASE("draws: whole points, or the repetitions of a lone one, the same every time", "[unit][fit]") {
  std::vector<fit::Sample> samples;
  for (int point = 0; point < 30; ++point)
    for (int i = 0; i < 3; ++i) {
      fit::Sample s{"peer", 0, 1, -1, point < 29 ? 8.0 : 16.0, point + i / 10.0};
      s.point = point;
      samples.push_back(s);
    }
  const auto drawn = fit::resample(samples, 1), again = fit::resample(samples, 1), other = fit::resample(samples, 2);
  REQUIRE(drawn.size() == samples.size());
  std::set<double> lone;
  bool differs = false;
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    CHECK(drawn[i].time_s == again[i].time_s);
    differs = differs || drawn[i].time_s != other[i].time_s;
    if (drawn[i].size_B == 8) {
      CHECK_THAT(drawn[i].time_s - std::floor(drawn[i].time_s), WithinAbs(static_cast<double>(i % 3) / 10, 1e-9));
    } else {
      CHECK(drawn[i].time_s >= 29);
      lone.insert(drawn[i].time_s);
    }
  }
  CHECK(differs);
  CHECK(lone.size() <= 3);
  CHECK(drawn[0].time_s == std::floor(drawn[0].time_s));
}

}  // namespace linkcast::test::bootstrap_test
