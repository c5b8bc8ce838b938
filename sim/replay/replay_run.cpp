#include "sim/replay/replay_run.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include "sim/replay/bound.hpp"
#include "sim/replay/compute_device.hpp"
#include "sim/replay/network_kind.hpp"
#include "sim/replay/open_trace.hpp"
#include "sim/replay/replay.hpp"
#include "sim/replay/replay_cost.hpp"
#include "sim/replay/summary.hpp"
#include "sim/replay/timeline.hpp"
#include "sim/replay/trace_warnings.hpp"
#include "sim/replay/utilisation.hpp"
#include "sim/units/statistics.hpp"

namespace linkcast::replay {
namespace {

/// GPUs of a part, checked. @param taken  by the parts before. @param key  that says where the part goes
std::vector<int> place(const ReplayPart& part, int ranks, int gpus, std::set<int>& taken, const std::string& key) {
  std::vector<int> placed = part.gpus;
  for (int gpu = 0; gpu < gpus && part.gpus.empty() && static_cast<int>(placed.size()) < ranks; ++gpu)
    if (taken.count(gpu) == 0) placed.push_back(gpu);
  if (static_cast<int>(placed.size()) != ranks) {
    const std::string has = part.trace + " has " + std::to_string(ranks) + " ranks and ";
    const std::string count = std::to_string(placed.size());
    if (!part.gpus.empty()) throw InputError(key + ": " + has + count + " GPUs are named");
    if (key == "also") throw InputError(key + ": " + has + count + " GPUs are left for it");
    throw InputError(has + "the machine has " + count + " GPUs");
  }
  std::set<int> own;
  for (const int gpu : placed) {
    if (gpu < 0 || gpu >= gpus)
      throw InputError(key + ": there is no GPU " + std::to_string(gpu) + ", the machine has 0 to " +
                       std::to_string(gpus - 1));
    if (!own.insert(gpu).second) throw InputError(key + ": GPU " + std::to_string(gpu) + " is named twice");
    if (taken.count(gpu) > 0)
      throw InputError("also: GPU " + std::to_string(gpu) + " has a rank of another job: a GPU computes for one");
  }
  taken.insert(own.begin(), own.end());
  return placed;
}

std::vector<ReplayJob> jobs_of(const ReplayRequest& request, const std::string& data_dir, int gpus) {
  std::vector<ReplayJob> jobs;
  std::set<int> taken;
  for (const ReplayPart& part : request.parts) {
    auto feed = std::make_unique<TraceFeed>(open_trace(data_dir, part.trace, part.options), part.ranks, request.local);
    if (jobs.empty() && request.repeat > 1)
      feed->repeat(request.repeat, [part, data_dir] { return open_trace(data_dir, part.trace, part.options); });
    std::vector<int> placed = place(part, feed->ranks(), gpus, taken, jobs.empty() ? "placement" : "also");
    const std::optional<bool> recorded = feed->header().nvls;
    jobs.push_back(
        {std::move(feed), std::move(placed), request.host_scale, request.nvls.value_or(recorded.value_or(true))});
  }
  return jobs;
}

std::size_t ranks_of(const std::vector<ReplayJob>& jobs) {
  std::size_t ranks = 0;
  for (const ReplayJob& job : jobs) ranks += static_cast<std::size_t>(job.feed->ranks());
  return ranks;
}

std::unique_ptr<ReplayNetwork> network_of(catalogue::Catalogue& catalogue, const ReplayRequest& request,
                                          IntervalEnd end = IntervalEnd::kNone) {
  const auto& known = Transports::message_names();
  if (!request.transport.empty() && std::find(known.begin(), known.end(), request.transport) == known.end()) {
    std::string names;
    for (const std::string& name : known) names += (names.empty() ? "" : ", ") + name;
    throw InputError("transport: '" + request.transport + "' is no kind of message: one of " + names);
  }
  const std::string usual = request.nodes == 0 ? "node" : "cluster";
  return network_kinds()
      .get(request.network.empty() ? usual : request.network)
      .make(catalogue,
            {request.platform, request.library, request.nodes, request.gpus_per_node, request.transport, end});
}

std::vector<RankResult> ranks_of(const Replay& replay, const ReplaySummary& summary) {
  std::vector<RankResult> ranks;
  for (std::size_t i = 0; i < replay.ranks().size(); ++i) {
    const RankState& rank = replay.ranks()[i];
    ranks.push_back({rank.local, rank.gpu, rank.job, summary.times(i)});
  }
  return ranks;
}

/// Median step time; none without markers.
std::optional<double> step_of(const std::vector<double>& steps) {
  return steps.empty() ? std::nullopt : std::optional(median(steps));
}

/// A scale that was asked for settles it; one fitted to a measured step is that of the host's spell.
HostTimes host_of(const ReplayJob& job) {
  if (job.host_scale) return HostTimes::kSure;
  if (job.feed->header().step_time_s) return HostTimes::kAnchored;
  return job.recording_s > 0 ? HostTimes::kUnsure : HostTimes::kSure;
}

std::vector<JobTimes> times_of(const Replay& replay, const ReplaySummary& summary, const Operations& operations) {
  std::vector<JobTimes> jobs;
  std::size_t first = 0;
  for (const ReplayJob& job : replay.jobs()) {
    const std::size_t end = first + static_cast<std::size_t>(job.feed->ranks());
    std::vector<double> exposed;
    for (std::size_t i = first; i < end; ++i) exposed.push_back(summary.times(i).exposed_s);
    std::vector<double> steps = summary.steps(first, end);
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

/// What an interval is given of.
struct Times {
  double makespan_s = 0;
  std::vector<std::optional<double>> step_s{};  ///< of each job; none without markers
};

// What one host's CPU time differs by between two runs of the same steps, either way. source: 2 H200, steps whose CPU
// is the limit, minutes apart: decoding 12.96 and 10.24 ms, pipeline 12.02 and 9.24 (apps-traces/measure)
constexpr double kSpell = 1.3;

/// A run of its own with every network operation at one end of its interval, and the CPUs too where they are unsure:
/// never late, or as recorded; of a measured step in a fast or a slow spell of the host.
Times times_at(catalogue::Catalogue& catalogue, const ReplayRequest& request, const std::vector<JobTimes>& found,
               IntervalEnd end) {
  const std::unique_ptr<ReplayNetwork> network = network_of(catalogue, request, end);
  std::vector<ReplayJob> jobs = jobs_of(request, catalogue.data_dir(), network->gpus());
  for (std::size_t job = 0; job < jobs.size(); ++job) {
    const bool low = end == IntervalEnd::kLow;
    if (found[job].host == HostTimes::kAnchored)
      jobs[job].host_scale = jobs[job].feed->header().host_scale * (low ? 1 / kSpell : kSpell);
    if (found[job].host != HostTimes::kUnsure) continue;
    if (low) jobs[job].host_scale = 0;
    jobs[job].as_recorded = !low;
  }
  ReplaySummary summary(ranks_of(jobs));
  std::vector<ReplayObserver*> observers{&summary};
  if (request.watcher != nullptr) observers.push_back(request.watcher);
  Replay run(std::move(jobs), *network, std::move(observers));
  run.run();
  Times times{summary.makespan_s()};
  std::size_t first = 0;
  for (const ReplayJob& job : run.jobs()) {
    const std::size_t last = first + static_cast<std::size_t>(job.feed->ranks());
    times.step_s.push_back(step_of(summary.steps(first, last)));
    first = last;
  }
  return times;
}

/// A trace that comes through a pipe, and so once; empty if there is none.
std::string read_once(const ReplayRequest& request) {
  for (const ReplayPart& part : request.parts)
    if (std::filesystem::exists(part.trace) && !std::filesystem::is_regular_file(part.trace)) return part.trace;
  return "";
}

/// Less on the network is not always less in all: where the order changes, what comes between may be longer. So the
/// interval is around all three.
ReplayInterval around(std::optional<double> time_s, std::optional<double> low_s, std::optional<double> high_s) {
  if (!time_s || !low_s || !high_s) return {};
  const auto [least_s, most_s] = std::minmax({*time_s, *low_s, *high_s});
  return {least_s, most_s};
}

/// @param used  the network: else nothing is unsure but CPUs
void add_intervals(ReplayResult& result, catalogue::Catalogue& catalogue, const ReplayRequest& request, bool used) {
  const bool unsure = used || std::any_of(result.jobs.begin(), result.jobs.end(),
                                          [](const JobTimes& job) { return job.host != HostTimes::kSure; });
  const std::string once = unsure ? read_once(request) : "";
  result.interval.emplace();
  if (!once.empty()) {
    result.warnings.push_back("no interval, which takes further runs: " + once + " can be read only once");
    return;
  }
  Times low{result.makespan_s}, high{result.makespan_s};
  for (const JobTimes& job : result.jobs)
    for (Times* end : {&low, &high}) end->step_s.push_back(job.step_time_s);
  if (unsure) {
    low = times_at(catalogue, request, result.jobs, IntervalEnd::kLow);
    high = times_at(catalogue, request, result.jobs, IntervalEnd::kHigh);
  }
  result.interval = around(result.makespan_s, low.makespan_s, high.makespan_s);
  for (std::size_t job = 0; job < result.jobs.size(); ++job)
    result.jobs[job].step_interval = around(result.jobs[job].step_time_s, low.step_s[job], high.step_s[job]);
}

}  // namespace

ReplayResult replay(catalogue::Catalogue& catalogue, const ReplayRequest& request,
                    std::vector<ReplayObserver*> observers) {
  work::expect(estimate_of(catalogue.data_dir(), request));
  const std::unique_ptr<ReplayNetwork> made = network_of(catalogue, request);
  ReplayNetwork& network = *made;
  std::vector<ReplayJob> jobs = jobs_of(request, catalogue.data_dir(), network.gpus());
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
  Replay run(std::move(jobs), network, std::move(observers));
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
  if (request.interval) add_intervals(result, catalogue, request, run.used_network());
  return result;
}

}  // namespace linkcast::replay
