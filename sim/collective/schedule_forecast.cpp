#include "sim/collective/schedule_forecast.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "sim/activities/cluster_message.hpp"
#include "sim/activities/schedule_run.hpp"
#include "sim/activities/staging_copies.hpp"
#include "sim/congestion/noisy_message.hpp"
#include "sim/plugin/schedule.hpp"
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

struct ScheduledRun {
  std::string algorithm;
  activities::ScheduleTimes times;
  activities::StagingTimes staging;
  [[nodiscard]] double time_s() const { return times.time_s + staging.time_s(); }
};

/// Node by node.
std::vector<ClusterGpu> ranks_of(const Communicator& communicator) {
  std::vector<ClusterGpu> ranks;
  for (int node = 0; node < communicator.nodes; ++node)
    for (const int gpu : communicator.gpus) ranks.push_back({node, gpu});
  return ranks;
}

std::string scheduled_operation(const std::string& op) {
  const std::string equal = collectives().get(op).equal_parts();
  return equal.empty() ? op : equal;
}

/// Messages between GPUs, or between the CPUs next to them.
activities::ScheduleJob messages_of(const CollectiveJob& job, Staging staging) {
  const Platform& node = job.node();
  const bool host = staging != Staging::kNone;
  const int per_node = static_cast<int>(job.communicator.gpus.size());
  activities::ScheduleJob messages{job.machine,  {}, per_node, job.size_B, activities::combine_cost(node, host),
                                   job.transport};
  for (const ClusterGpu& rank : ranks_of(job.communicator)) {
    const int gpu = node.gpu(rank.gpu);
    messages.ranks.push_back({rank.node, host ? node.socket_of(gpu) : gpu});
  }
  return messages;
}

Schedule schedule_of(const CollectiveJob& job, const std::string& algorithm) {
  Schedule schedule = algorithms().get(algorithm).schedule(scheduled_operation(job.op_name), job.ranks());
  const std::vector<double>& parts_B = job.op.parts_B();
  return parts_B.empty() ? schedule : with_parts(std::move(schedule), parts_B, job.size_B);
}

