#include "sim/plan/network_load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "sim/base/input_error.hpp"
#include "sim/base/limits.hpp"
#include "sim/base/statistics.hpp"
#include "sim/machine/placed_fabric.hpp"

namespace linkcast::congestion {
namespace {

constexpr int kUsualSamples = 200;     // ours: the 5th percentile rests on ten of them
constexpr int kMostSamples = 1000000;  // ours
constexpr int kLevels = 16;            // source: InfiniBand Architecture Specification, service level: four bits
constexpr int kPercent[] = {5, 25, 50, 75, 95, 99};

std::uint64_t read_seed(ObjectReader& r, const char* key) {
  const auto seed = r.required<std::int64_t>(key);
  if (seed < 0) r.fail(key, "a seed is a whole number, 0 or more");
  return static_cast<std::uint64_t>(seed);
}

int read_level(ObjectReader& r) {
  const int level = r.optional<int>("service_level").value_or(kDefaultLevel);
  if (level < 0 || level >= kLevels) r.fail("service_level", fmt::format("must be 0 to {}", kLevels - 1));
  return level;
}

}  // namespace

NetworkLoad read_noise(ObjectReader& r, const Calibration& calibration, log::Progress& progress, Crosses crosses) {
  NetworkLoad load;
  load.progress = &progress;
  load.service_level = read_level(r);
  if (!r.has("noise")) {
    if (r.has("samples")) r.fail("samples", "are draws of noise: give noise as well");
    return load;
  }
  load.seed = read_seed(r, "noise");
  load.samples = r.optional<int>("samples").value_or(kUsualSamples);
  if (load.samples < 1 || load.samples > kMostSamples) r.fail("samples", fmt::format("must be 1 to {}", kMostSamples));
  if (crosses == Crosses::kNothing) return load;
  load.noise = NoiseModel::of(calibration);
  if (!load.noise) r.fail("noise", "was never fitted on " + calibration.topology);
  return load;
}

NetworkLoad read_network_load(ObjectReader& r, const Calibration& calibration, log::Progress& progress,
                              Crosses crosses) {
  NetworkLoad load = read_noise(r, calibration, progress, crosses);
  if (r.has("allocation")) load.allocation = r.choice("allocation", {"packed", "random"});
  if (r.has("allocation_seed")) {
    if (load.allocation != "random") r.fail("allocation_seed", "is of allocation random");
    load.allocation_seed = read_seed(r, "allocation_seed");
  }
  if (!r.has("beside")) return load;
  for (ObjectReader& other : r.objects("beside")) {
    JobBeside job{other.choice("op", {"incast", "alltoall", "all_reduce"}), other.required<int>("nodes")};
    if (job.nodes < 2) other.fail("nodes", "must be 2 or more");
    job.service_level = other.has("service_level") ? read_level(other) : load.service_level;
    other.finish();
    load.beside.push_back(job);
  }
  return load;
}

std::unique_ptr<Cluster> place_jobs(const Cluster& cluster, int nodes, const NetworkLoad& load) {
  std::vector<int> jobs = {nodes};
  for (const JobBeside& job : load.beside) jobs.push_back(job.nodes);
  if (std::accumulate(jobs.begin(), jobs.end(), 0) > cluster.nodes())
    throw InputError(
        fmt::format("beside: all jobs together have more than the {} nodes of the fabric", cluster.nodes()));
  if (load.allocation == "random") return placed_cluster(cluster, random_order(cluster.nodes(), load.allocation_seed));
  return load.beside.empty() ? nullptr : placed_cluster(cluster, packed_order(cluster, jobs));
}

void refuse_network_keys(const Json& query, const std::string& why) {
  for (const char* key : {"noise", "samples", "service_level", "allocation", "allocation_seed", "beside"})
    if (query.contains(key)) throw InputError(std::string(key) + ": " + why);
}

SampleTimes draw_samples(const NetworkLoad& load, const std::function<SampleTime(const Background&)>& forecast) {
  SampleTimes times;
  log::Work work(*load.progress, "noise", "samples", load.samples);
  work::Rounds rounds("noise", "samples", load.samples);
  for (int sample = 0; sample < load.samples; ++sample) {
    times.push_back(forecast(Background(*load.noise, load.seed, sample)));
    times.back().sample = sample;
    work.advance(sample + 1);
    rounds.done(sample + 1);
  }
  std::stable_sort(times.begin(), times.end(),
                   [](const SampleTime& a, const SampleTime& b) { return a.time_s() < b.time_s(); });
  return times;
}

const SampleTime& percentile(const SampleTimes& times, int percent) {
  constexpr double kHundred = 100;
  return times.at(nearest_rank_place(times.size(), percent / kHundred));
}

void put_percentiles(Json& out, const NetworkLoad& load, const SampleTimes& times, double quiet_s) {
  out["seed"] = load.seed;
  out["samples"] = load.samples;
  out["service_level"] = load.service_level;
  out["quiet_s"] = quiet_s;
  for (const int percent : kPercent)
    out["percentiles"][fmt::format("p{}", percent)] = percentile(times, percent).time_s();
  double sum = 0;
  for (const SampleTime& one : times) sum += one.time_s();
  out["mean_s"] = sum / static_cast<double>(times.size());
  out["min_s"] = times.front().time_s();
  out["max_s"] = times.back().time_s();
}

void put_unmoved(Json& out, const NetworkLoad& load, double time_s) {
  put_percentiles(out, load, {{0, time_s, 0}}, time_s);
}

}  // namespace linkcast::congestion
