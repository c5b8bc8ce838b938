// Fits on synthetic copies whose parameters are known. Times come from the closed forms written here, never from the
// simulator; noise is seeded.
#include "calibrate/fit/fit.hpp"

#include <cmath>

#include "sim/engine/solvers.hpp"
#include "sim/plan/transfer.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/error_of.hpp"
#include "tests/unit/synthetic_copies.hpp"

namespace linkcast::test::fit_test {

namespace {

constexpr double kSigmas = 3;  // standard errors within which a known parameter must be found

fit::FitResult fit(const std::vector<Measurement>& measurements) {
  return fit::fit_parameters(request_for(measurements));
}

void require_found(const Calibration& c, const std::string& name, double truth) {
  INFO(name);
  const Parameter* p = c.find(name);
  REQUIRE(p != nullptr);
  INFO("fitted " << p->value << " +- " << p->stderr_ << ", true " << truth);
  CHECK(std::abs(p->value - truth) <= kSigmas * p->stderr_);
  CHECK(p->stderr_ <= (p->unit == "s" ? 0.04 : 0.02) * truth);  // times contain 3 % between occasions
  CHECK(p->provenance == "fitted");
}

// The machine of the staged copies: rates up and down, both ways of one cable, chunk, flat part and start-up.
constexpr double kUp = 13.5e9, kDown = 10.4e9, kDuplex = 19e9, kChunk = 1048576, kFlat = 21e-6, kStart = 23e-6;
constexpr double kFlatTo_B = 16384;
constexpr int kOdd = 6;

/// One chunk goes up; then chunks go up and down at once; the last one goes down. Below a chunk nothing overlaps.
double staged_time(int source, int target, double size_B, double odd_rate) {
  if (size_B <= kFlatTo_B) return kFlat;
  const double down = target == kOdd ? odd_rate : kDown;
  const double head = std::min(size_B, kChunk);
  const double both = source / 2 == target / 2 ? std::min(down, kDuplex / 2) : down;  // one switch for each two GPUs
  return kStart + head / kUp + (size_B - head) / both + head / down;
}

/// Predictions of a fitted calibration against the closed form, without noise.
double worst_staged_error(const Calibration& calibration, double odd_rate) {
  const Platform platform(dgx1(), calibration);
  const auto solver = make_solver("fluid");
  double worst = 0;
  for (int a = 0; a < 8; ++a)
    for (int b = 0; b < 8; ++b)
      for (double size = 1024; a != b && size <= 268435456; size *= 4) {
        activities::ProblemBuilder builder(platform);
        activities::Transfer transfer;
        transfer.source = a;
        transfer.target = b;
        transfer.bytes = size;
        transfer.transport = "staged";
        builder.add(transfer);
        const double time = solver->run(builder.problem()).makespan_s;
        worst = std::max(worst, std::abs(time / staged_time(a, b, size, odd_rate) - 1));
      }
  return worst;
}

}  // namespace

TEST_CASE("start-up and rate of peer copies with 1 % noise", "[unit][fit]") {
  Noise noise(20240607, 0.01);
  const auto result = fit({sweep(
      "peer", Pairs::kPeer, [](int, int, double n) { return 9e-6 + n / 18.5e9; }, noise)});
  const Calibration& c = result.calibration;
  require_found(c, "transport.peer.r0.startup_s", 9e-6);
  require_found(c, "cable.nvlink1.bandwidth_Bps", 18.5e9);
  CHECK(c.find("transport.peer.r1.startup_s") == nullptr);  // no piece is spent on noise
  const Parameter* half = c.find("cable.nvlink1.half_bandwidth_B");
  REQUIRE(half != nullptr);
  CHECK_THAT(half->value, WithinRel(9e-6 * 18.5e9, 0.01));
  CHECK(half->provenance.rfind("derived: ", 0) == 0);
  CHECK(c.valid_from_B == 1);
  CHECK(c.valid_to_B == 268435456);
  CHECK(result.samples.size() == 32 * 29);
}

TEST_CASE("outliers of 5 % of the copies do not move the fit", "[unit][fit]") {
  Noise noise(7, 0.01), dice(8, 0);
  const auto time = [&](int, int, double n) { return (9e-6 + n / 18.5e9) * (dice.uniform() < 0.05 ? 3 : 1); };
  const auto result = fit({sweep("peer", Pairs::kPeer, time, noise)});
  require_found(result.calibration, "transport.peer.r0.startup_s", 9e-6);
  require_found(result.calibration, "cable.nvlink1.bandwidth_Bps", 18.5e9);
}

TEST_CASE("two pieces are found as two", "[unit][fit]") {
  Noise noise(99, 0.01);
  const auto time = [](int, int, double n) { return n <= 2097152 ? 3e-6 + n / 500e9 : 5e-6 + n / 250e9; };
  const Calibration c = fit({sweep("local", Pairs::kSelf, time, noise)}).calibration;
  REQUIRE(c.find("transport.local.r0.to_B") != nullptr);
  CHECK(c.find("transport.local.r0.to_B")->value == 2097152);
  CHECK(c.find("transport.local.r2.startup_s") == nullptr);
  require_found(c, "transport.local.r0.startup_s", 3e-6);
  require_found(c, "transport.local.r1.bandwidth_Bps", 250e9);
}

TEST_CASE("the shape of staged copies: flat part, chunk, both rates, both ways of one cable", "[unit][fit]") {
  Noise noise(5, 0.01);
  const auto time = [](int a, int b, double n) { return staged_time(a, b, n, kDown); };
  const Calibration c = fit({sweep("staged", Pairs::kAll, time, noise)}).calibration;
  REQUIRE(c.find("transport.staged.chunk_B") != nullptr);
  CHECK(c.find("transport.staged.chunk_B")->value == kChunk);
  REQUIRE(c.find("transport.staged.r0.to_B") != nullptr);
  CHECK(c.find("transport.staged.r0.to_B")->value == kFlatTo_B);
  require_found(c, "transport.staged.r0.flat_s", kFlat);
  require_found(c, "transport.staged.r1.startup_s", kStart);
  require_found(c, "cable.pcie3.to_host_Bps", kUp);
  require_found(c, "cable.pcie3.from_host_Bps", kDown);
  require_found(c, "cable.pcie3.duplex_Bps", kDuplex);
  CHECK(c.find("cable.qpi.flow_bandwidth_Bps") == nullptr);  // crossing sockets costs nothing here
  for (const auto& [name, p] : c.parameters) CHECK(name.rfind("link.", 0) != 0);
  CHECK(worst_staged_error(c, kDown) < 0.02);
}

TEST_CASE("one odd GPU gets its own rate and leaves its neighbour alone", "[unit][fit]") {
  const double odd = GENERATE(9e9, 11.5e9);  // slower and faster than the others
  Noise noise(6, 0.01);
  const auto time = [&](int a, int b, double n) { return staged_time(a, b, n, odd); };
  const Calibration c = fit({sweep("staged", Pairs::kAll, time, noise)}).calibration;
  require_found(c, "link.plx3->gpu6.bandwidth_Bps", odd);
  CHECK(c.find("link.plx3->gpu7.bandwidth_Bps") == nullptr);
  CHECK(c.find("link.plx2->gpu5.bandwidth_Bps") == nullptr);
  INFO("odd GPU at " << odd);
  CHECK(worst_staged_error(c, odd) < 0.02);
}

TEST_CASE("standard errors mean what they say", "[unit][fit]") {
  int inside[2] = {0, 0};
  constexpr int kRuns = 200;
  for (int run = 0; run < kRuns; ++run) {
    Noise noise(1000 + static_cast<unsigned>(run), 0.01);
    std::vector<fit::Observation> rows;
    for (double size = 1; size <= 268435456; size *= 2)
      for (int copy = 0; copy < 4; ++copy) rows.push_back({{1, size}, (9e-6 + size / 18.5e9) * noise()});
    const fit::LinearFit fit = fit::robust_fit(rows, {"start-up", "time per byte"});
    inside[0] += std::abs(fit.value[0] - 9e-6) <= 2 * fit.stderr_[0] ? 1 : 0;
    inside[1] += std::abs(fit.value[1] - 1 / 18.5e9) <= 2 * fit.stderr_[1] ? 1 : 0;
  }
  // Two standard errors hold 95.4 % of normal estimates; 200 runs scatter by 1.5 %: 4 of those below, for the weights.
  for (const int count : inside) CHECK(count >= 0.894 * kRuns);
}

TEST_CASE("an exact polynomial is found whatever the weights: NIST Wampler1 and Wampler2", "[unit][fit]") {
  // NIST Statistical Reference Datasets, linear regression, higher level of difficulty. Most of its rows (Norris,
  // Longley) certify minima of absolute residuals, where this fit minimises relative ones; rows that a polynomial fits
  // exactly have the same minimum under any weights. Certified: coefficients 1 (Wampler1) and 10^-k (Wampler2).
  for (const double base : {1.0, 0.1}) {
    std::vector<fit::Observation> rows;
    for (int x = 0; x <= 20; ++x) {
      fit::Observation o;
      for (int k = 0; k <= 5; ++k) {
        o.row.push_back(std::pow(x, k));
        o.time_s += std::pow(base * x, k);
      }
      rows.push_back(o);
    }
    const fit::LinearFit fit = fit::robust_fit(rows, {"b0", "b1", "b2", "b3", "b4", "b5"});
    for (int k = 0; k <= 5; ++k) {
      INFO("base " << base << ", power " << k);
      CHECK_THAT(fit.value[static_cast<std::size_t>(k)], WithinRel(std::pow(base, k), 1e-8));
    }
  }
}

TEST_CASE("small residuals of one size: the closed form of weighted least squares", "[unit][fit]") {
  // |residual| <= 1.345 sigma for every point, so that Huber's weights are 1 and the normal equations with weights
  // 1 / time^2 have the same solution.
  std::vector<fit::Observation> rows;
  double s = 0, sx = 0, sxx = 0, sy = 0, sxy = 0;
  for (int i = 1; i <= 12; ++i) {
    const double x = i * i, y = (2 + 3 * x) * (i % 2 ? 1.01 : 0.99), w = 1 / (y * y);
    rows.push_back({{1, x}, y});
    s += w, sx += w * x, sxx += w * x * x, sy += w * y, sxy += w * x * y;
  }
  const double determinant = s * sxx - sx * sx;
  const fit::LinearFit fit = fit::robust_fit(rows, {"a", "b"});
  CHECK_THAT(fit.value[0], WithinRel((sxx * sy - sx * sxy) / determinant, 1e-9));
  CHECK_THAT(fit.value[1], WithinRel((s * sxy - sx * sy) / determinant, 1e-9));
  CHECK(fit.samples == 12);
  CHECK_THAT(fit.stderr_[0], WithinRel(fit.sigma * std::sqrt(sxx / determinant), 1e-9));
  CHECK_THAT(fit.stderr_[1], WithinRel(fit.sigma * std::sqrt(s / determinant), 1e-9));
}

TEST_CASE("order statistics", "[unit][fit]") {
  CHECK(median({3, 1, 2}) == 2);
  CHECK(median({4, 1, 2, 3}) == 2.5);
  CHECK(median({}) == 0);
  CHECK(quantile({0, 10, 20, 30}, 0.5) == 15);
  CHECK(quantile({0, 10, 20, 30}, 1) == 30);
  CHECK(quantile({5}, 0.95) == 5);
  CHECK_THAT(fit::robust_sigma({1, 2, 3, 4, 100}, 3), WithinRel(1.4826, 1e-12));  // median of 2 1 0 1 97 is 1
  const fit::MedianEstimate estimate = fit::estimate_median({1, 2, 3, 4, 100});
  CHECK(estimate.value == 3);
  CHECK_THAT(estimate.stderr_, WithinRel(1.4826 * std::sqrt(3.14159265358979323846 / 2 / 5), 1e-12));
}

TEST_CASE("pieces: as many as the data show, times never falling", "[unit][fit]") {
  std::vector<fit::SizePoint> line, step;
  for (double size = 1; size <= 1048576; size *= 2) {
    line.push_back({size, 5e-6 + size / 1e9});
    step.push_back({size, size <= 1024 ? 5e-6 : 40e-6 + size / 1e9});
  }
  const auto one = fit::fit_pieces(line, 3);
  REQUIRE(one.size() == 1);
  CHECK_FALSE(one[0].flat);
  CHECK_THAT(one[0].startup_s, WithinRel(5e-6, 1e-9));
  CHECK_THAT(one[0].rate_Bps, WithinRel(1e9, 1e-9));
  const auto two = fit::fit_pieces(step, 3);
  REQUIRE(two.size() == 2);
  CHECK(two[0].flat);
  CHECK(two[0].to_B == 1024);
  CHECK_THAT(two[0].startup_s, WithinRel(5e-6, 1e-9));
  CHECK_THAT(two[1].startup_s, WithinRel(40e-6, 1e-9));
  CHECK(error_of([&] {
          fit::fit_pieces({line[0], line[1]}, 3);
        }) == "a curve over message sizes needs at least 3 sizes, there are 2");
}

TEST_CASE("a rate that falls with size never gives a start-up below zero", "[unit][fit]") {
  Noise noise(3, 0.01);
  const auto time = [](int, int, double n) { return n < 1048576 ? 1e-6 + n / 40e9 : n / 10e9 - 50e-6; };
  for (const Pairs pairs : {Pairs::kPeer, Pairs::kSelf}) {
    const std::string transport = pairs == Pairs::kPeer ? "peer" : "local";
    try {
      for (const auto& [name, p] : fit({sweep(transport, pairs, time, noise)}).calibration.parameters) {
        INFO(name);
        CHECK(p.value >= 0);
      }
    } catch (const InputError& error) {  // or the fit says that it cannot
      CHECK(std::string(error.what()) == "the time per byte of " + transport +
                                             " copies grows with their size: no start-up of 0 s or more fits them");
    }
  }
}

TEST_CASE("fits refuse what the data cannot tell", "[unit][fit]") {
  CHECK(error_of([] {
          fit::robust_fit({{{1, 8}, 1e-6}}, {"start-up", "time per byte"});
        }) == "a fit of 2 parameters (start-up, ...) needs at least as many points, there are 1");
  CHECK(error_of([] {
          fit::robust_fit({{{1, 8}, 1e-6}, {{1, 8}, 2e-6}, {{1, 8}, 3e-6}}, {"start-up", "time per byte"});
        }) == "the measurements cannot tell apart: start-up, time per byte (more message sizes are needed)");
  CHECK(error_of([] { fit({}); }) == "calibrate fit: no measurement given");
  Noise quiet(1, 0);
  Measurement other = sweep(
      "peer", Pairs::kPeer, [](int, int, double n) { return 1e-6 + n / 1e9; }, quiet);
  other.topology = "dgx2";
  CHECK(error_of([&] { fit({other}); }) == "synthetic.json:/topology: is 'dgx2', the fit is for 'p100-dgx1'");
  const auto line = sweep(
      "staged", Pairs::kAll, [](int, int, double n) { return 2e-5 + n / 1e10; }, quiet);
  CHECK(error_of([&] { fit({line}); }) ==
        "synthetic.json: the staged copies show no chunked pipeline: sizes from 1 KiB to 64 MiB are needed");
  const auto falling = sweep(
      "peer", Pairs::kPeer, [](int, int, double n) { return 1e-5 / std::sqrt(n); }, quiet);
  CHECK(error_of([&] { fit({falling}); }) ==
        "synthetic.json: the time of peer copies does not grow with their size: larger copies are needed");
}

}  // namespace linkcast::test::fit_test
