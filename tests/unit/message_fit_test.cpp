// Curves of messages on synthetic data whose pieces are known, and the precision of printed figures.
#include "calibrate/fit/message_fit.hpp"

#include <cmath>

#include "calibrate/fit/fit.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/error_of.hpp"

namespace linkcast::test::message_fit_test {

namespace {

const Topology& summit() {
  static const Topology topology = read_topology(test::data_dir() + "/topologies/summit.json");
  return topology;
}

using Time = std::function<double(double size_B)>;

Measurement messages(const std::string& source, const std::string& target, bool between_nodes, const Time& time,
                     double least_B = 4, double most_B = 67108864) {
  Measurement m;
  m.path = "synthetic.json";
  m.topology = "summit";
  m.timing = "single";
  for (double size = least_B; size <= most_B; size *= 2) {
    MeasuredPoint point;
    point.transport = "mpi";
    point.source = source;
    point.target = target;
    point.between_nodes = between_nodes;
    point.size_B = size;
    point.time_s = {time(size)};
    m.points.push_back(point);
  }
  return m;
}

fit::FitResult fit(const std::vector<Measurement>& measurements) {
  fit::FitRequest request;
  request.name = "summit";
  request.topology = &summit();
  request.measurements = measurements;
  fit::FitResult result = fit::fit_parameters(request);
  fit::assess(result, [](const fit::Sample&) -> double { throw InvariantError("messages are not simulated"); });
  return result;
}

double value(const fit::FitResult& result, const std::string& name) {
  INFO(name);
  const Parameter* found = result.calibration.find(name);
  REQUIRE(found != nullptr);
  return found->value;
}

double modelled(const fit::FitResult& result, const std::string& transport, double size_B) {
  return fit::message_time(result.calibration, transport, size_B);
}

}  // namespace

TEST_CASE("messages are told apart by where the processes and their buffers are", "[unit][fit]") {
  const auto line = [](double base) { return [base](double size) { return base + size / 10e9; }; };
  const fit::FitResult result =
      fit({messages("gpu0", "gpu1", false, line(1e-5)), messages("gpu0", "gpu3", false, line(2e-5)),
           messages("gpu0", "gpu0", true, line(3e-5)), messages("cpu0", "cpu0", false, line(4e-5)),
           messages("cpu0", "cpu1", false, line(5e-5)), messages("cpu0", "cpu0", true, line(6e-5))});
  double base = 1e-5;
  for (const std::string name :
       {"mpi_socket", "mpi_node", "mpi_network", "mpi_socket_host", "mpi_node_host", "mpi_network_host"}) {
    CHECK_THAT(modelled(result, name, 4), WithinRel(base + 4 / 10e9, 0.01));
    CHECK_THAT(modelled(result, name, 67108864), WithinRel(base + 67108864 / 10e9, 0.01));
    base += 1e-5;
  }
  for (const fit::FitQuality& q : result.quality) CHECK(q.median_error < 0.01);
  CHECK(resolve(Platform(summit(), result.calibration).calibration(), key::startup("mpi_node", 0), 0).calibrated);
}

TEST_CASE("a change of protocol is a regime break, the last one may show at a single size", "[unit][fit]") {
  const fit::FitResult result = fit({messages("gpu0", "gpu0", true, [](double size) {
    if (size <= 8192) return 6e-6 + size / 5e9;        // eager
    if (size <= 33554432) return 12e-6 + size / 12e9;  // rendezvous
    return size / 4e9;                                 // beyond some buffer
  })});
  CHECK(value(result, "transport.mpi_network.r0.to_B") == 8192);
  CHECK_THAT(value(result, "transport.mpi_network.r0.startup_s"), WithinRel(6e-6, 1e-6));
  CHECK_THAT(value(result, "transport.mpi_network.r0.bandwidth_Bps"), WithinRel(5e9, 1e-6));
  CHECK(value(result, "transport.mpi_network.r1.to_B") == 33554432);
  CHECK_THAT(value(result, "transport.mpi_network.r1.bandwidth_Bps"), WithinRel(12e9, 1e-6));
  CHECK_THAT(value(result, "transport.mpi_network.r2.bandwidth_Bps"), WithinRel(4e9, 1e-6));
}

TEST_CASE("a range in proportion to the size begins where the one before it ended", "[unit][fit]") {
  constexpr double kEnd_B = 32768;  // 12.6 us; in proportion a little more would take 6.6 us
  const fit::FitResult result = fit(
      {messages("gpu0", "gpu0", true, [](double size) { return size <= kEnd_B ? 6e-6 + size / 5e9 : size / 5e9; })});
  CHECK(value(result, "transport.mpi_network.r0.to_B") == kEnd_B);
  CHECK_THAT(value(result, "transport.mpi_network.r1.flat_s"), WithinRel(6e-6 + kEnd_B / 5e9, 1e-6));
  CHECK_THAT(modelled(result, "mpi_network", 1.01 * kEnd_B), WithinRel(6e-6 + kEnd_B / 5e9, 1e-6));
  CHECK_THAT(modelled(result, "mpi_network", 4 * kEnd_B), WithinRel(4 * kEnd_B / 5e9, 1e-6));
}

TEST_CASE("where measured times fall with the size, the curve stays level", "[unit][fit]") {
  const fit::FitResult result = fit({messages("gpu0", "gpu0", true, [](double size) {
    if (size == 32768) return 80e-6;  // a dip of the bandwidth at one size
    return 10e-6 + size / 10e9;
  })});
  double before = 0;
  for (double size = 4; size <= 67108864; size *= 1.5) {
    const double time = modelled(result, "mpi_network", size);
    CHECK(time >= before);
    before = time;
  }
  // the mean of ln time of the sizes out of order: 80 us at 32 KiB and what follows below it
  double sum = std::log(80e-6);
  int count = 1;
  for (double size = 65536; 10e-6 + size / 10e9 < std::exp(sum / count); size *= 2, ++count)
    sum += std::log(10e-6 + size / 10e9);
  CHECK_THAT(modelled(result, "mpi_network", 32768), WithinRel(std::exp(sum / count), 0.02));
}

TEST_CASE("messages one behind the other count from the size on at which they stop overlapping", "[unit][fit]") {
  Measurement stream = messages("gpu0", "gpu1", false, [](double size) { return 1e-6 + size / 90e9; });
  stream.timing = "back_to_back";
  const fit::FitResult result = fit({stream});
  for (const fit::Sample& s : result.samples) CHECK(s.size_B >= 16384);
  CHECK_THAT(modelled(result, "mpi_socket", 67108864), WithinRel(1e-6 + 67108864 / 90e9, 0.01));
}

TEST_CASE("of eager messages a ping-pong shows the start-up, windows the rate and the end", "[unit][fit]") {
  const auto windows = [](double fall) {
    Measurement m = messages("gpu0", "gpu1", false, [fall](double size) {
      return size <= 8192 ? 1e-6 + size / 0.5e9 : 1.7384e-5 / fall + size / 90e9;
    });
    m.timing = "back_to_back";
    return m;
  };
  const Measurement pingpong = messages(
      "gpu0", "gpu1", false, [](double) { return 3e-6; }, 8, 8);
  const fit::FitResult result = fit({pingpong, windows(4)});
  CHECK(value(result, "transport.mpi_socket.r0.to_B") == 8192);
  const double rate = 8192 / (1e-6 + 8192 / 0.5e9);
  CHECK_THAT(value(result, "transport.mpi_socket.r0.bandwidth_Bps"), WithinRel(rate, 1e-6));
  CHECK_THAT(modelled(result, "mpi_socket", 8), WithinRel(3e-6, 1e-3));
  CHECK(result.calibration.find("transport.mpi_socket.r1.startup_s") == nullptr);
  const double large_B = 67108864;
  CHECK_THAT(modelled(fit({pingpong, windows(1.05)}), "mpi_socket", large_B), WithinRel(large_B / 90e9, 0.05));
}

TEST_CASE("where there is a ping-pong, windows of messages only speak for larger sizes", "[unit][fit]") {
  const Measurement pingpong = messages(
      "gpu0", "gpu1", false, [](double size) { return 1e-5 + size / 10e9; }, 4, 1048576);
  Measurement windows = messages("gpu0", "gpu1", false, [](double size) { return 1e-6 + size / 12e9; });
  windows.timing = "back_to_back";
  const fit::FitResult result = fit({pingpong, windows});
  CHECK_THAT(modelled(result, "mpi_socket", 1048576), WithinRel(1e-5 + 1048576 / 10e9, 0.01));
  for (const fit::Sample& s : result.samples) CHECK((s.single || s.size_B > 1048576));
}

TEST_CASE("printed figures: wider standard errors and scatter, a lone latency gives no rate", "[unit][fit]") {
  Measurement pair = messages(
      "gpu0", "gpu0", true, [](double size) { return 4e-6 + size / 24e9; }, 4, 4);
  const Measurement large = messages(
      "gpu0", "gpu0", true, [](double size) { return 4e-6 + size / 24e9; }, 1e9, 1e9);
  pair.points.push_back(large.points.front());
  pair.precision = 0.07;
  Measurement latency = messages(
      "cpu0", "cpu0", true, [](double) { return 1e-6; }, 4, 4);
  const fit::FitResult result = fit({pair, latency});
  // 0.5 % between occasions is in the standard error of every rate, 3 % in that of every start-up
  const Parameter& rate = *result.calibration.find("transport.mpi_network.r0.bandwidth_Bps");
  CHECK_THAT(rate.value, WithinRel(24e9, 1e-9));
  CHECK_THAT(rate.stderr_ / rate.value, WithinRel(std::hypot(0.07, 0.005), 1e-6));
  const Parameter& host = *result.calibration.find("transport.mpi_network_host.r0.startup_s");
  CHECK_THAT(host.stderr_ / host.value, WithinRel(0.03, 1e-6));
  CHECK(result.calibration.find("transport.mpi_network_host.r0.bandwidth_Bps") == nullptr);
  CHECK(result.undetermined.back() == "transport.mpi_network_host.r0.bandwidth_Bps: messages of some megabytes");
  for (const Scatter& s : result.calibration.scatter)
    CHECK_THAT(s.sigma_log, WithinAbs(s.transport == "mpi_network" ? 0.07 : 0, 1e-6));
}

namespace {

/// n messages one after the other, or n pairs at once.
Measurement processes(const std::function<double(int n, double size_B)>& time, const char* end, bool pairs) {
  Measurement m = messages(end, end, true, [](double size) { return 2e-6 + size / 10e9; });
  m.id = "several";
  m.library = "mpi-spectrum";
  for (const double size : {8.0, 128.0, 262144.0, 524288.0})
    for (int n = 1; n <= 6; ++n) {
      MeasuredPoint point = m.points.front();
      point.size_B = size;
      (pairs ? point.pairs : point.in_a_row) = n;
      point.time_s = {time(n, size)};
      m.several.push_back(point);
    }
  return m;
}

}  // namespace

TEST_CASE("what a process pays for each further message, and how many cards a socket fills", "[unit][fit]") {
  const auto posting = [](int n, double size) { return 1e-6 + n * (0.7e-6 + size / 10e9); };
  // Gropp, Olson, Samfass 2016: n pairs get the lesser of n times one's rate and that of the cards
  const auto sharing = [](int n, double size) { return 2e-6 + n * size / std::min(n * 10e9, 20e9); };
  fit::FitResult result = fit({processes(posting, "cpu0", false), processes(sharing, "cpu0", true)});
  CHECK_THAT(value(result, "mpi.host@spectrum.post_s"), WithinRel(0.7e-6, 0.02));
  CHECK(value(result, "mpi.host@spectrum.nics") == 2);
  CHECK(result.calibration.find("mpi.gpu@spectrum.post_s") == nullptr);
  for (const fit::Sample& s : result.samples) CHECK(s.time_s < 1e-2);
  result = fit({processes(posting, "gpu0", false)});
  CHECK_THAT(value(result, "mpi.gpu@spectrum.post_s"), WithinRel(0.7e-6, 0.02));
  CHECK(result.calibration.find("mpi.host@spectrum.post_s") == nullptr);
}

TEST_CASE("copies of all GPUs at once are what a staging process waits for", "[unit][fit]") {
  Measurement m = processes([](int n, double) { return n * 1e-5; }, "gpu0", true);
  for (MeasuredPoint& p : m.several) p.transport = "host", p.target = "host", p.between_nodes = false;
  const fit::FitResult result = fit({m});
  CHECK_THAT(value(result, "mpi.staging.copy_s"), WithinRel(6e-5, 1e-9));  // Summit has 6 GPUs
}

TEST_CASE("the version of a machine's library is in its calibration", "[unit][fit]") {
  Measurement m = messages("gpu0", "gpu0", true, [](double size) { return 2e-6 + size / 10e9; });
  m.library = "mpi-openmpi";
  m.library_version = "4.0.5";
  CHECK(value(fit({m}), "mpi.library@openmpi.version") == 4.0);
  Measurement other = m;
  other.path = "other.json";
  other.library_version = "4.1.4";
  CHECK(error_of([&] {
          fit({m, other});
        }) == "other.json:/library_version: another measurement of this fit names another version");
  CHECK(version_of("4.1") == 4.1);
  CHECK(version_of("new") == 0);
}

TEST_CASE("a machine whose GPUs alone were measured inherits messages between hosts", "[unit][fit]") {
  const auto line = [](double size) { return 2e-6 + size / 10e9; };
  const fit::FitResult lender =
      fit({messages("cpu0", "cpu0", true, line), processes([](int n, double) { return n * 1e-6; }, "cpu0", false)});
  fit::FitRequest request;
  request.name = "summit";
  request.topology = &summit();
  request.measurements = {messages("gpu0", "gpu0", true, line)};
  request.inherited = {lender.calibration};
  const fit::FitResult result = fit::fit_parameters(request);
  CHECK_THAT(modelled(result, "mpi_network_host", 4), WithinRel(2e-6, 0.01));
  CHECK(result.calibration.find("transport.mpi_network_host.r0.startup_s")->provenance == "inherited:summit");
  CHECK(result.calibration.find("mpi.host@spectrum.post_s")->provenance == "inherited:summit");
  CHECK(result.calibration.find("transport.mpi_network.r0.startup_s")->provenance == "fitted");
}

TEST_CASE("buffers of a message are both of GPUs or both of CPUs", "[unit][fit]") {
  const auto refusal = [](const std::string& source, const std::string& target) {
    return error_of([&] { fit({messages(source, target, false, [](double) { return 1e-6; })}); });
  };
  CHECK(refusal("gpu0", "cpu0") == "synthetic.json:/points/0: both buffers of a message are of GPUs, or both of CPUs");
  CHECK(refusal("gpu9", "gpu0") == "synthetic.json:/points/0: 'gpu9' is no device of topology summit");
  CHECK(refusal("nic0", "gpu0") ==
        "synthetic.json:/points/0: 'nic0': the buffer of a message lies in the memory of a GPU or a CPU");
}

}  // namespace linkcast::test::message_fit_test
