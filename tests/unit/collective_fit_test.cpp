// Parameters of NCCL from a synthetic record of bench nccl_base, which the forecast itself made from known ones.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "calibrate/fit/fit.hpp"
#include "calibrate/learn/collectives.hpp"
#include "sim/query/query.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"
#include "validate/measured_query.hpp"

namespace linkcast::test::collective_fit_test {

namespace {

Topology topology() { return read_topology(test::data_dir() + "/topologies/hgx-h200.json"); }

/// Copies alone: nothing of the library.
Calibration copies() {
  Calibration calibration = read_calibration(test::data_dir() + "/models/params/hgx-h200.json");
  std::erase_if(calibration.parameters, [](const auto& item) { return item.first.starts_with("nccl."); });
  std::erase_if(calibration.scatter,
                [](const Scatter& s) { return s.transport.find("collective") != std::string::npos; });
  calibration.correlation = {};
  return calibration;
}

/// Of Simple, off their priors by a quarter to a third.
const std::map<std::string, double> kTruth = {
    {"ring.Simple@2.18.base_s", 12e-6},      {"ring.Simple@2.18.hop_s", 2.6e-6},
    {"ring.Simple@2.18.copy_s", 2.2e-6},     {"ring.Simple@2.18.reduce_s", 0.3e-6},
    {"ring.Simple@2.18.channel_Bps", 27e9},  {"ring.Simple@2.18.copy_steps", 0.48},
    {"ring.Simple@2.18.reduce_steps", 0.23}, {"ring.Simple@2.18.read_steps", 0.3},
    {"ring.Simple@2.18.read_s", 1.7e-6},     {"sendrecv@2.18.base_s", 14e-6},
    {"sendrecv@2.18.channel_Bps", 25e9},     {"sendrecv@2.18.unidirectional", 1.2}};

Calibration truth() {
  Calibration calibration = copies();
  for (const auto& [name, value] : kTruth) calibration.parameters["nccl." + name] = {value, 0, "", "fitted"};
  return calibration;
}

MeasuredCollective point(const std::string& op, int gpus, double size_B, int channels) {
  MeasuredCollective c;
  c.op = op;
  for (int k = 0; k < gpus; ++k) c.gpus.push_back(k);
  c.size_B = size_B;
  c.protocol = "Simple";
  c.channels = channels;
  c.launch = "graph";
  return c;
}

Measurement record(const std::string& bench = "nccl_base") {
  Measurement m;
  m.path = "synthetic.json";
  m.topology = "hgx-h200";
  m.bench = bench;
  m.timing = "back_to_back";
  m.library = "nccl-2.18";
  return m;
}

double forecast_s(const std::string& machine, const Measurement& m, const MeasuredCollective& c) {
  const Json answer = query::answer(catalogue(), validate::collective_query(machine, m, c));
  INFO(answer.dump());
  REQUIRE(answer.value("error", "") == "");
  return answer.at("time_s").get<double>();
}

/// What two GPUs of a machine of these parameters would take: five rings and three kinds of messages, with one, 16 and
/// all channels.
Measurement of_two_gpus(const Calibration& of) {
  Measurement m = record();
  catalogue().adopt("synthetic", topology(), of);
  const std::vector<std::pair<int, std::vector<double>>> sizes = {
      {0, {8192, 65536, 1048576, 16777216, 268435456}}, {1, {8192, 33554432}}, {16, {4194304, 67108864}}};
  for (const auto& [channels, all] : sizes)
    for (const std::string op :
         {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "sendrecv", "gather"})
      for (const double size : all) {
        MeasuredCollective c = point(op, 2, size, channels);
        if (op != "sendrecv" && op != "gather") c.algorithm = "Ring";
        c.time_s = {forecast_s("synthetic", m, c)};
        m.collectives.push_back(c);
      }
  return m;
}

Measurement one_copy() {
  Measurement m;
  m.path = "copy.json";
  m.topology = "hgx-h200";
  m.timing = "back_to_back";
  for (const double size : {4.0, 1048576.0, 67108864.0}) {
    MeasuredPoint copied;
    copied.transport = "peer";
    copied.source = "gpu0";
    copied.target = "gpu1";
    copied.direction = "write";
    copied.size_B = size;
    copied.time_s = {2e-6 + size / 400e9};
    m.points.push_back(copied);
  }
  return m;
}

}  // namespace

TEST_CASE("two GPUs show what NCCL costs: operations separate base, hops, storing and adding", "[unit][fit]") {
  const std::vector<Measurement> all = {of_two_gpus(truth())};
  Calibration learned = copies();
  const learn::Lesson lesson = learn::learn_collectives(catalogue(), topology(), learned, learn::samples_of(all));
  CHECK(lesson.refused.empty());
  CHECK(lesson.points.size() == all[0].collectives.size());
  CHECK(lesson.sigma < 0.02);
  const auto value = [](const Calibration& of, const std::string& name) {
    INFO(name);
    REQUIRE(of.parameters.count("nccl." + name) == 1);
    return of.parameters.at("nccl." + name).value;
  };
  // what an eighth of a small call makes, or a tenth of a step, a few calls show to some percent only
  const std::set<std::string> small = {"ring.Simple@2.18.hop_s", "ring.Simple@2.18.copy_s",
                                       "ring.Simple@2.18.reduce_steps"};
  for (const auto& [name, known] : kTruth) {
    INFO(name);
    if (name == "ring.Simple@2.18.reduce_s") {  // a fiftieth of a small call: the error bar says so, and covers it
      const Parameter& one = learned.parameters.at("nccl." + name);
      CHECK(std::abs(std::log(one.value / known)) < 2 * one.stderr_ / one.value);
      continue;
    }
    CHECK_THAT(value(learned, name), WithinRel(known, small.count(name) > 0 ? 0.15 : 0.06));
    if (small.count(name) == 0) CHECK(learned.parameters.at("nccl." + name).provenance == "fitted");
  }
  // rings of more GPUs were never shown: hops and steps alone make them
  catalogue().adopt("synthetic", topology(), truth());
  catalogue().adopt("learned of two", topology(), learned);
  const Measurement m = record();
  for (const int gpus : {3, 4, 8})
    for (const char* op : {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce"})
      for (const double size : {49152.0, 3 * 16777216.0}) {
        MeasuredCollective c = point(op, gpus, size, 0);
        c.algorithm = "Ring";
        INFO(gpus << " " << op << " " << size);
        CHECK_THAT(forecast_s("learned of two", m, c), WithinRel(forecast_s("synthetic", m, c), 0.06));
      }
}

TEST_CASE("collectives are learned from where their library is named, by a protocol at sizes that take it",
          "[unit][fit]") {
  Measurement m = record();
  for (const double size : {1024.0, 8192.0, 4194304.0, 4194305.0})
    for (const std::string protocol : {"LL", "LL128", "Simple", ""}) {
      m.collectives.push_back(point("all_reduce", 2, size, 0));
      m.collectives.back().protocol = protocol;
    }
  m.collectives.push_back(point("all_reduce", 2, 8192, 4));
  m.collectives.push_back(point("all_reduce", 2, 8192, 0));
  m.collectives.back().with.push_back({});
  std::vector<Measurement> all = {m};
  std::map<std::string, int> kept;
  for (const learn::Sample& sample : learn::samples_of(all)) ++kept[sample.collective->protocol];
  // LL up to 4 MiB, the others from 8 KiB on, and one by four channels; not what ran with another
  CHECK(kept == std::map<std::string, int>{{"", 4}, {"LL", 3}, {"LL128", 3}, {"Simple", 4}});
  all[0].library.clear();
  CHECK(learn::samples_of(all).empty());
  // whatever another bench forces is its own
  all = {m};
  all[0].bench = "nccl_ops";
  CHECK(learn::samples_of(all).size() == m.collectives.size() - 1);
}

TEST_CASE("forced channels are asked for, a protocol of messages is not", "[unit][fit]") {
  const Measurement m = record();
  CHECK(validate::collective_query("x", m, point("all_reduce", 2, 8192, 4))["channels"] == 4);
  CHECK(validate::collective_query("x", m, point("all_reduce", 2, 8192, 4))["protocol"] == "Simple");
  CHECK_FALSE(validate::collective_query("x", m, point("all_reduce", 2, 8192, 0)).contains("channels"));
  CHECK(validate::collective_query("x", m, point("gather", 2, 8192, 16))["channels"] == 16);
  CHECK_FALSE(validate::collective_query("x", m, point("gather", 2, 8192, 16)).contains("protocol"));
}

TEST_CASE("a record of bench nccl_base says by its method which NCCL ran", "[unit][fit]") {
  const Measurement m = read_measurement(test::data_dir() + "/calibrate/data/hgx-h200/20261126b-nccl_base.json");
  CHECK(m.of_base_costs());
  CHECK(m.library_version == "2.28.3");
}

TEST_CASE("collectives of every bench are left out of the fit of copies", "[unit][fit]") {
  const Topology wiring = topology();
  for (const char* bench : {"nccl_base", "nccl_ops"}) {
    fit::FitRequest request;
    request.name = "hgx-h200";
    request.topology = &wiring;
    Measurement m = record(bench);
    for (const double size : {8.0, 67108864.0}) {
      m.collectives.push_back(point("all_reduce", 2, size, 1));
      m.collectives.back().time_s = {1e-5 + size / 10e9};
    }
    request.measurements = {one_copy(), m};
    const fit::FitResult result = fit::fit_parameters(request);
    CHECK(result.calibration.find("cable.nvlink4.bandwidth_Bps") != nullptr);
    CHECK(std::none_of(result.calibration.parameters.begin(), result.calibration.parameters.end(),
                       [](const auto& one) { return one.first.starts_with("nccl."); }));
  }
}

}  // namespace linkcast::test::collective_fit_test
