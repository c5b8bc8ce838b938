// Parameters from data and from what was believed, on models whose parameters are known.
#include "calibrate/fit/map_fit.hpp"

#include <cmath>

#include "calibrate/learn/prior_check.hpp"
#include "tests/support/catch.hpp"

namespace linkcast::test::map_fit_test {

namespace {

using Values = std::vector<double>;

/// Times of sizes 1, 2, 4, ... by start-up + size / rate, or a cap on the rate.
fit::MapRequest request(const std::vector<fit::Unknown>& unknowns, std::size_t points,
                        const std::function<double(double size, const Values&)>& model, const Values& truth) {
  fit::MapRequest made;
  made.unknowns = unknowns;
  made.points = points;
  for (std::size_t k = 0; k < unknowns.size(); ++k) {
    made.depending.emplace_back();
    for (std::size_t i = 0; i < points; ++i) made.depending.back().push_back(i);
  }
  made.log_error = [model, truth](std::size_t i, const Values& values) {
    const double size = std::exp2(static_cast<double>(i));
    return std::log(model(size, values) / model(size, truth));
  };
  return made;
}

double line(double size, const Values& v) { return v[0] + size / v[1]; }

}  // namespace

TEST_CASE("data that determine all parameters overrule what was believed") {
  const fit::MapResult result = fit::fit_map(request({{"startup", {2, 0.7}}, {"rate", {30, 0.7}}}, 16, line, {5, 100}));
  CHECK_THAT(result.estimates[0].value, WithinRel(5, 0.02));
  CHECK_THAT(result.estimates[1].value, WithinRel(100, 0.02));
  CHECK(result.estimates[0].determined);
  CHECK(result.estimates[1].determined);
  CHECK(result.sigma < 0.02);
  CHECK(result.estimates[0].spread < 0.2);
}

TEST_CASE("two parameters of which the data show the sum pull against each other") {
  const auto sum = [](double, const Values& v) { return v[0] + v[1]; };
  const fit::MapResult result = fit::fit_map(request({{"a", {3, 0.5}}, {"b", {3, 0.5}}}, 12, sum, {4, 4}));
  REQUIRE(result.correlation.size() == 2);
  CHECK(result.correlation[0][1] < -0.8);
  CHECK_THAT(result.correlation[1][0], WithinRel(result.correlation[0][1], 1e-9));
  CHECK_THAT(result.correlation[0][0], WithinRel(1, 1e-9));
}

TEST_CASE("what the data do not touch stays where it was believed, as uncertain as before") {
  const fit::MapResult result = fit::fit_map(
      request({{"startup", {2, 0.7}}, {"other", {7, 0.5}}}, 12, [](double, const Values& v) { return v[0]; }, {5, 1}));
  CHECK_THAT(result.estimates[1].value, WithinRel(7, 1e-9));
  CHECK_THAT(result.estimates[1].spread, WithinRel(0.5, 1e-6));
  CHECK_FALSE(result.estimates[1].determined);
}

TEST_CASE("a cap that does not limit at first is found, though it shows no slope there") {
  const auto capped = [](double size, const Values& v) { return v[0] + size / std::min(50.0, v[1]); };
  const fit::MapResult result =
      fit::fit_map(request({{"startup", {3, 0.3}}, {"cap", {900, 1.5}}}, 16, capped, {3, 10}));
  CHECK_THAT(result.estimates[1].value, WithinRel(10, 0.03));
  CHECK(result.estimates[1].determined);
}

TEST_CASE("one wrong point does not move the fit") {
  fit::MapRequest good = request({{"startup", {2, 0.7}}, {"rate", {30, 0.7}}}, 16, line, {5, 100});
  const auto exact = good.log_error;
  good.log_error = [exact](std::size_t i, const Values& values) { return exact(i, values) + (i == 8 ? 1.5 : 0); };
  const fit::MapResult result = fit::fit_map(good);
  CHECK_THAT(result.estimates[1].value, WithinRel(100, 0.1));
  CHECK_THAT(result.log_errors[8], WithinAbs(1.5, 0.3));
}

TEST_CASE("heavy tails: data may take a parameter far away, and near the prior they change nothing") {
  const auto fitted = [](double truth, std::size_t points, bool heavy) {
    const auto model = [](double, const Values& v) { return v[0]; };
    return fit::fit_map(request({{"rate", {30, 0.3}, heavy}}, points, model, {truth})).estimates[0];
  };
  CHECK(fitted(2.7, 12, false).value > 8);  // four spreads: 9.04
  CHECK_THAT(fitted(2.7, 12, true).value, WithinRel(2.7, 0.02));
  CHECK(fitted(2.7, 12, true).determined);
  CHECK_THAT(fitted(27, 3, true).value, WithinRel(fitted(27, 3, false).value, 0.01));
  CHECK(fitted(2.7, 1, true).value < 4);  // a cap that nothing else explains
}

TEST_CASE("the same request gives the same digits") {
  const fit::MapRequest asked = request({{"startup", {2, 0.7}}, {"rate", {30, 0.7}}}, 16, line, {5, 100});
  const fit::MapResult a = fit::fit_map(asked), b = fit::fit_map(asked);
  for (std::size_t k = 0; k < 2; ++k) {
    CHECK(a.estimates[k].value == b.estimates[k].value);
    CHECK(a.estimates[k].spread == b.estimates[k].spread);
  }
}

TEST_CASE("data that scatter little count more than their priors", "[unit][fit]") {
  const auto constant = [](double, const Values& v) { return v[0]; };
  const auto with_scatter = [&](double scatter) {
    fit::MapRequest noisy = request({{"value", {1, 0.1}}}, 9, constant, {1.3});
    const auto exact = noisy.log_error;
    noisy.log_error = [exact, scatter](std::size_t i, const Values& values) {
      return exact(i, values) + (i % 2 == 0 ? scatter : -scatter);
    };
    return fit::fit_map(noisy).estimates[0];
  };
  const fit::MapEstimate narrow = with_scatter(0.02), wide = with_scatter(0.2);
  CHECK_THAT(narrow.value, WithinRel(1.3, 0.02));
  CHECK(wide.value < narrow.value);
  CHECK(narrow.spread < 0.5 * wide.spread);
}

TEST_CASE("a search may go on from where another one ended", "[unit][fit]") {
  fit::MapRequest noisy = request({{"startup", {2, 0.7}}, {"rate", {30, 0.7}}}, 16, line, {5, 100});
  noisy.from = {5, 100};
  const fit::MapResult result = fit::fit_map(noisy);
  CHECK_THAT(result.estimates[0].value, WithinRel(5, 0.02));
  CHECK_THAT(result.estimates[1].value, WithinRel(100, 0.02));
}

TEST_CASE("parts of a library that data make no better stay as they were", "[unit][fit]") {
  // of the ring the data know better; what two thirds of the messages show leads away from the last third
  constexpr double kOff[] = {0.12, -0.06, -0.06};
  fit::MapRequest parts;
  parts.unknowns = {{"nccl.ring.LL@2.27.base_s", {1, 0.3}}, {"nccl.sendrecv@2.27.base_s", {1, 0.3}}};
  parts.points = 21;
  parts.depending.resize(2);
  for (std::size_t i = 0; i < parts.points; ++i) parts.depending[i < 12 ? 0 : 1].push_back(i);
  parts.log_error = [&](std::size_t i, const Values& values) {
    return std::log(values[i < 12 ? 0 : 1]) - (i < 12 ? std::log(1.5) : kOff[i % 3]);
  };
  const auto left = learn::no_better_than_prior(parts, fit::fit_map(parts));
  REQUIRE(left.size() == 1);
  CHECK(left[0].of == "nccl.sendrecv@2.27");
  CHECK(left[0].points == 9);
  CHECK_THAT(left[0].prior, WithinRel(0.08, 1e-9));
  CHECK(left[0].learned > 0.1);  // towards 0.03, two thirds' mean, as far as Huber's loss pulls
  CHECK(left[0].unknowns == std::vector<std::size_t>{1});
  // the prior is what the data show: learning it again is no worse
  parts.unknowns[0].prior.value = 1.5;
  CHECK(learn::no_better_than_prior(parts, fit::fit_map(parts)).size() == 1);
}

TEST_CASE("a fit that gains little on its own points leaves a part as it was", "[unit][fit]") {
  const auto left_where_prior_is_off_by = [](double off) {
    constexpr double kScatter[] = {0.1, -0.1, 0, 0};
    fit::MapRequest part;
    part.unknowns = {{"nccl.sendrecv@2.27.base_s", {1, 0.3}}};
    part.points = 24;
    part.depending.resize(1);
    for (std::size_t i = 0; i < part.points; ++i) part.depending[0].push_back(i);
    part.log_error = [off, kScatter](std::size_t i, const Values& values) {
      return std::log(values[0]) - off - kScatter[i % 4];
    };
    return learn::no_better_than_prior(part, fit::fit_map(part));
  };
  CHECK(left_where_prior_is_off_by(0.02).empty());  // a mean error of 0.06 becomes 0.05
  const auto left = left_where_prior_is_off_by(0.003);
  REQUIRE(left.size() == 1);
  CHECK(left[0].learned < left[0].prior);
}

}  // namespace linkcast::test::map_fit_test
