#pragma once
// What a query says about the network that its answer runs in: noise of other jobs, service level, places of the nodes,
// jobs beside it.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/object_reader.hpp"
#include "sim/base/progress.hpp"
#include "sim/machine/cluster.hpp"
#include "sim/machine/noise.hpp"

namespace linkcast::congestion {

/// Another job that runs over and over for as long.
struct JobBeside {
  std::string op;  ///< incast, alltoall, all_reduce
  int nodes = 0;
  int service_level = 0;
};

/// Said where noise or other jobs are asked for and nothing crosses the fabric.
inline constexpr const char* kStaysInNode =
    "nothing crosses the network between nodes: its noise and other jobs on it cost nothing";

struct NetworkLoad {
  std::optional<NoiseModel> noise;  ///< none: not asked for, or nothing crosses the fabric
  std::uint64_t seed = 0;
  int samples = 0;  ///< 0: no noise was asked for
  int service_level = 0;
  bool round_trip = false;   ///< times are halves of a message there and one back
  std::string allocation{};  ///< packed, random, or empty: the first nodes
  std::uint64_t allocation_seed = 0;
  std::vector<JobBeside> beside{};
  log::Progress* progress = nullptr;  ///< of the samples; of whoever asked

  [[nodiscard]] bool draws() const { return samples > 0; }
  [[nodiscard]] bool any() const { return draws() || !beside.empty(); }
  /// Noise that this answer feels: that of its own service level.
  [[nodiscard]] bool noisy() const { return noise && noise->service_level == service_level; }
};

/// Whether what is asked for crosses the fabric: where not, there is no noise to draw.
enum class Crosses { kFabric, kNothing };

/// Keys noise (seed), samples, service_level. @throws InputError  no noise was fitted on this machine, ...
/// @param progress  told of the samples, as long as the load is used
NetworkLoad read_noise(ObjectReader& r, const Calibration& calibration, log::Progress& progress,
                       Crosses crosses = Crosses::kFabric);
/// Those, and allocation, allocation_seed, beside [{op, nodes, service_level}].
NetworkLoad read_network_load(ObjectReader& r, const Calibration& calibration, log::Progress& progress,
                              Crosses crosses = Crosses::kFabric);
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
/// The same where every draw leaves the time as it is.
void put_unmoved(Json& out, const NetworkLoad& load, double time_s);

}  // namespace linkcast::congestion
