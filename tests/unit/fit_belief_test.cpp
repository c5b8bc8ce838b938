// What a fit says of itself, in closed form: parameters from data and belief, errors of refits, quality and scatter of
// its own data, and what half of two draws shows of one.
#include <algorithm>
#include <cmath>

#include "calibrate/fit/fit.hpp"
#include "calibrate/fit/fit_record.hpp"
#include "calibrate/fit/map_fit.hpp"
#include "calibrate/fit/noise_fit.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/synthetic_copies.hpp"

namespace linkcast::test::fit_belief_test {

TEST_CASE("parameters from data and belief: the closed form of the normal distribution", "[unit][fit]") {
  // one unknown, n points of error ln(v / truth); small errors, so that no point counts less
  for (const std::size_t n : {1U, 3U, 12U}) {
    const double spread = 0.5, off = 0.1;
    fit::MapRequest request;
    request.unknowns = {{"v", {2, spread}}};
    request.points = n;
    request.depending.emplace_back();
    for (std::size_t i = 0; i < n; ++i) request.depending[0].push_back(i);
    request.log_error = [off](std::size_t, const std::vector<double>& v) { return std::log(v[0] / 2) - off; };
    const fit::MapResult found = fit::fit_map(request);
    // points that agree: an error of 0.03 is a standard deviation, the least
    const double weight = static_cast<double>(n) * spread * spread / (0.03 * 0.03);
    const double at = weight / (weight + 1) * off;  // logarithm over what was believed
    CHECK_THAT(std::log(found.estimates[0].value / 2), WithinRel(at, 1e-3));
    // neighbours of a curve count as a third
    const double share = 1 / std::sqrt(weight / 3 + 1);
    CHECK_THAT(found.estimates[0].spread, WithinRel(share * spread, 1e-3));
    CHECK(found.estimates[0].determined == (share < 2.0 / 3));
  }
  // 1 / sqrt(w / 3 + 1) is two thirds at w = 3.75
  const auto determined = [](double spread) {
    fit::MapRequest request;
    request.unknowns = {{"v", {1, spread}}};
    request.points = 1;
    request.depending = {{0}};
    request.log_error = [](std::size_t, const std::vector<double>& v) { return std::log(v[0]); };
    return fit::fit_map(request).estimates[0].determined;
  };
  CHECK(determined(0.03 * std::sqrt(3.85)));
  CHECK_FALSE(determined(0.03 * std::sqrt(3.65)));
}

TEST_CASE("parameters from data and belief: points weigh by what they scatter by", "[unit][fit]") {
  // half of the points are 6 % above the belief, half as much below: a standard deviation of 0.06 / 1.645
  constexpr std::size_t kPoints = 40;
  const auto spread_of = [](double off) {
    fit::MapRequest request;
    request.unknowns = {{"v", {2, 0.5}}};
    request.points = kPoints;
    request.depending.emplace_back();
    for (std::size_t i = 0; i < kPoints; ++i) request.depending[0].push_back(i);
    request.log_error = [off](std::size_t i, const std::vector<double>& v) {
      return std::log(v[0] / 2) + (i % 2 == 0 ? off : -off);
    };
    return fit::fit_map(request).estimates[0].spread;
  };
  const auto closed = [](double sigma) { return 0.5 / std::sqrt(kPoints * 0.25 / (3 * sigma * sigma) + 1); };
  CHECK_THAT(spread_of(0.06), WithinRel(closed(0.06 / 1.645), 1e-3));
  CHECK_THAT(spread_of(0.3), WithinRel(closed(0.3 / 1.645), 1e-3));  // beyond 0.1 too
  CHECK_THAT(spread_of(0.01), WithinRel(closed(0.03), 1e-3));
}

TEST_CASE("parameters from data and belief: correlations, and errors beyond 1.345 standard deviations", "[unit][fit]") {
  // a point shows a + b, another one 2 a, of unit spreads 0.3 and 0.5
  fit::MapRequest request;
  request.unknowns = {{"a", {1, 0.3}}, {"b", {1, 0.5}}};
  request.points = 2;
  request.depending = {{0, 1}, {0}};
  request.log_error = [](std::size_t i, const std::vector<double>& v) {
    return i == 0 ? std::log(v[0]) + std::log(v[1]) : 2 * std::log(v[0]);
  };
  const fit::MapResult found = fit::fit_map(request);
  const double j[2][2] = {{0.3, 0.5}, {0.6, 0}};  // of the errors by the unknowns, in spreads
  double m[2][2];
  for (int r = 0; r < 2; ++r)
    for (int c = 0; c < 2; ++c)
      m[r][c] = (j[0][r] * j[0][c] + j[1][r] * j[1][c]) / (0.03 * 0.03 * 3) + (r == c ? 1 : 0);
  const double determinant = m[0][0] * m[1][1] - m[0][1] * m[1][0];
  CHECK_THAT(found.correlation[0][1], WithinRel(-m[0][1] / std::sqrt(m[0][0] * m[1][1]), 1e-4));
  CHECK_THAT(found.estimates[0].spread, WithinRel(0.3 * std::sqrt(m[1][1] / determinant), 1e-4));
  CHECK_THAT(found.estimates[1].spread, WithinRel(0.5 * std::sqrt(m[0][0] / determinant), 1e-4));
  // one far point pulls with 1.345 / 0.1 and no more: at / spread = pull, in spreads of the belief
  fit::MapRequest far;
  far.unknowns = {{"v", {1, 0.01}}};
  far.points = 1;
  far.depending = {{0}};
  far.log_error = [](std::size_t, const std::vector<double>& v) { return std::log(v[0]) - 2; };
  CHECK_THAT(std::log(fit::fit_map(far).estimates[0].value), WithinRel(1.345 / 0.1 * 0.01 * 0.01, 1e-3));
}

TEST_CASE("the quality of a fit: errors, scatter by size, residuals, by hand", "[unit][fit]") {
  fit::FitResult result;
  result.calibration.valid_to_B = 1e9;
  const auto add = [&](const char* transport, double size_B, double time_s, bool both, double precision) {
    fit::Sample s{transport, 0, 1, -1, size_B, time_s};
    s.both = both;
    s.precision = precision;
    s.point = static_cast<int>(result.samples.size());
    result.samples.push_back(s);
  };
  for (const double off : {1.1, 0.8, 1.05}) add("peer", 1024, off, false, 0.03);
  add("peer", 1025, 2, false, 0);
  add("h2d", 1e9, 1.5, true, 0);
  fit::assess(result, [](const fit::Sample&) { return 1.0; });
  REQUIRE(result.quality.size() == 2);
  CHECK(result.quality[0].transport == "h2d, both ways");
  CHECK_THAT(result.quality[0].median_error, WithinRel(1 / 3.0, 1e-12));
  CHECK(result.quality[1].samples == 4);
  // |1 - t| / t of 1.1, 0.8, 1.05, 2
  CHECK_THAT(result.quality[1].median_error, WithinRel((0.1 / 1.1 + 0.25) / 2, 1e-12));
  REQUIRE(result.calibration.scatter.size() == 3);
  CHECK(result.calibration.scatter[0].transport == "h2d.bidirectional");
  CHECK_THAT(result.calibration.scatter[0].sigma_log, WithinRel(std::log(1.5) / 1.645, 1e-5));
  const Scatter& small = result.calibration.scatter[1];
  CHECK(small.from_B == 0);
  CHECK(small.to_B == 1024);
  CHECK(small.samples == 3);
  const double a = std::log(1.1), b = -std::log(0.8), c = std::log(1.05);
  const double rms = std::sqrt((a * a + b * b + c * c) / 3), ninety = (a + 0.8 * (b - a)) / 1.645;
  CHECK_THAT(small.sigma_log, WithinRel(std::hypot(std::min(rms, ninety), 0.03), 1e-5));
  CHECK(result.calibration.scatter[2].from_B == 1024);
  CHECK(result.calibration.scatter[2].to_B == 16384);
  CHECK_THAT(result.calibration.scatter[2].sigma_log, WithinRel(std::log(2) / 1.645, 1e-5));

  const Json report = fit::residual_report(result, dgx1(), [](const fit::Sample&) { return 1.0; });
  REQUIRE(report["points"].size() == 5);
  CHECK_THAT(report["points"][1]["residual"].get<double>(), WithinRel(0.8 - 1, 1e-12));
  CHECK(report["points"][4]["both_ways"] == true);
  CHECK(report["points"][0]["source"] == "gpu0");
}

TEST_CASE("the bootstrap's error counts from ten refits on, or from all of fewer", "[unit][fit]") {
  const auto error = [](int replicas, int tried) {
    fit::Bootstrap bootstrap;
    bootstrap.replicas = tried;
    bootstrap.of["x"] = {0.5, replicas};
    return bootstrap.stderr_of("x");
  };
  CHECK(error(9, 40) == 0);
  CHECK(error(10, 40) == 0.5);
  CHECK(error(5, 5) == 0.5);
  CHECK(error(4, 5) == 0);
  CHECK(fit::Bootstrap().stderr_of("x") == 0);
}

TEST_CASE("half of two draws: even ones in closed form", "[unit][fit]") {
  // uniform on [0, 1]: the sum of two has a triangular density
  const fit::OneWay even{[](double u) { return u; }, [](double x) { return std::clamp(x, 0.0, 1.0); }};
  for (const double x : {0.1, 0.3, 0.5, 0.8}) {
    const double above = x < 0.5 ? 1 - 2 * x * x : 2 * (1 - x) * (1 - x);
    CHECK_THAT(fit::half_sum_above(even, x), WithinAbs(above, 1e-3));
  }
  // the median of the largest of n: half_sum_above = 1 - 2^(-1/n)
  for (const int n : {1, 10, 1000}) {
    const double above = 1 - std::pow(0.5, 1.0 / n);
    CHECK_THAT(fit::largest_half_sum(even, n, 0, 1), WithinAbs(1 - std::sqrt(above / 2), 2e-3));
  }
  // mean of 2 / (x + y) over [1, 2]^2: 2 (4 ln 4 - 6 ln 3 + 2 ln 2) = 2 x the integral of 1 / (x + y)
  const fit::OneWay shifted{[](double u) { return 1 + u; }, [](double x) { return std::clamp(x - 1, 0.0, 1.0); }};
  const double integral = 4 * std::log(4) - 6 * std::log(3) + 2 * std::log(2);
  CHECK_THAT(fit::mean_inverse_half_sum(shifted), WithinRel(2 * integral, 1e-4));
  CHECK_THAT(fit::root_of([](double x) { return x * x - 2; }, 0, 2), WithinRel(std::sqrt(2), 1e-8));
}

}  // namespace linkcast::test::fit_belief_test
