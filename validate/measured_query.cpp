#include "validate/measured_query.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>

#include "sim/records/parameter_rows.hpp"

namespace linkcast::validate {
namespace {

/// Calls of one repetition of the bench: half of 1 ms / (2 us + size / 300 GB/s), at least 2 and at most 64, at
/// most 16. source: calibrate/bench/nccl_ops.cpp; the records' `calls_per_repetition` say the same in words
int bench_calls(double size_B) {
  const double copies = std::floor(1e-3 / (2e-6 + size_B / 300e9));  // source: the same
  return std::min(16, static_cast<int>(std::clamp(copies, 2.0, 64.0)) / 2);
}

/// As queries name what NCCL_ALGO names: NVLSTree is nvls_tree; CollNet, of old versions, the chain.
std::string algorithm_of(const std::string& name) {
  static const std::map<std::string, std::string> kOwn = {{"NVLSTree", "nvls_tree"},
                                                          {"CollNet", "collnet_chain"},
                                                          {"CollNetDirect", "collnet_direct"},
                                                          {"CollNetChain", "collnet_chain"}};
  if (const auto it = kOwn.find(name); it != kOwn.end()) return it->second;
  std::string text = name;
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char ch) { return std::tolower(ch); });
  return text;
}

}  // namespace

std::string issuer_of(const Measurement& measurement, const MeasuredCollective& c) {
  const bool ours = measurement.source.rfind("linkcast-bench", 0) == 0;
  return c.launch.empty() && ours ? "graph" : c.launch;
}

Json collective_query(const std::string& platform_id, const Measurement& measurement, const MeasuredCollective& c) {
  if (c.channels > 0) throw InputError(c.op + " with a forced number of channels is not predicted");
  Json query{{"platform", platform_id}, {"kind", "collective"}, {"op", c.op}, {"size_B", c.size_B}};
  if (c.nodes > 1) {
    for (std::size_t k = 0; k < c.gpus.size(); ++k)
      if (c.gpus[k] != static_cast<int>(k))
        throw InputError(c.op + " over several nodes is predicted of the first GPUs of each, 0 to " +
                         std::to_string(c.gpus.size() - 1) + ", in this order");
    query["nodes"] = c.nodes;
    query["gpus_per_node"] = c.gpus.size();
  } else {
    query["gpus"] = c.gpus;
  }
  if (!measurement.library.empty()) query["library"] = measurement.library;
  if (!c.algorithm.empty()) query["algorithm"] = algorithm_of(c.algorithm);
  if (measurement.nvls && c.algorithm.empty()) query["nvls"] = *measurement.nvls;
  if (!c.protocol.empty()) query["protocol"] = c.protocol;
  if (!issuer_of(measurement, c).empty()) query["launch"] = issuer_of(measurement, c);
  for (const MeasuredCollective::Other& other : c.with)
    query["with"].push_back({{"op", other.op}, {"gpus", other.gpus}, {"size_B", other.size_B}});
  if (measurement.bench == "nccl_ops" || measurement.bench == "nccl_contention") query["calls"] = bench_calls(c.size_B);
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
