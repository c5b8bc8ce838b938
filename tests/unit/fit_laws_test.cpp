// Fits of data made from a law: every parameter, error bar and threshold worked out beside it.
#include <cmath>
#include <limits>

#include "calibrate/fit/fit.hpp"
#include "calibrate/fit/message_fit.hpp"
#include "calibrate/fit/staged_fit.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/synthetic_copies.hpp"

namespace linkcast::test::fit_laws_test {

namespace {

constexpr double kRates = 0.005, kStarts = 0.03;  // between occasions: part of every standard error

Topology shipped(const std::string& name) { return read_topology(test::data_dir() + "/topologies/" + name + ".json"); }

const Parameter& parameter(const fit::FitResult& result, const std::string& name) {
  INFO(name);
  REQUIRE(result.calibration.find(name) != nullptr);
  return *result.calibration.find(name);
}

MeasuredPoint point(const std::string& transport, const std::string& from, const std::string& to, double size_B,
                    double time_s) {
  MeasuredPoint made;
  made.transport = transport;
  made.source = from;
  made.target = to;
  made.size_B = size_B;
  made.time_s = {time_s};
  return made;
}

Measurement measurement(const Topology& topology, const std::vector<MeasuredPoint>& points) {
  Measurement m;
  m.path = "synthetic.json";
  m.topology = topology.name;
  m.points = points;
  return m;
}

fit::FitResult fitted(const Topology& topology, const std::vector<Measurement>& measurements,
                      const std::vector<Calibration>& inherited = {}) {
  fit::FitRequest request;
  request.name = topology.name;
  request.topology = &topology;
  request.measurements = measurements;
  for (std::size_t i = 0; i < request.measurements.size(); ++i)
    request.measurements[i].path = std::to_string(i) + ".json";
  request.inherited = inherited;
  return fit::fit_parameters(request);
}

}  // namespace

TEST_CASE("least squares: the loss is the sum of squares, relative", "[unit][fit]") {
  // one number for 0.9, 1 and 1.1: all weights 1, so that v = sum(1/y) / sum(1/y^2)
  const double y[] = {0.9, 1, 1.1};
  std::vector<fit::Observation> rows;
  double inverse = 0, squares = 0;
  for (const double time : y) {
    rows.push_back({{1}, time});
    inverse += 1 / time;
    squares += 1 / (time * time);
  }
  const fit::LinearFit fit = fit::robust_fit(rows, {"v"});
  const double v = inverse / squares;
  CHECK_THAT(fit.value[0], WithinRel(v, 1e-9));
  double loss = 0;
  for (const double time : y) loss += std::pow(v / time - 1, 2);
  CHECK_THAT(fit.loss, WithinRel(loss, 1e-9));
  CHECK_THAT(fit.stderr_[0], WithinRel(fit.sigma / std::sqrt(squares), 1e-9));
  // nine of ten sizes within 1.645 sigma: the quantile of 0, 1, ..., 10 at 0.9 is 9
  CHECK_THAT(fit::sigma_of_ninety_percent({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}), WithinRel(9 / 1.645, 1e-4));
}

TEST_CASE("pieces: a slope is worth its parameter where chi squared falls by more than ln n", "[unit][fit]") {
  // eight sizes whose times rise evenly by a part e: against a constant chi squared is 42 e^2 / 0.01^2
  const auto slope = [](double e) {
    std::vector<fit::SizePoint> points;
    for (int i = 1; i <= 8; ++i) points.push_back({1.0 * i, 1 + e * (i - 4.5)});
    return fit::fit_pieces(points, 3);
  };
  const double enough = std::sqrt(std::log(8) * 1e-4 / 42);
  CHECK(slope(0.9 * enough).size() == 1);
  CHECK(slope(0.9 * enough)[0].flat);
  REQUIRE(slope(1.1 * enough).size() == 1);
  CHECK_FALSE(slope(1.1 * enough)[0].flat);
  CHECK_THAT(slope(1.1 * enough)[0].rate_Bps, WithinRel(1 / (1.1 * enough), 1e-6));
  // two levels: two constants cost two parameters more than one
  const auto step = [](double e) {
    std::vector<fit::SizePoint> points;
    for (int i = 1; i <= 8; ++i) points.push_back({std::exp2(i), i <= 4 ? 1 - e : 1 + e});
    return fit::fit_pieces(points, 3).size();
  };
  // chi squared of one constant, by the relative residuals of v = sum(1/y) / sum(1/y^2)
  const auto chi2 = [](double e) {
    const double a = 1 - e, b = 1 + e, v = (1 / a + 1 / b) / (1 / (a * a) + 1 / (b * b));
    return 4 * (std::pow(v / a - 1, 2) + std::pow(v / b - 1, 2)) / 1e-4;
  };
  CHECK(chi2(0.012) > 2 * std::log(8));
  CHECK(step(0.012) == 2);
  CHECK(chi2(0.005) < std::log(8));
  CHECK(step(0.005) == 1);
}

TEST_CASE("pieces: two sizes make a constant, three a line, the last alone one in proportion", "[unit][fit]") {
  const std::vector<fit::SizePoint> points = {{1, 1}, {2, 1}, {4, 5}, {8, 6}, {16, 8}, {32, 32}};
  const auto pieces = fit::fit_pieces(points, 4, fit::PieceForms::kProportional);
  REQUIRE(pieces.size() == 3);
  CHECK(pieces[0].flat);
  CHECK(pieces[0].to_B == 2);
  CHECK_THAT(pieces[1].startup_s, WithinRel(4.0, 1e-9));
  CHECK_THAT(pieces[1].rate_Bps, WithinRel(4.0, 1e-9));
  CHECK(pieces[1].to_B == 16);
  CHECK_THAT(pieces[2].rate_Bps, WithinRel(1.0, 1e-9));
  CHECK(pieces[2].startup_s == 0);
  // without that form the last size belongs to the line before it
  CHECK(fit::fit_pieces(points, 4).back().to_B == 32);
  CHECK(fit::fit_pieces(points, 1).size() == 1);
}

TEST_CASE("staged copies: any flat end and any chunk with two sizes on either side is found", "[unit][fit]") {
  constexpr double kFlat = 20, kStart = 23, kSerial = 3, kPiped = 1;
  for (int flat = 0; flat <= 2; ++flat)
    for (int chunk = flat + 2; chunk <= 7; ++chunk) {
      INFO(flat << " " << chunk);
      std::vector<fit::SizePoint> points;
      const auto size = [](int i) { return std::exp2(i); };
      for (int i = 0; i < 10; ++i) {
        const double n = size(i), serial = std::min(n, size(chunk));
        const bool level = flat > 0 && i <= flat;
        points.push_back({n, level ? kFlat : kStart + kSerial * serial + kPiped * (n - serial)});
      }
      const fit::StagedShape shape = fit::choose_shape(points);
      CHECK(shape.chunk_B == size(chunk));
      CHECK(shape.flat_to_B == (flat > 0 ? size(flat) : 0));
      std::vector<fit::Sample> samples;
      for (const fit::SizePoint& p : points) samples.push_back({"staged", 0, 1, -1, p.size_B, p.time_s});
      const fit::LinearFit fit = fit::fit_shape(samples, shape);
      CHECK_THAT(fit.value[0], WithinAbs(flat > 0 ? kFlat : 0, 1e-9));
      CHECK_THAT(fit.value[1], WithinRel(kStart, 1e-9));
      CHECK_THAT(fit.value[2], WithinRel(kSerial, 1e-9));
      CHECK_THAT(fit.value[3], WithinRel(kPiped, 1e-9));
    }
}

TEST_CASE("bundles: what is fitted a link is of the whole bundle again", "[unit][fit]") {
  const auto sweep_of = [](int links) {
    Topology topology = dgx1();
    for (Cable& cable : topology.cables)
      if (cable.kind == "nvlink1") cable.count = links;
    Noise noise(17, 0.01);
    Measurement m = sweep(
        "peer", Pairs::kPeer, [](int, int, double n) { return n <= 65536 ? 3e-6 + n / 5e9 : 12e-6 + n / 18e9; }, noise);
    for (MeasuredPoint& p : m.points) p.size_B *= links;
    return fitted(topology, {m});
  };
  const fit::FitResult one = sweep_of(1), three = sweep_of(3);
  const std::string first = "transport.peer.r0.";
  CHECK(parameter(one, first + "to_B").value == 65536);
  CHECK(parameter(three, first + "to_B").value == 3 * 65536);
  CHECK_THAT(parameter(one, first + "bandwidth_Bps").value, WithinRel(5e9, 0.02));
  for (const bool error : {false, true}) {
    const auto figure = [&](const fit::FitResult& result, const std::string& name) {
      return error ? parameter(result, name).stderr_ : parameter(result, name).value;
    };
    CHECK_THAT(figure(three, first + "bandwidth_Bps"), WithinRel(3 * figure(one, first + "bandwidth_Bps"), 1e-9));
    for (const char* name : {"transport.peer.r1.startup_s", "cable.nvlink1.bandwidth_Bps"})
      CHECK_THAT(figure(three, name), WithinRel(figure(one, name), 1e-9));
  }
  CHECK(one.covariance.at(first + "bandwidth_Bps") > 0);
  CHECK_THAT(three.covariance.at(first + "bandwidth_Bps"),
             WithinRel(3 * one.covariance.at(first + "bandwidth_Bps"), 1e-9));
}

TEST_CASE("the data's own precision is in every error but that of sizes", "[unit][fit]") {
  std::vector<MeasuredPoint> points;
  for (double n = 1; n <= 268435456; n *= 2)
    points.push_back(point("peer", "gpu0", "gpu1", n, n <= 65536 ? 3e-6 : 9e-6 + n / 18e9));
  Measurement m = measurement(dgx1(), points);
  m.precision = 0.04;
  const fit::FitResult result = fitted(dgx1(), {m});
  const auto relative = [&](const std::string& name) {
    return parameter(result, name).stderr_ / parameter(result, name).value;
  };
  CHECK_THAT(relative("transport.peer.r0.flat_s"), WithinRel(std::hypot(kStarts, 0.04), 1e-6));
  CHECK_THAT(relative("transport.peer.r1.startup_s"), WithinRel(std::hypot(kStarts, 0.04), 1e-4));
  CHECK_THAT(relative("cable.nvlink1.bandwidth_Bps"), WithinRel(std::hypot(kRates, 0.04), 1e-4));
  CHECK(parameter(result, "transport.peer.r0.to_B").stderr_ == 0);
  // half of the bandwidth at start-up x rate, both errors in it
  const Parameter& half = parameter(result, "cable.nvlink1.half_bandwidth_B");
  CHECK_THAT(half.value, WithinRel(9e-6 * 18e9, 1e-6));
  CHECK_THAT(half.stderr_ / half.value,
             WithinRel(std::hypot(std::hypot(kStarts, 0.04), std::hypot(kRates, 0.04)), 1e-4));
}

TEST_CASE("bidirectional host copies: what they wait beyond the slower direction", "[unit][fit]") {
  const auto fit = [](double wait_s) {
    std::vector<MeasuredPoint> points;
    for (double n = 4; n <= 268435456; n *= 4)
      for (const bool down : {true, false}) {
        points.push_back(
            point("host", down ? "host" : "gpu0", down ? "gpu0" : "host", n, (down ? 4e-6 : 5e-6) + n / 11e9));
        if (!down) continue;
        points.push_back(point("host", "host", "gpu0", n, 5e-6 + wait_s + n / 11e9));
        points.back().bidirectional = true;
      }
    return fitted(dgx1(), {measurement(dgx1(), points)});
  };
  CHECK_THAT(parameter(fit(0.8e-6), "transport.h2d.bidirectional_s").value, WithinRel(0.8e-6, 1e-6));
  CHECK(fit(0).calibration.find("transport.h2d.bidirectional_s") == nullptr);
  CHECK(fit(0.8e-6).calibration.find("transport.d2h.bidirectional_s") == nullptr);
}

TEST_CASE("bidirectional staged copies: what each chunk waits", "[unit][fit]") {
  constexpr double kStagedChunk = 1 << 20, kCable = 11e9, kPace = 8e9;
  const auto fit = [&](double wait_s, double both_Bps) {
    std::vector<MeasuredPoint> points;
    for (double n = 1024; n <= 268435456; n *= 4) {
      for (const bool down : {true, false})
        points.push_back(point("host", down ? "host" : "gpu0", down ? "gpu0" : "host", n, 5e-6 + n / kCable));
      points.push_back(point("host", "host", "gpu0", n, 5e-6 + 2 * n / both_Bps));
      points.back().bidirectional = true;
      const double serial = std::min(n, kStagedChunk);
      const double alone = 2e-5 + serial * 2 / kCable + (n - serial) / kPace;
      points.push_back(point("staged", "gpu0", "gpu2", n, alone));
      points.push_back(point("staged", "gpu0", "gpu2", n, alone + wait_s * n / kStagedChunk));
      points.back().bidirectional = true;
    }
    return fitted(dgx1(), {measurement(dgx1(), points)});
  };
  const std::string name = "transport.staged.bidirectional_s";
  CHECK_THAT(parameter(fit(5e-6, 2 * kCable), name).value, WithinRel(5e-6, 1e-6));
  CHECK(fit(0, 2 * kCable).calibration.find(name) == nullptr);
  CHECK(fit(5e-6, kCable).calibration.find(name) == nullptr);  // the cable is full
}

TEST_CASE("copies from rest: what they cost more, up to 1 MiB and where it is not noise", "[unit][fit]") {
  const auto fit = [](double extra, double large_extra) {
    Noise noise(3, 0.001);
    Measurement queued = sweep(
        "local", Pairs::kSelf, [](int, int, double n) { return 4e-6 + n / 300e9; }, noise);
    Measurement rest = sweep(
        "local", Pairs::kSelf,
        [&](int, int, double n) { return 4e-6 + n / 300e9 + (n <= 1048576 ? extra : large_extra); }, noise);
    rest.timing = "single";
    return fitted(dgx1(), {queued, rest});
  };
  const fit::FitResult result = fit(5e-6, 50e-6);
  CHECK_THAT(parameter(result, "transport.local.single_s").value, WithinRel(5e-6, 0.01));
  CHECK_THAT(parameter(result, "copy_engine.turn_s").value, WithinRel(5e-6, 0.01));
  CHECK(fit(0, 50e-6).calibration.find("transport.local.single_s") == nullptr);
  CHECK(fit(-1e-6, 0).calibration.find("transport.local.single_s") == nullptr);
}

TEST_CASE("cables that carry both ways less than twice one way, from 16 MiB on", "[unit][fit]") {
  // 12 GB/s to the host, 10 from it; both ways a part of the sum, which 1 % below is not told from noise
  const auto duplex = [](double part, double size_B) {
    std::vector<MeasuredPoint> points;
    for (double n = 64; n <= 268435456; n *= 4) {
      points.push_back(point("host", "gpu0", "host", n, 4e-6 + n / 12e9));
      points.push_back(point("host", "host", "gpu0", n, 4e-6 + n / 10e9));
    }
    for (int i = 0; i < 3; ++i) {
      points.push_back(point("host", "host", "gpu0", size_B, 2 * size_B / (part * 22e9)));
      points.back().bidirectional = true;
    }
    return fitted(dgx1(), {measurement(dgx1(), points)});
  };
  CHECK_THAT(parameter(duplex(0.9, 16777216), "cable.pcie3.duplex_Bps").value, WithinRel(0.9 * 22e9, 1e-6));
  CHECK(duplex(0.9, 16777215).calibration.find("cable.pcie3.duplex_Bps") == nullptr);
  CHECK(duplex(0.99, 16777216).calibration.find("cable.pcie3.duplex_Bps") == nullptr);
  CHECK_THAT(parameter(duplex(0.97, 16777216), "cable.pcie3.duplex_Bps").value, WithinRel(0.97 * 22e9, 1e-6));
}

TEST_CASE("relays: the handover is what two copies alone leave, at the smallest size", "[unit][fit]") {
  std::vector<MeasuredPoint> points;
  const auto hop = [](double n) { return 5e-6 + n / 18e9; };
  for (const double n : {1024.0, 1048576.0, 67108864.0}) {
    points.push_back(point("peer", "gpu0", "gpu1", n, hop(n)));
    points.push_back(point("relay", "gpu0", "gpu5", n, 2 * hop(n) + (n == 1024 ? 3e-6 : 40e-6)));
    points.back().via = "gpu1";
  }
  CHECK_THAT(parameter(fitted(dgx1(), {measurement(dgx1(), points)}), "transport.relay.handover_s").value,
             WithinRel(3e-6, 1e-6));
  Measurement rest = measurement(dgx1(), {points[0], points[1]});
  rest.timing = "single";
  for (MeasuredPoint& p : rest.points) p.time_s[0] += 7e-6;  // from rest once, not twice
  const fit::FitResult both = fitted(dgx1(), {measurement(dgx1(), points), rest});
  CHECK_THAT(parameter(both, "transport.relay.handover_s").value, WithinRel(3e-6, 1e-6));
}

TEST_CASE("messages: the time of a curve is never below the end of an earlier range", "[unit][fit]") {
  Calibration c;
  const auto set = [&](const std::string& name, double value) {
    c.parameters["transport.mpi_node." + name] = {value, 0, "", "fitted"};
  };
  set("r0.startup_s", 1e-6);
  set("r0.bandwidth_Bps", 1e9);
  set("r0.to_B", 1000);
  set("r1.startup_s", 0.5e-6);
  set("r1.bandwidth_Bps", 2e9);
  set("r1.to_B", 4000);
  set("r2.flat_s", 5e-6);
  set("r2.bandwidth_Bps", 1e9);
  const auto time = [&](double n) { return fit::message_time(c, "mpi_node", n); };
  CHECK_THAT(time(1000), WithinRel(2e-6, 1e-12));
  CHECK_THAT(time(1001), WithinRel(2e-6, 1e-12));
  CHECK_THAT(time(4000), WithinRel(2.5e-6, 1e-12));
  CHECK_THAT(time(4001), WithinRel(5e-6, 1e-12));
  CHECK_THAT(time(8000), WithinRel(8e-6, 1e-12));
  c.parameters.erase("transport.mpi_node.r2.flat_s");
  CHECK_THROWS_AS(time(8000), InputError);
}

TEST_CASE("messages: neighbours out of order share their mean, however many", "[unit][fit]") {
  // 64 B to 1 KiB fall evenly in the logarithm: one level, their geometric mean
  std::vector<MeasuredPoint> points;
  const Topology summit = shipped("summit");
  const auto mpi = [&](double n, double time_s) {
    points.push_back(point("mpi", "gpu0", "gpu0", n, time_s));
    points.back().between_nodes = true;
  };
  for (const double n : {4.0, 8.0, 16.0, 32.0}) mpi(n, 1e-6);
  for (int i = 0; i < 5; ++i) mpi(64 * std::exp2(i), 16e-6 / std::exp2(i));
  for (const double n : {2048.0, 4096.0, 8192.0}) mpi(n, 40e-6);
  Measurement m = measurement(summit, points);
  m.timing = "single";
  const fit::FitResult result = fitted(summit, {m});
  for (int i = 0; i < 5; ++i)
    CHECK_THAT(fit::message_time(result.calibration, "mpi_network", 64 * std::exp2(i)), WithinRel(4e-6, 1e-6));
  CHECK_THAT(fit::message_time(result.calibration, "mpi_network", 32), WithinRel(1e-6, 1e-6));
}

TEST_CASE("messages: eager ones end where a window's time falls by more than 2.5", "[unit][fit]") {
  const Topology summit = shipped("summit");
  const auto end = [&](double fall) {
    std::vector<MeasuredPoint> windows, pingpong = {point("mpi", "gpu0", "gpu1", 8, 3e-6)};
    for (double n = 4; n <= 67108864; n *= 2)
      windows.push_back(point("mpi", "gpu0", "gpu1", n, n <= 8192 ? n / 0.5e9 : 8192 / 0.5e9 / fall + n / 90e9));
    Measurement first = measurement(summit, pingpong), second = measurement(summit, windows);
    first.timing = "single";
    second.timing = "back_to_back";
    const Calibration found = fitted(summit, {first, second}).calibration;
    try {
      fit::message_time(found, "mpi_socket", 67108864);
    } catch (const InputError&) {  // the curve of eager messages ends
      return found.find("transport.mpi_socket.r0.to_B")->value;
    }
    return 0.0;
  };
  CHECK(end(2.9) == 8192);
  CHECK(end(2.4) == 0);
}

}  // namespace linkcast::test::fit_laws_test
