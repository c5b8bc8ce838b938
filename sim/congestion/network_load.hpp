#pragma once
// What a query says about the network that its answer runs in: noise of other jobs, service level, places of the nodes,
// jobs beside it.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/log/progress.hpp"
#include "sim/platform/cluster.hpp"
#include "sim/platform/noise.hpp"
#include "sim/records/object_reader.hpp"

namespace linkcast::congestion {

/// Another job that runs over and over for as long.
struct JobBeside {
  std::string op;  ///< incast, alltoall, all_reduce
  int nodes = 0;
  int service_level = 0;
};

struct NetworkLoad {
  std::optional<NoiseModel> noise;  ///< none: not asked for
  std::uint64_t seed = 0;
  int samples = 0;
  int service_level = 0;
  std::string allocation{};  ///< packed, random, or empty: the first nodes
  std::uint64_t allocation_seed = 0;
  std::vector<JobBeside> beside{};
  log::Progress* progress = nullptr;  ///< of the samples; of whoever asked

  /// Noise that this answer feels: that of its own service level.
  [[nodiscard]] bool noisy() const { return noise && noise->service_level == service_level; }
};

/// Keys noise (seed), samples, service_level. @throws InputError  no noise was fitted on this machine, ...
/// @param progress  told of the samples, as long as the load is used
NetworkLoad read_noise(ObjectReader& r, const Calibration& calibration, log::Progress& progress);
/// Those, and allocation, allocation_seed, beside [{op, nodes, service_level}].
NetworkLoad read_network_load(ObjectReader& r, const Calibration& calibration, log::Progress& progress);
/// The cluster with the nodes of a job, then those of the ones beside it, first; nothing if they are its first nodes.
/// @throws InputError  too many nodes
std::unique_ptr<Cluster> place_jobs(const Cluster& cluster, int nodes, const NetworkLoad& load);
/// @throws InputError  the query has one of these keys, and its kind has no network
void refuse_network_keys(const Json& query, const std::string& why);

/// Latency and time of the bytes of one forecast.
struct SampleTime {
  double latency_s = 0, flow_s = 0;
  int sample = 0;
  [[nodiscard]] double time_s() const { return latency_s + flow_s; }
};

/// Sorted by time.
using SampleTimes = std::vector<SampleTime>;

/// One forecast a draw.
SampleTimes draw_samples(const NetworkLoad& load, const std::function<SampleTime(const Background&)>& forecast);
/// The smallest one that at least this share of all is not above (nearest rank).
const SampleTime& percentile(const SampleTimes& times, int percent);
/// Keys seed, samples, service_level, quiet_s, percentiles {p5 ... p99}, mean_s, min_s, max_s.
void put_percentiles(Json& out, const NetworkLoad& load, const SampleTimes& times, double quiet_s);

}  // namespace linkcast::congestion