ScheduledRun run(const CollectiveJob& job, Staging staging, const std::string& algorithm, Solver& solver) {
  ScheduledRun result{algorithm, {}, {}};
  result.times = activities::run_schedule(messages_of(job, staging), schedule_of(job, algorithm), solver);
  if (!job.op.parts_B().empty() && result.times.steady)
    throw InputError("sizes_B: too many messages of " + algorithm +
                     " to forecast each, and none stands for others that differ in size: take fewer ranks");
  if (staging != Staging::kNone)
    result.staging =
        activities::staging_times(job.machine, ranks_of(job.communicator), job.op, job.size_B, staging, solver);
  return result;
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

uncertainty::Uncertainty uncertainty_of(const CollectiveJob& job, const ScheduledRun& run) {
  uncertainty::Uncertainty uncertainty;
  const Calibration& calibration = job.node().calibration();
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

std::vector<std::string> warnings_of(const CollectiveJob& job, Staging staging, const ScheduledRun& run,
                                     const std::vector<int>& limits) {
  const std::string& library = job.communicator.library;
  std::vector<std::string> warnings;
  if (run.times.stand_in)
    warnings.push_back(
        std::string("no message between ") + (staging == Staging::kNone ? "GPUs" : "host processes") +
        " inside a node of " + job.node().topology().name +
        " was measured: the start-up of one between nodes, or of a copy, and the rates of links or memory stand in");
  if (run.times.combine_s > kWorthNaming * run.time_s())
    warnings.emplace_back("the rate at which buffers are reduced is assumed");
  if (run.staging.assumed) warnings.emplace_back("the rate of copies between GPU and pageable host memory is assumed");
  if (!job.library.schedules()->public_choice())
    warnings.push_back("the choice of algorithms of " + library +
                       " is not public: that of the library it is made from");
  for (const int key : limits)
    if (!job.machine.calibrated(key))
      warnings.push_back("the rate of " + job.machine.id(key) + " is nominal, not calibrated");
  if (run.times.steady) warnings.emplace_back("too many messages for all of them: some rounds stand for others");
  return warnings;
}

CollectiveForecast forecast_of(const CollectiveJob& job, Staging staging, const ScheduledRun& run) {
  CollectiveForecast forecast;
  uncertainty::Verdict validity;
  uncertainty::Uncertainty uncertainty = uncertainty_of(job, run);
  uncertainty::check_validity(job.node(), job.size_B, validity, uncertainty);
  const std::vector<int> limits = limits_of(run.times);
  forecast.time_s = run.time_s();
  forecast.interval = uncertainty.around(forecast.time_s);
  forecast.latency_s = run.times.latency_s;
  forecast.size_B = job.size_B;
  forecast.bus_factor = job.op.bus_factor(job.ranks());
  forecast.library = job.communicator.library;
  forecast.algorithm = run.algorithm;
  forecast.protocol = "messages";
  forecast.rounds = {run.times.rounds, run.times.steady, job.ranks(), run.staging.time_s(), run.times.combine_s, {}};
  for (const auto& [transport, bytes] : run.times.transport_B) forecast.rounds->transports.push_back(transport);
  forecast.nodes = job.communicator.nodes;
  forecast.gpus_per_node = static_cast<int>(job.communicator.gpus.size());
  forecast.fallback = staging != Staging::kNone;
  for (const int key : limits) forecast.bottleneck.push_back(name_of(job, key));
  if (limits.empty())
    forecast.limited_by = 2 * forecast.latency_s >= forecast.time_s ? "start-up" : "rates of single messages";
  forecast.warnings = warnings_of(job, staging, run, limits);
  forecast.warnings.insert(forecast.warnings.end(), validity.warnings.begin(), validity.warnings.end());
  return forecast;
}

}  // namespace

Communicator schedule_ranks(const std::string& library, int nodes, std::vector<int> gpus) {
  Communicator ranks;
  ranks.library = library;
  ranks.nodes = nodes;
  ranks.gpus = std::move(gpus);
  return ranks;
}

std::string transport_refusal(const CollectiveJob& job) {
  if (job.transport.empty()) return "";
  if (job.one_node()) return "is of messages between nodes";
  if (job.library.schedules()->staging(job.op) != Staging::kNone)
    return job.communicator.library + " moves the buffers of " + job.op_name + " through host memory";
  if (activities::staged_in_turn(job.node(), job.transport))
    return job.transport + " on " + job.node().topology().name +
           " is made of copies, which no schedule of messages has";
  return "";
}

std::vector<std::string> algorithms_for(const std::string& op) {
  std::vector<std::string> names;
  const std::string scheduled = scheduled_operation(op);
  for (const std::string& name : algorithms().names()) {
    const auto ops = algorithms().get(name).operations();
    if (std::find(ops.begin(), ops.end(), scheduled) != ops.end()) names.push_back(name);
  }
  return names;
}

CollectiveForecast schedule_forecast(const CollectiveJob& job, bool alternatives, Solver& solver) {
  const ScheduleLibrary& library = *job.library.schedules();
  const std::string takes = library.algorithm({job.op_name, {job.size_B}, job.ranks()});
  const std::string algorithm = job.algorithm.empty() ? takes : job.algorithm;
  const Staging staging = library.staging(job.op);
  const ScheduledRun taken = run(job, staging, algorithm, solver);
  CollectiveForecast forecast = forecast_of(job, staging, taken);
  if (!alternatives || taken.times.steady) return forecast;
  forecast.alternatives.emplace();
  std::vector<Alternatives::Row>& rows = forecast.alternatives->rows;
  for (const std::string& name : algorithms_for(job.op_name))
    if (name != algorithm) rows.push_back({name, "messages", run(job, staging, name, solver).time_s()});
  std::sort(rows.begin(), rows.end(), [](const Alternatives::Row& a, const Alternatives::Row& b) {
    return std::tie(a.time_s, a.algorithm) < std::tie(b.time_s, b.algorithm);
  });
  return forecast;
}

CollectiveForecast schedule_in_noise(const CollectiveJob& job, const congestion::NetworkLoad& load, Solver& solver) {
  CollectiveForecast forecast = schedule_forecast(job, false, solver);
  const Staging staging = job.library.schedules()->staging(job.op);
  activities::ClusterProblem messages =
      activities::schedule_problem(messages_of(job, staging), schedule_of(job, forecast.algorithm));
  congestion::SampleTimes times = congestion::noisy_message_times(messages, load, solver);
  for (congestion::SampleTime& time : times) time.latency_s += forecast.rounds->staging_s;
  const double quiet_s = forecast.time_s;
  forecast.time_s = congestion::percentile(times, 50).time_s();
  forecast.interval.low_s *= forecast.time_s / quiet_s;
  forecast.interval.high_s *= forecast.time_s / quiet_s;
  forecast.load = Json::object();
  congestion::put_percentiles(forecast.load, load, times, quiet_s);
  return forecast;
}

}  // namespace linkcast::collective
