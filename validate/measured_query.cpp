#include "validate/measured_query.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "sim/machine/collective.hpp"
#include "sim/machine/library_name.hpp"
#include "sim/records/parameters.hpp"
#include "validate/reduce.hpp"

namespace linkcast::validate {
namespace {

/// topology, source, target, transport, direction, via, bidirectional, size
using PointKey = std::tuple<std::string, std::string, std::string, std::string, std::string, std::string, bool, double>;
using Times = std::map<PointKey, std::vector<double>>;

PointKey key_of(const Json& query) {
  ObjectReader r(query, "query on measured data");
  r.choice("kind", {"p2p"});
  const auto platform = r.required<std::string>("platform");
  const auto source = r.required<std::string>("src");
  const auto target = r.required<std::string>("dst");
  const auto transport = r.required<std::string>("transport");
  PointKey key{platform,
               source,
               target,
               transport,
               r.optional<std::string>("direction").value_or(""),
               r.optional<std::string>("via").value_or(""),
               r.optional<bool>("bidirectional").value_or(false),
               r.required<double>("size_B")};
  r.finish();
  return key;
}

Json look_up(const Times& times, const Json& query) {
  PointKey key = key_of(query);
  auto found = times.find(key);
  if (std::get<4>(key).empty())  // not asked: whichever was measured
    for (const char* direction : {"write", "read"}) {
      if (found != times.end()) break;
      std::get<4>(key) = direction;
      found = times.find(key);
    }
  if (found == times.end()) throw InputError("no measured point for " + query.dump());
  std::vector<Labelled> points;
  for (const double time : found->second) points.push_back({0, time});
  const double time_s = reduce("median", points);
  const double payload_B = (std::get<6>(key) ? 2 : 1) * std::get<7>(key);
  return {{"time_s", time_s}, {"bandwidth_Bps", payload_B / time_s}, {"repetitions", points.size()}};
}

}  // namespace

Answer measured_answer(std::vector<Measurement> measurements, Answer structure) {
  Times times;
  for (const Measurement& m : measurements)
    for (const MeasuredPoint& p : m.points) {
      const std::string from = p.between_nodes ? "node0/" : "", to = p.between_nodes ? "node1/" : "";
      auto& all = times[{m.topology, from + p.source, to + p.target, p.transport, p.direction, p.via, p.bidirectional,
                         p.size_B}];
      all.insert(all.end(), p.time_s.begin(), p.time_s.end());
    }
  return [times = std::move(times), structure = std::move(structure)](const Json& query) {
    return query.value("kind", "") == "show" ? structure(query) : look_up(times, query);
  };
}

namespace {

/// Calls of one repetition of the bench: half of 1 ms / (2 us + size / 300 GB/s), at least 2 and at most 64, at
/// most 16. source: calibrate/bench/nccl_ops.cpp; the records' `calls_per_repetition` say the same in words
int bench_calls(double size_B) {
  const double copies = std::floor(1e-3 / (2e-6 + size_B / 300e9));  // source: the same
  return std::min(16, static_cast<int>(std::clamp(copies, 2.0, 64.0)) / 2);
}

}  // namespace

std::string issuer_of(const Measurement& measurement, const MeasuredCollective& c) {
  const bool ours = measurement.source.rfind("linkcast-bench", 0) == 0;
  return c.launch.empty() && ours ? "queue" : c.launch;
}

Json collective_query(const std::string& platform_id, const Measurement& measurement, const MeasuredCollective& c) {
  Json query{{"platform", platform_id}, {"kind", "collective"}, {"op", c.op}, {"size_B", c.size_B}};
  if (c.nodes > 1) {
    for (std::size_t k = 0; k < c.gpus.size(); ++k)
      if (c.gpus[k] != static_cast<int>(k))
        throw InputError(
            fmt::format("{} over several nodes is predicted of the first GPUs of each, 0 to {}, in this order",
                        c.op.name(), c.gpus.size() - 1));
    query["nodes"] = c.nodes;
    query["gpus_per_node"] = c.gpus.size();
  } else {
    query["gpus"] = c.gpus;
  }
  if (!measurement.library.empty())
    query["library"] = measurement.library;
  else if (measurement.bench.starts_with("nccl_") && !measurement.library_version.empty())
    query["library"] = registered_nccl(measurement.library_version);
  if (!c.algorithm.empty()) query["algorithm"] = c.algorithm;
  if (measurement.nvls && c.algorithm.empty()) query["nvls"] = *measurement.nvls;
  const bool messages = collectives().get(c.op.name()).shape() == Shape::kPairs;
  if (!c.protocol.empty() && !messages) query["protocol"] = c.protocol;
  if (c.channels > 0) query["channels"] = c.channels;
  if (!issuer_of(measurement, c).empty()) query["launch"] = issuer_of(measurement, c);
  for (const MeasuredCollective::Other& other : c.with)
    query["with"].push_back({{"op", other.op}, {"gpus", other.gpus}, {"size_B", other.size_B}});
  if (measurement.bench.starts_with("nccl_") && measurement.bench != "nccl_tests")
    query["calls"] = bench_calls(c.size_B);
  return query;
}

bool beyond_curve(const Calibration& calibration, const MeasuredPoint& point) {
  if (point.between_nodes || !point.source.starts_with("gpu") || !point.target.starts_with("gpu")) return false;
  bool ends = false;
  for (const char* curve : {"mpi_socket", "mpi_node"})
    for (std::size_t range = 0;
         calibration.find(key::startup(curve, range)) || calibration.find(key::flat(curve, range)); ++range) {
      const Parameter* to = calibration.find(key::range_end(curve, range));
      if (!to || point.size_B <= to->value) return false;
      ends = true;
    }
  return ends;
}

}  // namespace linkcast::validate
