// Costs of issuing from launch records: made-up hosts must be found again.
#include "calibrate/fit/launch_fit.hpp"

#include <cmath>

#include "tests/support/catch.hpp"

namespace linkcast::test::launch_fit_test {

namespace {

constexpr double kCall = 2e-6, kGpu = 5e-6, kSend = 0.4e-6, kDevice = 7e-6, kWait = 3e-6;

LaunchPoint point(const std::string& launch, const std::string& op, int gpus, int sends, int communicators,
                  double host_s) {
  LaunchPoint p;
  p.launch = launch;
  p.issuers = launch == "single_process" ? "one_thread" : "processes";
  p.op = op;
  for (int gpu = 0; gpu < gpus; ++gpu) p.gpus.push_back(gpu);
  p.size_B = 8;
  p.sends = sends;
  p.communicators = communicators;
  const auto all = [](double s) { return LaunchQuantiles{s, s, s, s, s}; };
  p.times_s = {{"rest_issue", all(host_s)}, {"rest", all(host_s + kDevice + kWait)}, {"device", all(kDevice)}};
  return p;
}

LaunchRecord host() {
  LaunchRecord record;
  for (const int communicators : {1, 2, 4})
    record.points.push_back(
        point("single_process", "all_reduce", 2, 1, communicators, kCall + 2 * communicators * kGpu));
  for (const int sends : {1, 2, 8}) {
    record.points.push_back(point("single_process", "sendrecv", 2, sends, 1, kCall + 2 * (kGpu + (sends - 1) * kSend)));
    record.points.push_back(point("process", "sendrecv", 2, sends, 1, 3 * kCall + (sends - 1) * kSend));
    record.points.push_back(point("pytorch", "sendrecv", 2, sends, 1, 20 * kCall + (sends - 1) * 10 * kSend));
  }
  record.points.push_back(point("pytorch", "alltoall", 2, 1, 1, 11 * kCall));  // one call of PyTorch
  record.points.push_back(point("process", "alltoall", 2, 1, 1, 3 * kCall + kSend));
  record.points.push_back(point("process", "copy_peer_ce", 1, 1, 1, kCall));
  record.points.push_back(point("process", "copy_peer_sm", 1, 1, 1, 2 * kCall));
  LaunchPoint recorded = point("pytorch", "all_reduce", 2, 1, 1, 100 * kCall);  // what a profiler slows says nothing
  recorded.recording = "cuda";
  record.points.push_back(recorded);
  return record;
}

}  // namespace

TEST_CASE("a host without noise is found to the last digit", "[unit][fit]") {
  fit::FitContext context;
  fit::fit_launches(context, {host()}, {});
  const std::map<std::string, double> expected = {
      {"single_process.call_s", kCall}, {"single_process.gpu_s", kGpu}, {"single_process.send_s", kSend},
      {"process.call_s", 3 * kCall},    {"process.send_s", kSend},      {"pytorch.call_s", 11 * kCall},
      {"pytorch.batch_s", 20 * kCall},  {"pytorch.send_s", 10 * kSend}, {"copy.call_s", kCall},
      {"kernel.call_s", 2 * kCall},     {"synchronise.call_s", kWait}};
  for (const auto& [name, value] : expected) {
    INFO(name);
    REQUIRE(context.found.count("launch." + name) == 1);
    CHECK(context.found.at("launch." + name).value == Approx(value).epsilon(1e-6));
    CHECK(context.found.at("launch." + name).unit == "s");
  }
  // one start of the processes says nothing of the next: the spread that other hosts show
  CHECK(context.found.at("launch.process.sigma").value == Approx(0.1).epsilon(1e-6));
  CHECK(context.undetermined.empty());
}

TEST_CASE("starts of the processes that differ widen the forecast, points of one start do not", "[unit][fit]") {
  const auto sigma_of = [](const std::vector<double>& by_round) {
    LaunchRecord record;
    for (std::size_t round = 0; round < by_round.size(); ++round) {
      LaunchRecord one = host();
      for (LaunchPoint& point : one.points) {
        point.round = static_cast<int>(round) + 1;
        for (auto& [quantity, times_s] : point.times_s)
          for (double& time_s : times_s) time_s *= std::exp(by_round[round]);
        record.points.push_back(point);
      }
    }
    fit::FitContext context;
    fit::fit_launches(context, {record}, {});
    return context.found.at("launch.kernel.sigma").value;
  };
  CHECK(sigma_of({0, 0, 0}) < 0.1);
  // (5 x 0.1^2 + 2 x 0.3^2) / (5 + 2)
  CHECK(sigma_of({-0.3, 0, 0.3}) == Approx(std::sqrt((5 * 0.01 + 2 * 0.09) / 7)).epsilon(1e-6));
}

TEST_CASE("costs are known as starts of the processes scatter, however many points each start has", "[unit][fit]") {
  constexpr int kStarts = 12, kPoints = 16;
  constexpr double kOff = 0.1;  // of half of the starts up, of half down
  LaunchRecord record = host();
  std::erase_if(record.points, [](const LaunchPoint& p) { return p.op == "copy_peer_sm"; });
  for (int start = 0; start < kStarts; ++start)
    for (int i = 0; i < kPoints; ++i) {
      record.points.push_back(
          point("process", "copy_peer_sm", 1, 1, 1, kCall * std::exp(start % 2 == 0 ? kOff : -kOff)));
      record.points.back().round = start + 1;
    }
  fit::FitContext context;
  fit::fit_launches(context, {record}, {});
  const double value = context.found.at("launch.kernel.call_s").value;
  // The mean of n starts: their standard deviation over sqrt(n); that of all starts, with the five that other hosts
  // show (0.1), over sqrt(n).
  const double n = kStarts, scatter = kOff * std::sqrt(n / (n - 1)) / std::sqrt(n);
  const double start = std::sqrt((5 * 0.01 + n * kOff * kOff) / (5 + n - 1)) / std::sqrt(n);
  CHECK_THAT(value, WithinRel(kCall, 0.02));
  const double error = context.errors.at("launch.kernel.call_s").fitted;
  CHECK_THAT(error / value, WithinRel(std::hypot(scatter, start), 0.05));
}

TEST_CASE("one thread for all GPUs is slow or fast by its start: each start counts alike", "[unit][fit]") {
  constexpr double kSlow = 0.4;  // ln of how many times
  LaunchRecord record;
  const auto add = [&](int round, int points, double off) {
    for (int i = 0; i < points; ++i)
      for (const int sends : {1, 2, 8})
        for (const int communicators : {1, 4}) {
          const double host_s = kCall + 2 * (communicators * kGpu + (sends - 1) * kSend);
          record.points.push_back(point("single_process", "sendrecv", 2, sends, communicators, host_s * std::exp(off)));
          record.points.back().round = round;
        }
  };
  add(1, 1, 0);
  add(2, 9, kSlow);  // of nearly all points
  fit::FitContext context;
  fit::fit_launches(context, {record}, {});
  CHECK_THAT(context.found.at("launch.single_process.gpu_s").value, WithinRel(kGpu * std::exp(kSlow / 2), 1e-3));
  // the mean of both starts; (5 x 0.18^2 + 2 x 0.2^2) / (5 + 1)
  CHECK(context.found.at("launch.single_process.sigma").value ==
        Approx(std::sqrt((5 * 0.0324 + 2 * 0.04) / 6)).epsilon(1e-3));
}

TEST_CASE("costs of a host lie between its own and those of the nearest host", "[unit][fit]") {
  fit::FitContext alone;
  fit::fit_launches(alone, {host()}, {});
  // Inherits from another host of the same kind, whose costs are so many times these.
  const auto with_nearest = [&](double times) {
    Calibration nearest;
    for (const auto& [name, parameter] : alone.found)
      if (name.ends_with("_s")) nearest.parameters[name] = {parameter.value * times, 0, "s", "fitted"};
    fit::FitContext context;
    fit::fit_launches(context, {host()}, {nearest});
    const double ratio =
        context.found.at("launch.process.call_s").value / alone.found.at("launch.process.call_s").value;
    const double send = context.found.at("launch.process.send_s").value / alone.found.at("launch.process.send_s").value;
    CHECK(send == Approx(ratio).epsilon(1e-9));
    CHECK(context.found.at("launch.process.call_s").stderr_ < ratio * alone.found.at("launch.process.call_s").stderr_);
    return ratio;
  };
  CHECK(with_nearest(1) == Approx(1).epsilon(1e-9));
  // near: weighed by spreads of 0.1 and 0.12; far: another kind of host, whose own data count
  CHECK(std::log(with_nearest(1.1)) / std::log(1.1) == Approx(0.01 / (0.01 + 0.0144)).margin(0.03));
  CHECK(std::log(with_nearest(4)) / std::log(4) < 0.12);
}

TEST_CASE("a host whose costs are of another kind keeps them", "[unit][fit]") {
  Calibration nearest;  // whose sends are nearly free, where this host's are a tenth of a call
  for (const auto& [name, value] : std::map<std::string, double>{{"call_s", 3 * kCall}, {"send_s", kSend / 100}})
    nearest.parameters["launch.process." + name] = {value, 0, "s", "fitted"};
  LaunchRecord record;
  for (const int sends : {1, 2, 4, 8, 16, 32})
    record.points.push_back(point("process", "sendrecv", 2, sends, 1, 3 * kCall + (sends - 1) * kSend));
  fit::FitContext context;
  fit::fit_launches(context, {record}, {nearest});
  CHECK_THAT(context.found.at("launch.process.send_s").value, WithinRel(kSend, 1e-6));
  nearest.parameters["launch.process.call_s"].value = nearest.parameters["launch.process.send_s"].value = 0;
  fit::FitContext free;
  fit::fit_launches(free, {record}, {nearest});
  CHECK_THAT(free.found.at("launch.process.call_s").value, WithinRel(3 * kCall, 1e-6));
}

TEST_CASE("no cost of a host is below 0: the others follow", "[unit][fit]") {
  LaunchRecord record;
  for (const int communicators : {1, 2, 4})
    record.points.push_back(
        point("single_process", "all_reduce", 2, 1, communicators, 2 * communicators * kGpu - 1.5e-6));
  for (const int sends : {1, 8})
    record.points.push_back(point("single_process", "sendrecv", 2, sends, 1, 2 * (kGpu + (sends - 1) * kSend)));
  fit::FitContext context;
  fit::fit_launches(context, {record}, {});
  CHECK(context.found.at("launch.single_process.call_s").value == 0);
  CHECK(context.found.at("launch.single_process.call_s").stderr_ > 0);
  CHECK_THAT(context.found.at("launch.single_process.gpu_s").value, WithinRel(kGpu, 0.2));
  CHECK_THAT(context.found.at("launch.single_process.send_s").value, WithinRel(kSend, 0.2));
}

TEST_CASE("calls in a graph of several start sooner than queued ones, by the middle of all", "[unit][fit]") {
  LaunchRecord record = host();
  constexpr double kSooner_s[] = {0.3e-6, 0.4e-6, 0.6e-6};
  const char* const ops[] = {"sendrecv", "alltoall", "reduce"};
  record.points.push_back(point("process", "reduce", 2, 1, 1, kCall));
  for (int i = 0; i < 3; ++i) {
    LaunchPoint graph = point("graph", ops[i], 2, 1, 1, kCall);
    graph.calls_per_graph = 20;
    for (double& s : graph.times_s.at("device")) s -= kSooner_s[i];
    record.points.push_back(graph);
    for (double& s : graph.times_s.at("device")) s += 2e-6;  // measured again, and waited for something
    record.points.push_back(graph);
    graph.calls_per_graph = 1;  // launched anew each time
    for (double& s : graph.times_s.at("device")) s -= 3e-6;
    record.points.push_back(graph);
  }
  fit::FitContext context;
  fit::fit_launches(context, {record}, {});
  CHECK_THAT(context.found.at("nccl.graph.sooner_s").value, WithinRel(0.4e-6, 1e-9));
  LaunchRecord slower = record;  // of another host: each is compared within its own record
  for (LaunchPoint& p : slower.points)
    for (double& s : p.times_s.at("device")) s *= 2;
  fit::FitContext both;
  fit::fit_launches(both, {record, slower}, {});
  CHECK_THAT(both.found.at("nccl.graph.sooner_s").value, WithinRel(0.6e-6, 1e-9));
  fit::FitContext none;
  fit::fit_launches(none, {host()}, {});
  CHECK(none.found.count("nccl.graph.sooner_s") == 0);
}

TEST_CASE("what a record lacks is said, not guessed", "[unit][fit]") {
  LaunchRecord record = host();
  std::erase_if(record.points, [](const LaunchPoint& p) { return p.launch == "pytorch"; });
  fit::FitContext context;
  fit::fit_launches(context, {record}, {});
  CHECK(context.found.count("launch.pytorch.call_s") == 0);
  REQUIRE(context.undetermined.size() == 1);
  CHECK(context.undetermined[0] == "launch.pytorch.*: such points of a launch record");
}

}  // namespace linkcast::test::launch_fit_test
