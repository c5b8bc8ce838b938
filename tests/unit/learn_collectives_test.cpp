// Parameters of a library from collectives that a machine of known parameters would show.
#include <cmath>

#include "calibrate/learn/collectives.hpp"
#include "sim/query/query.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/error_of.hpp"
#include "validate/measured_query.hpp"

namespace linkcast::test::learn_collectives_test {

namespace {

const std::string kLibrary = "nccl-2.8";

Topology topology() { return read_topology(test::data_dir() + "/topologies/abci-v100.json"); }

/// Copies alone: nothing of the library.
Calibration copies() {
  Calibration calibration = read_calibration(test::data_dir() + "/models/params/abci-v100.json");
  std::erase_if(calibration.parameters, [](const auto& item) { return item.first.starts_with("nccl."); });
  std::erase_if(calibration.scatter,
                [](const Scatter& s) { return s.transport.find("collective") != std::string::npos; });
  calibration.correlation = {};
  return calibration;
}

Calibration truth() {
  Calibration calibration = copies();
  const auto set = [&](const std::string& name, double value, const char* unit) {
    calibration.parameters["nccl." + name] = {value, 0, unit, "fitted"};
  };
  for (const std::string protocol : {"LL", "LL128", "Simple"}) {
    set("ring." + protocol + "@2.8.base_s", protocol == "LL" ? 9e-6 : 20e-6, "s");
    set("ring." + protocol + "@2.8.hop_s", protocol == "LL" ? 1e-6 : 5e-6, "s");
    set("network." + protocol + "@2.8.hop_s", 20e-6, "s");
  }
  set("ring.LL128@2.8.channel_Bps", 5e9, "B/s");
  return calibration;
}

/// All_reduce of 8 B to 32 MiB on one node and on two, as a machine of these parameters would take for it.
Measurement measured(const Calibration& of) {
  Measurement m;
  m.path = "synthetic.json";
  m.topology = "abci-v100";
  m.bench = "nccl_tests";
  m.library = kLibrary;
  catalogue().adopt("synthetic", topology(), of);
  for (const int nodes : {1, 2})
    for (double size = 8; size <= 33554432; size *= 4) {
      MeasuredCollective c;
      c.op = "all_reduce";
      c.gpus = {0, 1, 2, 3};
      c.nodes = nodes;
      c.size_B = size;
      c.launch = "graph";
      const Json answer = query::answer(catalogue(), validate::collective_query("synthetic", m, c));
      c.time_s = {answer.at("time_s").get<double>()};
      m.collectives.push_back(c);
    }
  return m;
}

}  // namespace

TEST_CASE("what a machine's collectives show is learned, and forecasts meet them") {
  const std::vector<Measurement> all = {measured(truth())};
  Calibration learned = copies();
  const learn::Lesson lesson = learn::learn_collectives(catalogue(), topology(), learned, learn::samples_of(all));
  CHECK(lesson.points.size() == all[0].collectives.size());
  CHECK(lesson.refused.empty());
  CHECK(lesson.sigma < 0.03);
  // One count of GPUs shows the sum of base and hops of the smallest call, not its parts.
  const auto sum = [](const Calibration& c) {
    return c.parameters.at("nccl.ring.LL@2.8.base_s").value + 6 * c.parameters.at("nccl.ring.LL@2.8.hop_s").value;
  };
  CHECK_THAT(sum(learned), WithinRel(sum(truth()), 0.05));
  CHECK_THAT(learned.parameters.at("nccl.ring.LL128@2.8.channel_Bps").value, WithinRel(5e9, 0.2));
  CHECK(learned.parameters.at("nccl.ring.LL128@2.8.channel_Bps").provenance == "fitted");
  bool network = false;
  for (const Scatter& s : learned.scatter) {
    if (!s.transport.starts_with("collective")) continue;
    const bool between = s.transport == "collective_network";
    network = network || between;
    CHECK(s.nodes == (between ? 2 : 0));
    CHECK(s.operations == (between ? std::vector<std::string>{"all_reduce"} : std::vector<std::string>{}));
  }
  CHECK(network);
}

TEST_CASE("a class of few points is never surer than these points are") {
  std::vector<Measurement> all = {measured(truth())};
  int large = 0;  // one of them by so much that no parameter follows: a 12th of all between nodes
  for (MeasuredCollective& c : all[0].collectives)
    if (c.nodes == 2 && c.size_B >= 4194304 && large++ == 0) c.time_s[0] *= 2;
  REQUIRE(large < 5);
  Calibration learned = copies();
  const learn::Lesson lesson = learn::learn_collectives(catalogue(), topology(), learned, learn::samples_of(all));
  double largest = 0;
  for (const learn::Point& p : lesson.points)
    if (p.nodes == 2 && p.size_B >= 4194304) largest = std::max(largest, std::abs(p.log_error()));
  REQUIRE(largest > 0.3);
  for (const Scatter& s : learned.scatter)
    if (s.transport == "collective_network" && s.from_B == 4194304) CHECK(s.sigma_log > 0.8 * largest / 1.645);
}

TEST_CASE("base and hops that the data show only together make no interval wider than the data do") {
  const std::vector<Measurement> all = {measured(truth())};
  Calibration learned = copies();
  learn::learn_collectives(catalogue(), topology(), learned, learn::samples_of(all));
  const Correlation& known = learned.correlation;
  const int base = known.place("nccl.ring.LL@2.8.base_s"), hop = known.place("nccl.ring.LL@2.8.hop_s");
  REQUIRE(base >= 0);
  REQUIRE(hop >= 0);
  CHECK(known.between(base, hop) < -0.3);
  const auto width = [&](const Calibration& of) {
    std::vector<std::string> refused;
    const learn::Sample smallest{all.data(), all[0].collectives.data()};
    const learn::Point point = learn::forecasts(catalogue(), topology(), of, {smallest}, refused).at(0);
    return std::log(point.high_s / point.low_s);
  };
  Calibration independent = learned;
  independent.correlation = {};
  CHECK(width(learned) < 0.8 * width(independent));
}

TEST_CASE("what no collective is limited by stays believed") {
  const std::vector<Measurement> all = {measured(truth())};
  Calibration learned = copies();
  const learn::Lesson lesson = learn::learn_collectives(catalogue(), topology(), learned, learn::samples_of(all));
  const auto found = std::find_if(lesson.parameters.begin(), lesson.parameters.end(),
                                  [](const learn::Taught& t) { return t.name == "nccl.ring.Simple@2.8.crowding"; });
  REQUIRE(found != lesson.parameters.end());
  CHECK_FALSE(found->estimate.determined);
  CHECK(learned.parameters.at(found->name).provenance == "believed");
}

TEST_CASE("a part that is left out is forecast from the rest, and scored by itself") {
  const std::vector<Measurement> all = {measured(truth())};
  const std::vector<learn::Sample> samples = learn::samples_of(all);
  const learn::HeldOut held = learn::hold_out(catalogue(), topology(), copies(), samples, learn::Part("size=4MiB-"));
  REQUIRE_FALSE(held.points.empty());
  for (const learn::Point& p : held.points) CHECK(p.size_B >= 4194304);
  const std::vector<learn::AccuracyRow> rows = learn::accuracy(held.points, "abci-v100", held.part);
  REQUIRE(rows.size() == 2);  // one node and two
  CHECK(rows[0].points + rows[1].points == static_cast<int>(held.points.size()));
  CHECK(rows[0].sizes == "from 4 MiB");
}

TEST_CASE("parts are those that leave something to learn from") {
  const std::vector<Measurement> all = {measured(truth())};
  const std::vector<learn::Sample> samples = learn::samples_of(all);
  std::vector<std::string> texts;
  for (const learn::Part& part : learn::parts_of(samples, {"nodes", "gpus", "op", "size"}))
    texts.push_back(part.text());
  CHECK(texts == std::vector<std::string>{"nodes=1", "nodes=2", "gpus=4", "gpus=8", "size=0B-64KiB", "size=64KiB-4MiB",
                                          "size=4MiB-"});
  CHECK(error_of([] { return learn::Part("nodes"); }).find("nodes=N") != std::string::npos);
  CHECK(error_of([] { return learn::Part("colour=red"); }).find("one of nodes=N") != std::string::npos);
  CHECK(error_of([] { return learn::Part("size=big"); }).find("FROM-TO") != std::string::npos);
  CHECK(error_of([] { return learn::Part("size=1-2"); }).find("unit") != std::string::npos);
}

TEST_CASE("a log with NVLS on teaches what multicast attains") {
  const std::string data = test::data_dir();
  const Topology hgx = read_topology(data + "/topologies/hgx-h100.json");
  const Calibration known = read_calibration(data + "/models/params/hgx-h100.json");
  Calibration machine = known;
  machine.parameters["nccl.nvls@2.18.link_share"] = {0.95, 0, "1", "fitted"};
  machine.parameters["nccl.nvls@2.18.base_s"] = {40e-6, 0, "s", "fitted"};
  catalogue().adopt("synthetic h100", hgx, machine);
  Measurement m;
  m.path = "synthetic.json";
  m.topology = "hgx-h100";
  m.bench = "nccl_tests";
  m.library = "nccl-2.18";
  for (double size = 4194304; size <= 4294967296; size *= 4) {
    MeasuredCollective c;
    c.op = "all_reduce";
    c.gpus = {0, 1, 2, 3, 4, 5, 6, 7};
    c.size_B = size;
    c.launch = "graph";
    const Json query = validate::collective_query("synthetic h100", m, c);
    CHECK_FALSE(query.contains("nvls"));  // nothing is said of it
    const Json answer = query::answer(catalogue(), query);
    REQUIRE(answer.value("algorithm", "") == "nvls");
    c.time_s = {answer.at("time_s").get<double>()};
    m.collectives.push_back(c);
  }
  Calibration learned = known;
  const std::vector<Measurement> all = {m};
  const learn::Lesson lesson = learn::learn_collectives(catalogue(), hgx, learned, learn::samples_of(all));
  CHECK(lesson.refused.empty());
  CHECK_THAT(learned.parameters.at("nccl.nvls@2.18.link_share").value, WithinRel(0.95, 0.02));
  CHECK(learned.parameters.at("nccl.nvls@2.18.link_share").provenance == "fitted");
  CHECK_THAT(learned.parameters.at("nccl.nvls@2.18.base_s").value, WithinRel(40e-6, 0.2));
  CHECK(learned.parameters.at("nccl.nvls@2.18.channel_Bps").provenance == "believed");
}

TEST_CASE("measured collectives are asked as they ran") {
  Measurement m;
  m.library = "nccl-2.18";
  MeasuredCollective c;
  c.op = "all_reduce";
  c.gpus = {0, 1, 2};
  c.size_B = 8;
  m.nvls = false;
  CHECK(validate::collective_query("x", m, c)["nvls"] == false);
  c.algorithm = "NVLSTree";
  CHECK(validate::collective_query("x", m, c)["algorithm"] == "nvls_tree");
  CHECK_FALSE(validate::collective_query("x", m, c).contains("nvls"));
  c.algorithm = "CollNet";
  CHECK(validate::collective_query("x", m, c)["algorithm"] == "collnet_chain");
}

TEST_CASE("figures of a row are those of its points") {
  std::vector<learn::Point> points(3);
  const double modelled[] = {1.1, 0.8, 1.3};
  for (std::size_t i = 0; i < points.size(); ++i) {
    points[i].library = kLibrary;
    points[i].op = "all_reduce";
    points[i].size_B = 8;
    points[i].measured_s = 1;
    points[i].modelled_s = modelled[i];
    points[i].low_s = 0.9 * modelled[i];
    points[i].high_s = 1.1 * modelled[i];
  }
  const std::vector<learn::AccuracyRow> rows = learn::accuracy(points, "m", "");
  REQUIRE(rows.size() == 1);
  CHECK_THAT(rows[0].median, WithinRel(0.2, 1e-9));
  CHECK_THAT(rows[0].p95, WithinRel(0.3, 1e-9));
  CHECK_THAT(rows[0].bias, WithinRel(0.1, 1e-9));
  CHECK_THAT(rows[0].coverage, WithinRel(1.0 / 3, 1e-9));
}

}  // namespace linkcast::test::learn_collectives_test
