// Parts of a fit by themselves: host memory, hops through it, launches, distances, loans, classes of
// pairs; each from figures made so that the result can be written down.
#include <cmath>
#include <limits>

#include "calibrate/fit/fit.hpp"
#include "calibrate/fit/launch_fit.hpp"
#include "calibrate/fit/message_fit.hpp"
#include "calibrate/fit/noise_fit.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/synthetic_copies.hpp"

namespace linkcast::test::fit_parts_test {

namespace {

constexpr double kRates = 0.005, kStarts = 0.03;  // between occasions: part of every standard error

struct Made {
  explicit Made(const std::string& name) : topology(read_topology(test::data_dir() + "/topologies/" + name + ".json")) {
    Calibration none;
    none.name = none.topology = topology.name;
    wires = std::make_unique<Platform>(topology, none);
    context.wires = wires.get();
  }
  void knows(const std::string& name, double value) { context.found[name] = {value, 0, "", "fitted"}; }
  [[nodiscard]] const Parameter& found(const std::string& name) const {
    INFO(name);
    REQUIRE(context.found.count(name) == 1);
    return context.found.at(name);
  }
  [[nodiscard]] bool has(const std::string& name) const { return context.found.count(name) > 0; }

  Topology topology;
  std::unique_ptr<Platform> wires;
  fit::FitContext context;
};

constexpr double kGiB = 1073741824;

/// Copies of 1 GiB each that start together.
Measurement together(const std::vector<std::pair<std::string, std::string>>& ends, const std::vector<double>& rates_Bps,
                     const std::string& path) {
  Measurement m;
  m.path = path;
  MeasuredFlows group;
  group.engine = "ce";
  group.pattern = "all";
  for (const auto& [from, to] : ends) group.flows.push_back({from, to, kGiB});
  for (const double rate : rates_Bps) group.time_s.push_back(kGiB * static_cast<double>(ends.size()) / rate);
  m.flows = {group};
  return m;
}

MeasuredCollective collective(const std::string& op, int gpus, double size_B, double time_s,
                              const std::string& protocol = "Simple") {
  MeasuredCollective c;
  c.op = op;
  for (int k = 0; k < gpus; ++k) c.gpus.push_back(k);
  c.size_B = size_B;
  c.algorithm = "Ring";
  c.protocol = protocol;
  c.time_s = {time_s};
  return c;
}

double median_of(const std::vector<double>& values) { return median(values); }

}  // namespace

TEST_CASE("host memory: the median of all, with what hosts differ by", "[unit][fit]") {
  Made made("hgx-h200");
  made.knows("cable.pcie5.to_host_Bps", 55e9);
  made.knows("cable.pcie5.from_host_Bps", 50e9);
  made.knows("cable.pcie5.duplex_Bps", 90e9);
  const std::vector<std::pair<std::string, std::string>> up = {{"gpu0", "host"}, {"gpu1", "host"}, {"gpu2", "host"}};
  const std::vector<std::pair<std::string, std::string>> both = {{"gpu0", "host"}, {"host", "gpu1"}};
  fit::fit_host_memory(made.context, {together(up, {100e9, 100e9, 100e9}, "a"),
                                      together(up, {110e9, 110e9, 110e9}, "b"), together(both, {70e9, 70e9}, "a")});
  const Parameter& written = made.found("host_memory.write_Bps");
  CHECK_THAT(written.value, WithinRel(105e9, 1e-9));
  // the median's own error from six rates, 5 GB/s off each; the next host from two that lie 5 GB/s on either side
  const double own = std::sqrt(1.5707963 / 6) * 1.4826 * 5e9, hosts = std::sqrt(2 * 25e18 / 1 * (1 + 0.5));
  CHECK_THAT(written.stderr_, WithinRel(std::hypot(std::hypot(own, hosts), kRates * 105e9), 1e-6));
  const Parameter& mixed = made.found("host_memory.both_Bps");
  CHECK_THAT(mixed.value, WithinRel(70e9, 1e-9));  // of one host: 5 % that the next one may differ by
  CHECK_THAT(mixed.stderr_ / 70e9, WithinRel(std::hypot(0.05, kRates), 1e-6));
  CHECK_FALSE(made.has("host_memory.read_Bps"));
}

TEST_CASE("host memory: what the cables carry anyway says nothing", "[unit][fit]") {
  const auto limited = [](double part) {
    Made made("hgx-h200");
    made.knows("cable.pcie5.to_host_Bps", 50e9);
    fit::fit_host_memory(made.context, {together({{"gpu0", "host"}, {"gpu1", "host"}}, {part * 100e9}, "a")});
    return made.has("host_memory.write_Bps");
  };
  CHECK(limited(0.97));
  CHECK_FALSE(limited(0.985));
  Made made("hgx-h200");  // GPUs of two sockets have two memories
  made.knows("cable.pcie5.to_host_Bps", 50e9);
  fit::fit_host_memory(made.context, {together({{"gpu0", "host"}, {"gpu7", "host"}}, {60e9}, "a")});
  CHECK_FALSE(made.has("host_memory.write_Bps"));
  // both ways of a cable that carries 90 GB/s of 105: half of it each
  Made duplex("hgx-h200");
  duplex.knows("cable.pcie5.to_host_Bps", 55e9);
  duplex.knows("cable.pcie5.from_host_Bps", 50e9);
  duplex.knows("cable.pcie5.duplex_Bps", 90e9);
  fit::fit_host_memory(duplex.context, {together({{"gpu0", "host"}, {"host", "gpu1"}}, {89.5e9}, "a")});
  CHECK_FALSE(duplex.has("host_memory.both_Bps"));
}

TEST_CASE("hops through host memory: steps from small ones, the share of data from large ones", "[unit][fit]") {
  constexpr double kBase = 7e-6, kHop = 2e-6, kUp = 40e9, kDown = 36e9, kBoth = 60e9, kData = 0.9;
  Made made("hgx-h200");
  made.knows("transport.d2h_sm.r0.startup_s", 1e-6);
  made.knows("transport.d2h_sm.r0.bandwidth_Bps", 1e9);
  made.knows("transport.d2h_sm.r1.startup_s", 1e-6);
  made.knows("transport.d2h_sm.r1.bandwidth_Bps", kUp);
  made.knows("transport.h2d_sm.r0.flat_s", 1e-6);
  made.knows("transport.h2d_sm.r1.startup_s", 1e-6);
  made.knows("transport.h2d_sm.r1.bandwidth_Bps", kDown);
  made.knows("cable.pcie5.kernel_duplex_Bps", kBoth);
  Measurement m;
  m.peer_access = false;
  const double size = 536870912;
  m.collectives = {collective("all_reduce", 2, 8, kBase + 2 * kHop), collective("all_gather", 2, 8, kBase + kHop),
                   // a part of the buffer alone up, alone down; of an all_reduce one more both ways
                   collective("all_gather", 2, size, size / 2 * (1 / kUp + 1 / kDown) / kData),
                   collective("all_reduce", 2, size, size / 2 * (1 / kUp + 1 / kDown + 2 / kBoth) / kData)};
  fit::fit_host_path(made.context, {m});
  CHECK_THAT(made.found("nccl.host.LL.base_s").value, WithinRel(kBase, 1e-9));
  CHECK_THAT(made.found("nccl.host.LL.hop_s").value, WithinRel(kHop, 1e-9));
  CHECK_THAT(made.found("nccl.host.data_share").value, WithinRel(kData, 1e-9));
  for (MeasuredCollective& c : m.collectives) c.time_s[0] *= 0.5;  // never more than all
  fit::fit_host_path(made.context, {m});
  CHECK(made.found("nccl.host.data_share").value == 1);
}

TEST_CASE("launches: batches, large calls, waits, and how far they scatter", "[unit][fit]") {
  const auto point = [](const std::string& launch, const std::string& op, double host_s) {
    LaunchPoint p;
    p.launch = launch;
    p.op = op;
    p.gpus = {0, 1};
    p.size_B = 8;
    p.sends = 1;
    p.communicators = 1;
    const auto all = [](double s) { return LaunchQuantiles{s, s, s, s, s}; };
    p.times_s = {{"rest_issue", all(host_s)}};
    return p;
  };
  LaunchRecord record;
  for (const double off : {0.9, 0.95, 1.0, 1.05, 1.1})
    record.points.push_back(point("process", "copy_peer_ce", off * 1e-5));
  for (const int sends : {1, 3}) {
    record.points.push_back(point("pytorch", "sendrecv", 40e-6 + (sends - 1) * 5e-6));
    record.points.back().sends = sends;
  }
  // steady calls say the same of small ones, and nothing of those that wait for the devices
  record.points.push_back(point("pytorch", "all_reduce", 20e-6));
  const auto steady = [&](double size_B, double s) {
    record.points.push_back(point("pytorch", "all_reduce", 20e-6));
    record.points.back().size_B = size_B;
    record.points.back().times_s["steady"] = {s, s, s, s, s};
  };
  steady(65536, 20e-6);
  steady(65537, 500e-6);
  steady(1e9, 500e-6);
  steady(1e9, 500e-6);
  fit::FitContext context;
  fit::fit_launches(context, {record}, {});
  const auto found = [&](const std::string& name) { return context.found.at("launch." + name); };
  CHECK_THAT(found("pytorch.call_s").value, WithinRel(20e-6, 1e-6));
  CHECK_THAT(found("pytorch.batch_s").value, WithinRel(40e-6, 1e-6));
  CHECK_THAT(found("pytorch.send_s").value, WithinRel(5e-6, 1e-6));
  std::vector<double> distances;
  for (const double off : {0.9, 0.95, 1.0, 1.05, 1.1}) distances.push_back(std::abs(std::log(off)));
  std::sort(distances.begin(), distances.end());
  const double within = (distances[3] + 0.6 * (distances[4] - distances[3])) / 1.645;
  const double sigma = std::hypot(within, 0.1);  // of another start of the processes
  CHECK_THAT(found("copy.sigma").value, WithinRel(sigma, 1e-6));
  CHECK_THAT(found("copy.sigma").stderr_, WithinRel(std::hypot(sigma / std::sqrt(10.0), kRates * sigma), 1e-6));
}

TEST_CASE("processes: how many cards a socket fills, at most all of them", "[unit][fit]") {
  const auto cards = [](double pairs_worth) {
    Made made("summit");
    Measurement m;
    m.library = "mpi-spectrum";
    for (const double size : {262144.0, 524288.0})
      for (int pairs = 1; pairs <= 6; ++pairs) {
        MeasuredPoint p;
        p.transport = "mpi";
        p.source = p.target = "cpu0";
        p.between_nodes = true;
        p.size_B = size;
        p.pairs = pairs;
        p.time_s = {2e-6 + size / 10e9 * std::max(1.0, pairs / pairs_worth), 1};
        m.several.push_back(p);
      }
    fit::fit_processes(made.context, {m});
    return made.found("mpi.host@spectrum.nics").value;
  };
  // of large messages the start-up takes 4 %: 1.45 and 1.6 processes' worth are seen as 1.4 and 1.55
  CHECK(cards(1.45) == 1);
  CHECK(cards(1.62) == 2);
  const auto& devices = Made("summit").topology.devices;
  CHECK(cards(6) ==
        std::count_if(devices.begin(), devices.end(), [](const Device& d) { return d.kind == DeviceKind::kNic; }));
}

TEST_CASE("distances: the scale and its error from printed figures", "[unit][fit]") {
  Made made("alps");
  made.knows("transport.mpi_network.r0.startup_s", 4e-6);
  made.knows("transport.mpi_network.r0.bandwidth_Bps", 10e9);
  Measurement m;
  m.precision = 0.02;
  MeasuredSpread spread;
  spread.transport = "mpi";
  spread.distance = "other group";
  spread.size_B = 10000;
  spread.mean_time_s = 6.5e-6;  // 5 us between neighbours
  m.spreads = {spread};
  fit::fit_distances(made.context, made.topology, {m}, {{"other group", {0.5e-6, 3}}});
  const Parameter& scale = made.found("cable.slingshot.latency_scale");
  CHECK_THAT(scale.value, WithinRel(3, 1e-9));
  CHECK_THAT(scale.stderr_, WithinRel(3 * std::hypot(0.02 * 6.5 / 1.5, kRates), 1e-6));
}

TEST_CASE("loans: a tenth of error at least, from the first that fitted it itself", "[unit][fit]") {
  Calibration first, second;
  first.name = "first";
  second.name = "second";
  first.parameters["cable.nvlink2.bandwidth_Bps"] = {20e9, 1e9, "B/s", "inherited:second"};
  second.parameters["cable.nvlink2.bandwidth_Bps"] = {24e9, 1e9, "B/s", "fitted"};
  first.parameters["transport.peer.r0.startup_s"] = {4e-6, 1e-6, "s", "fitted"};
  fit::FitContext context;
  context.inherited = {&first, &second};
  CHECK(context.inherit(key::cable_bandwidth("nvlink2"), "x"));
  CHECK(context.inherit(key::startup("peer", 0), "x"));
  CHECK(context.found.at("cable.nvlink2.bandwidth_Bps").value == 24e9);
  CHECK_THAT(context.found.at("cable.nvlink2.bandwidth_Bps").stderr_, WithinRel(2.4e9, 1e-12));
  CHECK(context.found.at("transport.peer.r0.startup_s").stderr_ == 1e-6);
  CHECK_FALSE(context.inherit(key::startup("local", 0), "copies"));
  CHECK(context.undetermined.back() == "transport.local.r0.startup_s: copies");
  CHECK(context.lends_any("peer"));
  CHECK_FALSE(context.lends_any("pee"));
}

TEST_CASE("loans of a library: as sure as machines differ, less where GPUs have one compute capability",
          "[unit][fit]") {
  Calibration near, far;
  near.name = "near";
  far.name = "far";
  near.parameters["nccl.ring.LL.base_s"] = {6e-6, 0.1e-6, "s", "fitted"};
  near.parameters["nccl.ring.LL.hop_s"] = {1e-6, 0.5e-6, "s", "fitted"};
  near.parameters["nccl.ring.LL.copy_s"] = {0.2e-6, 0, "s", "inherited:third"};
  near.parameters["transport.mpi.r0.startup_s"] = {4e-6, 0, "s", "fitted"};
  far.parameters["nccl.ring.LL.base_s"] = {7e-6, 0, "s", "fitted"};
  far.parameters["nccl.ring.Simple.base_s"] = {9e-6, 0, "s", "fitted"};
  Noise noise(2, 1e-4);
  fit::FitRequest request = request_for({sweep(
      "peer", Pairs::kPeer, [](int, int, double n) { return 9e-6 + n / 18e9; }, noise)});
  request.library_lenders = {near, far};
  Topology other = dgx1();  // P100, of 6.0
  for (Device& device : other.devices)
    if (device.sm > 0) device.sm = 70;
  const auto check = [&](double of_near, double of_far) {
    const Calibration made = fit::fit_parameters(request).calibration;
    const auto found = [&](const std::string& name) {
      INFO(name);
      REQUIRE(made.find("nccl.ring." + name) != nullptr);
      return *made.find("nccl.ring." + name);
    };
    CHECK(found("LL.base_s").value == 6e-6);
    CHECK(found("LL.base_s").provenance == "inherited:near");
    CHECK_THAT(found("LL.base_s").stderr_, WithinRel(of_near * 6e-6, 1e-9));
    CHECK_THAT(found("LL.hop_s").stderr_, WithinRel(0.5e-6, 1e-9));  // less sure at home already
    CHECK(found("Simple.base_s").provenance == "inherited:far");
    CHECK_THAT(found("Simple.base_s").stderr_, WithinRel(of_far * 9e-6, 1e-9));
    CHECK(made.find("nccl.ring.LL.copy_s") == nullptr);  // of a third machine
    CHECK(made.find("transport.mpi.r0.startup_s") == nullptr);
  };
  // source: 0.98 to 1.05 between H100 and H200, 1.2 to 2.5 between generations (docs/collectives.md, docs/accuracy.md)
  constexpr double kSame = 0.1, kOther = 0.4;
  request.library_machines = {{dgx1()}, {other}};
  check(kSame, kOther);
  request.library_machines = {{other}, {dgx1()}};
  check(kOther, kSame);
  request.library_machines = {{}, {dgx1()}};  // the first one's wiring is not at hand
  check(kOther, kSame);
  request.library_machines.clear();
  check(kOther, kOther);
}

TEST_CASE("loans of the cache: as much of it as there, and a tenth of error more", "[unit][fit]") {
  constexpr double kThere_B = 4194304, kHere_B = 6291456;
  Calibration lender;
  lender.name = "lender";
  const auto set = [&](const std::string& name, double value, double stderr_) {
    lender.parameters["transport.local." + name] = {value, stderr_, "", "fitted"};
  };
  set("r0.to_B", kThere_B / 2, 0);
  set("r0.bandwidth_Bps", 500e9, 15e9);
  set("r1.bandwidth_Bps", 250e9, 10e9);
  fit::FitContext context;
  context.inherited = {&lender};
  context.kin[&lender] = {false, kThere_B};
  context.l2_B = kHere_B;
  context.found["transport.local.r0.startup_s"] = {2e-6, 1e-7, "s", "fitted"};
  context.found["transport.local.r0.bandwidth_Bps"] = {400e9, 4e9, "B/s", "fitted"};
  fit::borrow_cache(context);
  CHECK(context.found.at("transport.local.r0.to_B").value == kHere_B / 2);
  CHECK(context.found.at("transport.local.r1.bandwidth_Bps").value == 400e9);
  CHECK(context.found.at("transport.local.r1.startup_s").value == 2e-6);
  const Parameter& inside = context.found.at("transport.local.r0.bandwidth_Bps");
  CHECK_THAT(inside.value, WithinRel(800e9, 1e-12));
  CHECK_THAT(inside.stderr_ / inside.value,
             WithinRel(std::hypot(std::hypot(15.0 / 500, 10.0 / 250), std::hypot(0.1, kRates)), 1e-9));
}

TEST_CASE("classes of pairs: values, noise and thresholds by hand", "[unit][fit]") {
  using Classes = std::vector<int>;
  // 3 % apart, and three times a noise of 1 %: at the limit of noise
  CHECK(fit::classes_of({0, 0, 0, 0, 0.031, 0.031, 0.031, 0.031}, 0.01) == Classes{0, 0, 0, 0, 1, 1, 1, 1});
  CHECK(fit::classes_of({0, 0, 0, 0, 0.029, 0.029, 0.029, 0.029}, 0.01) == Classes{0, 0, 0, 0, 0, 0, 0, 0});
  // two classes that scatter by 1 %: six free of eight levels, so that the scatter counts 1 + 2 / 6 times
  const double e = 0.01, scatter = (1 + 2.0 / 6) * std::sqrt(8 * e * e / 6);
  const auto apart = [e](double gap) {
    const double c = gap + 2 * e;  // between the middles of the two classes
    return fit::classes_of({-e, e, -e, e, c - e, c + e, c - e, c + e}, 0.001);
  };
  CHECK(apart(3.02 * scatter) == Classes{0, 0, 0, 0, 1, 1, 1, 1});
  CHECK(apart(2.98 * scatter) == Classes{0, 0, 0, 0, 0, 0, 0, 0});
  // rates: a class's value is that of its pairs, the fastest first
  Noise noise(2, 1e-4);
  const auto time = [](int a, int, double n) { return 9e-6 + n / (a < 4 ? 18e9 : 15e9); };
  const auto all = fit::fit_parameters(request_for({sweep("peer", Pairs::kPeer, time, noise)})).classes;
  REQUIRE(all.back().rate);
  REQUIRE(all.back().classes.size() == 2);
  CHECK_THAT(all.back().classes[0].value, WithinRel(18e9, 0.02));
  CHECK_THAT(all.back().classes[1].value, WithinRel(15e9, 0.02));
  CHECK(all.back().classes[0].pairs.size() == 16);
  CHECK(median_of({1, 2}) == 1.5);
}

TEST_CASE("two modes: a gap of three fifths of their distance, four deviations, shares of 15 %", "[unit][fit]") {
  // ten times about each of two values 10 % apart, the inner ones as given off their middles
  const auto modes = [](double inner) {
    std::vector<double> times;
    for (int i = 0; i < 10; ++i) {
      times.push_back(std::exp(i < 9 ? 0.0 : inner));
      times.push_back(std::exp(i < 9 ? 0.1 : 0.1 - inner));
    }
    fit::TwoModes found;
    return fit::find_two_modes(times, found);
  };
  CHECK(modes(0.019));        // a gap of 0.062 of 0.1
  CHECK_FALSE(modes(0.021));  // of 0.058
  const auto share = [](int high) {
    std::vector<double> times(static_cast<std::size_t>(20 - high), 1.0);
    times.insert(times.end(), static_cast<std::size_t>(high), 1.2);
    fit::TwoModes found;
    return fit::find_two_modes(times, found) ? found.high_share : 0;
  };
  CHECK(share(2) == 0);
  CHECK(share(3) == 0.15);
  CHECK(share(17) == 0.85);
  CHECK(share(18) == 0);
  // repetitions alike to the last digit: what is off by 5 % is an outlier, by less than five times 1 % not
  std::vector<double> times(20, 1.0);
  times[3] = 1.051;
  CHECK(fit::find_outliers(times).size() == 1);
  times[3] = 1.049;
  CHECK(fit::find_outliers(times).empty());
  times.assign(7, 1.0);
  times[3] = 2;
  CHECK(fit::find_outliers(times).empty());
  times.push_back(1);
  CHECK(fit::find_outliers(times).size() == 1);
}

}  // namespace linkcast::test::fit_parts_test
