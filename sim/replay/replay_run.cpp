#include "sim/replay/replay_run.hpp"

#include <algorithm>

#include "sim/replay/bound.hpp"
#include "sim/replay/compute_device.hpp"
#include "sim/replay/replay_cost.hpp"
#include "sim/replay/replay_interval.hpp"
#include "sim/replay/summary.hpp"
#include "sim/replay/timeline.hpp"
#include "sim/replay/trace_warnings.hpp"
#include "sim/replay/utilisation.hpp"
#include "sim/units/statistics.hpp"

namespace linkcast::replay {
namespace {

std::vector<RankResult> ranks_of(const Replay& replay, const ReplaySummary& summary) {
  std::vector<RankResult> ranks;
  for (std::size_t i = 0; i < replay.ranks().size(); ++i) {
    const RankState& rank = replay.ranks()[i];
    ranks.push_back({rank.local, rank.gpu, rank.job, summary.times(i)});
  }
  return ranks;
}

std::vector<JobTimes> times_of(const Replay& replay, const ReplaySummary& summary, const Operations& operations) {
  std::vector<JobTimes> jobs;
  std::size_t first = 0;
  for (const ReplayJob& job : replay.jobs()) {
    const std::size_t end = first + static_cast<std::size_t>(job.feed->ranks());
    std::vector<double> exposed;
    for (std::size_t i = first; i < end; ++i) exposed.push_back(summary.times(i).exposed_s);
    std::vector<double> steps = replay.steps(jobs.size());
    const std::optional<double> step_time_s = step_of(steps);
    JobTimes times{job.feed->header().name, job.gpus, std::move(steps), step_time_s, median(exposed)};
    times.recorded_steps_s = summary.recorded_steps(first, end);
    times.recorded_step_time_s = step_of(times.recorded_steps_s);
    times.operations = operations.times(first, end);
    times.host = host_of(job);
    double compute_s = 0;
    for (std::size_t i = first; i < end; ++i) compute_s += summary.times(i).compute_s;
    if (compute_s > 0) times.compute_device = job.feed->header().device;
    jobs.push_back(std::move(times));
    first = end;
  }
  return jobs;
}

void tell_traces(const Replay& run, const ReplaySummary& summary, ReplayResult& result) {
  std::size_t first = 0, job = 0;
  for (const ReplayJob& one : run.jobs()) {
    const auto warnings = trace_warnings(*one.feed, result.jobs[job++], summary, first);
    result.warnings.insert(result.warnings.end(), warnings.begin(), warnings.end());
    first += static_cast<std::size_t>(one.feed->ranks());
  }
}

/// Compute takes what it took where it was recorded: on another GPU that is no forecast.
void tell_other_gpus(const Topology& machine, ReplayResult& result) {
  for (JobTimes& job : result.jobs) {
    job.other_gpu = other_gpu(machine, job.compute_device);
    if (job.other_gpu.empty()) continue;
    const std::string differ = "of " + job.compute_device + ", not of " + job.other_gpu;
    result.warnings.push_back(
        "compute times of " + job.trace + " are " + differ +
        ": they are taken as recorded, and only what is exchanged is a forecast for this machine");
    if (!result.bound.empty() && result.bound.find(" if GPUs ") == std::string::npos)
      result.bound += " if GPUs computed as recorded (" + differ + ")";
  }
}

std::vector<std::string> busiest_of(const ReplayResult& result) {
  double busiest = 0;
  for (const LinkUse& link : result.links) busiest = std::max(busiest, result.utilisation_of(link));
  constexpr double kSame = 1e-9;  // source: ours, rounding of sums
  std::vector<std::string> ids;
  for (const LinkUse& link : result.links)
    if (result.utilisation_of(link) >= busiest * (1 - kSame)) ids.push_back(link.id);
  return ids;
}

}  // namespace

ReplayResult replay(catalogue::Catalogue& catalogue, const ReplayRequest& request,
                    std::vector<ReplayObserver*> observers) {
  work::expect(estimate_of(catalogue.data_dir(), request));
  const bool beside = BesideRuns::possible(request);
  const auto plans = beside ? std::make_shared<SharedPlans>(BesideRuns::kRuns) : nullptr;
  const std::unique_ptr<ReplayNetwork> made = network_of(catalogue, request, IntervalEnd::kNone, plans);
  ReplayNetwork& network = *made;
  std::vector<ReplayJob> jobs = jobs_of(request, catalogue.data_dir(), network.gpus(), beside ? BesideRuns::kRuns : 1);
  const std::size_t ranks = ranks_of(jobs);
  ReplaySummary summary(ranks);
  observers.push_back(&summary);
  Operations operations(ranks);
  observers.push_back(&operations);
  Utilisation utilisation(summary, ranks, network);
  std::optional<Timeline> timeline;
  if (request.timeline != nullptr) observers.push_back(&timeline.emplace(*request.timeline));
  if (request.utilisation || timeline) observers.push_back(&utilisation);
  if (request.watcher != nullptr) observers.push_back(request.watcher);
  std::optional<Watch> watch;
  if (through_a_pipe(request)) observers.push_back(&watch.emplace());
  Replay run(std::move(jobs), network, std::move(observers));
  std::optional<BesideRuns> ends;
  if (beside)
    ends.emplace(catalogue, request, run, plans).run();
  else
    run.run();
  utilisation.close(summary.makespan_s());
  if (timeline) timeline->close(utilisation);
  ReplayResult result;
  // The id of an edited platform is a list of its edits, which is no name.
  result.platform = catalogue.edits_of(request.platform) != nullptr
                        ? catalogue.platform(request.platform).topology().name
                        : request.platform;
  result.makespan_s = summary.makespan_s();
  result.jobs = times_of(run, summary, operations);
  result.ranks = ranks_of(run, summary);
  result.links = network.link_use();
  result.bottleneck = busiest_of(result);
  result.critical_path = run.critical_path();
  result.bound = bound_of(result.critical_path);
  if (request.utilisation) result.utilisation = utilisation.to_json();
  result.events = static_cast<long>(run.events());
  result.warnings = network.warnings().get<std::vector<std::string>>();
  tell_traces(run, summary, result);
  tell_other_gpus(catalogue.platform(request.platform).topology(), result);
  if (request.interval) add_intervals(result, catalogue, request, ends ? &*ends : nullptr, run.used_network());
  return result;
}

}  // namespace linkcast::replay
