#include "sim/collective/mpi_collective.hpp"

#include <algorithm>

#include "sim/activities/request.hpp"
#include "sim/activities/schedule_run.hpp"
#include "sim/activities/staging_copies.hpp"
#include "sim/plugin/collective.hpp"
#include "sim/plugin/message_library.hpp"
#include "sim/uncertainty/verdict.hpp"

namespace linkcast::collective {
namespace {

// No collective of MPI was ever measured for this repository. source: assumed, a factor of 1.6 either way at 90 %
constexpr double kMpiError = 0.3;
// A library's messages inside a node where none was measured. source: assumed, as kMpiError
constexpr double kStandInError = 0.3;
// Time spent reducing or copying through the host, of it. source: assumed, see the rates in schedule_run.cpp
constexpr double kAssumedRateError = 0.5;
// Rounds that stand for others. source: tests/physics/schedule_test.cpp, steady against step by step
constexpr double kSteadyError = 0.05;
constexpr double kWorthNaming = 0.1;  // source: ours, of the bytes that were limited
constexpr std::size_t kNamed = 12;    ///< constraints at most in a bottleneck

struct MpiJob {
  const Cluster& cluster;
  const MessageLibrary& library;
  std::string library_id, op;
  std::vector<ClusterGpu> ranks;
  int nodes = 1, per_node = 1;
  double size_B = 0;
  std::string transport{};  ///< of messages between nodes; empty: what the library would take
  [[nodiscard]] int count() const { return static_cast<int>(ranks.size()); }
};

struct MpiRun {
  std::string algorithm;
  activities::ScheduleTimes times;
  activities::StagingTimes staging;
  [[nodiscard]] double time_s() const { return times.time_s + staging.time_s(); }
};

MpiRun run(const MpiJob& job, const std::string& algorithm, Solver& solver) {
  MpiRun result{algorithm, {}, {}};
  const Platform& node = job.cluster.node();
  const Staging staging = job.library.staging(job.op);
  const bool host = staging != Staging::kNone;
  activities::ScheduleJob messages{job.cluster,  {}, job.per_node, job.size_B, activities::combine_cost(node, host),
                                   job.transport};
  for (const ClusterGpu& rank : job.ranks) {
    const int gpu = node.gpu(rank.gpu);
    messages.ranks.push_back({rank.node, host ? node.socket_of(gpu) : gpu});
  }
  const Schedule schedule = algorithms().get(algorithm).schedule(job.op, job.count());
  result.times = activities::run_schedule(messages, schedule, solver);
  if (host) result.staging = activities::staging_times(job.cluster, job.ranks, job.op, job.size_B, staging, solver);
  return result;
}

std::vector<std::string> able(const std::string& op) {
  std::vector<std::string> names;
  for (const PluginInfo& info : algorithms().list()) {
    const auto ops = algorithms().get(info.name).operations();
    if (std::find(ops.begin(), ops.end(), op) != ops.end()) names.push_back(info.name);
  }
  return names;
}

/// Constraints that limited most of the bytes.
std::vector<int> limits_of(const activities::ScheduleTimes& times) {
  double most = 0;
  for (const auto& [key, bytes] : times.limit_B) most = std::max(most, bytes);
  std::vector<int> keys;
  for (const auto& [key, bytes] : times.limit_B)
    if (bytes >= kWorthNaming * most && keys.size() < kNamed) keys.push_back(key);
  return keys;
}

uncertainty::Uncertainty uncertainty_of(const MpiJob& job, const MpiRun& run) {
  uncertainty::Uncertainty uncertainty;
  const Calibration& calibration = job.cluster.node().calibration();
  const double time = run.time_s();
  double scatter = 0;
  for (const auto& [transport, bytes] : run.times.transport_B)
    scatter = std::max(
        scatter, run.times.stand_in ? kStandInError : uncertainty::scatter_of(calibration, transport, job.size_B));
  uncertainty.add(kMpiError);
  uncertainty.add(scatter);
  uncertainty.add(run.times.delay_error * run.times.latency_s / time);
  uncertainty.add(kAssumedRateError * (run.times.combine_s + run.staging.time_s()) / time);
  if (run.times.steady) uncertainty.add(kSteadyError);
  return uncertainty;
}

Json warnings_of(const MpiJob& job, const MpiRun& run, const std::vector<int>& limits) {
  Json warnings = Json::array();
  const auto warn = [&](const std::string& text) { warnings.push_back(text); };
  if (run.times.stand_in)
    warn(std::string("no message between ") +
         (job.library.staging(job.op) == Staging::kNone ? "GPUs" : "host processes") + " inside a node of " +
         job.cluster.node().topology().name +
         " was measured: the start-up of one between nodes, or of a copy, and the rates of links or memory stand in");
  if (run.times.combine_s > kWorthNaming * run.time_s()) warn("the rate at which buffers are reduced is assumed");
  if (run.staging.assumed) warn("the rate of copies between GPU and pageable host memory is assumed");
  if (job.library_id == "mpi-cray" || job.library_id == "mpi-spectrum")
    warn("the choice of algorithms of " + job.library_id + " is not public: that of the library it is made from");
  for (const int key : limits)
    if (!job.cluster.calibrated(key)) warn("the rate of " + job.cluster.id(key) + " is nominal, not calibrated");
  if (run.times.steady) warn("too many messages for all of them: some rounds stand for others");
  return warnings;
}

Json result_json(const MpiJob& job, const MpiRun& run) {
  const double time = run.time_s();
  uncertainty::Verdict validity;
  uncertainty::Uncertainty uncertainty = uncertainty_of(job, run);
  uncertainty::check_validity(job.cluster.node(), job.size_B, validity, uncertainty);
  const std::vector<int> limits = limits_of(run.times);
  Json out;
  uncertainty::put_interval(out, time, uncertainty.around(time));
  out["latency_s"] = run.times.latency_s;
  out["algbw_Bps"] = job.size_B / time;
  out["busbw_Bps"] = job.size_B / time * collectives().get(job.op).bus_factor(job.count());
  out["library"] = job.library_id;
  out["algorithm"] = run.algorithm;
  out["protocol"] = "messages";
  out["rounds"] = run.times.rounds;
  out["steady_state"] = run.times.steady;
  out["ranks"] = job.count();
  out["nodes"] = job.nodes;
  out["gpus_per_node"] = job.per_node;
  out["staging_s"] = run.staging.time_s();
  out["reducing_s"] = run.times.combine_s;
  out["transports"] = Json::array();
  for (const auto& [transport, bytes] : run.times.transport_B) out["transports"].push_back(transport);
  out["channels"] = Json::array();
  out["blocks"] = 0;
  out["channel_bandwidth_Bps"] = 0;
  out["fallback"] = job.library.staging(job.op) != Staging::kNone;
  out["bottleneck"] = Json::array();
  for (const int key : limits)
    out["bottleneck"].push_back(job.nodes > 1 ? job.cluster.id(key)
                                              : job.cluster.node().constraints()[static_cast<std::size_t>(key)].id);
  out["warnings"] = warnings_of(job, run, limits);
  for (const std::string& text : validity.warnings) out["warnings"].push_back(text);
  return out;
}

void read_transport(MpiJob& job, ObjectReader& r) {
  job.transport = r.choice("transport", Transports::message_names());
  if (job.nodes == 1) r.fail("transport", "is of messages between nodes");
  if (job.library.staging(job.op) != Staging::kNone)
    r.fail("transport", job.library_id + " moves the buffers of " + job.op + " through host memory");
  if (activities::staged_in_turn(job.cluster.node(), job.transport))
    r.fail("transport", job.transport + " on " + job.cluster.node().topology().name +
                            " is made of copies, which no schedule of messages has");
}

MpiJob read_job(catalogue::Catalogue& catalogue, const std::string& platform_id, ObjectReader& r) {
  const bool across = r.has("nodes");
  const Cluster& cluster = across ? catalogue.cluster(platform_id) : catalogue.lone_node(platform_id);
  const Platform& node = cluster.node();
  const auto library_id = r.required<std::string>("library");
  const auto* library = dynamic_cast<const MessageLibrary*>(&libraries().get(library_id));
  if (!library) r.fail("library", library_id + " sends no messages by a schedule");
  MpiJob job{cluster, *library, library_id, r.required<std::string>("op"), {}, 1, 1, 0};
  static_cast<void>(collectives().get(job.op));
  if (across) {
    job.nodes = r.required<int>("nodes");
    job.per_node = r.required<int>("gpus_per_node");
    if (job.nodes < 1 || job.nodes > cluster.nodes())
      r.fail("nodes", "must be 1 to " + std::to_string(cluster.nodes()) + ", as many as the fabric joins");
    if (job.per_node < 1 || job.per_node > node.gpu_count() || job.nodes * job.per_node < 2)
      r.fail("gpus_per_node", "must be 1 to " + std::to_string(node.gpu_count()) + ", with at least 2 GPUs in all");
    for (int n = 0; n < job.nodes; ++n)
      for (int k = 0; k < job.per_node; ++k) job.ranks.push_back({n, k});
  } else {
    for (const int gpu : activities::read_gpus(r, node, 2)) job.ranks.push_back({0, gpu});
    job.per_node = job.count();
  }
  job.size_B = activities::read_size(r, "size_B");
  if (r.has("transport")) read_transport(job, r);
  return job;
}

}  // namespace

bool is_mpi(const Json& query) {
  return query.contains("library") && query["library"].is_string() &&
         is_mpi_library(query["library"].get<std::string>());
}

bool is_mpi_library(const std::string& name) { return name.rfind("mpi-", 0) == 0; }

Json mpi_collective_answer(catalogue::Catalogue& catalogue, const std::string& platform_id, Solver& solver,
                           ObjectReader& r) {
  const MpiJob job = read_job(catalogue, platform_id, r);
  const std::string takes = job.library.algorithm({job.op, {job.size_B}, job.count()});
  const std::string algorithm = r.has("algorithm") ? r.choice("algorithm", able(job.op)) : takes;
  const bool alternatives = r.optional<bool>("alternatives").value_or(false);
  r.finish();
  const MpiRun taken = run(job, algorithm, solver);
  Json out = result_json(job, taken);
  if (!alternatives || taken.times.steady) return out;
  std::vector<std::pair<double, std::string>> rows;
  for (const std::string& name : able(job.op))
    if (name != algorithm) rows.emplace_back(run(job, name, solver).time_s(), name);
  std::sort(rows.begin(), rows.end());
  out["alternatives"] = Json::array();
  for (const auto& [time, name] : rows)
    out["alternatives"].push_back({{"algorithm", name}, {"protocol", "messages"}, {"time_s", time}});
  return out;
}

}  // namespace linkcast::collective
