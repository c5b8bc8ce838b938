#include "sim/replay/replay_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <istream>

#include "sim/base/limits.hpp"
#include "sim/base/packed_file.hpp"
#include "sim/base/statistics.hpp"
#include "sim/machine/trace_source.hpp"
#include "sim/records/gpu_models.hpp"
#include "sim/replay/replay_interval.hpp"
#include "sim/replay/summary.hpp"
#include "sim/replay/timeline.hpp"

namespace linkcast::replay {
namespace {

// Time of an event, its three runs for the interval, reading and the answer together. source:
// `tests/python/limits_test.py`: 2.0 to 2.5 us over three applications on 8 GPUs, start included; tests/bench/aims.py:
// 0.7 us of 8 ranks, 2 to 4.4 us of 512, one core of an AMD EPYC that others use too
constexpr double kEvent_s = 4e-6;
constexpr double kRuns = 3;
// Memory of a generated event, its text and what the replay holds of it. source: the same: 310 B
constexpr double kEvent_B = 310;
constexpr double kRank_B = 4096;  // source: the same, replays of 8 and 1024 ranks: 48 and 88 MB

constexpr const char* kStepsOption = "steps";  // of every application that has steps

struct Length {
  double events = 0, memory_B = 0;
  int ranks = 1;
  bool at_least = false;
};

/// An application that is not kept.
class Counter final : public TraceSink {
 public:
  struct Enough {};

  explicit Counter(double most) : most_(most) {}
  void header(const TraceHeader& header) override { ranks_ = header.ranks; }
  void event(const TraceEvent& /*event*/) override {
    work::look();
    if (++events_ > most_) throw Enough();
  }
  [[nodiscard]] Length length() const { return {events_, events_ * kEvent_B, ranks_, false}; }

 private:
  double most_, events_ = 0;
  int ranks_ = 1;
};

Length counted(const std::string& name, const std::map<std::string, std::string>& options, double most) {
  Counter counter(most);
  try {
    trace_generators().get(name).run(TraceOptions(options), counter);
  } catch (const Counter::Enough&) {  // more than may be replayed: how many more does not matter
    Length cut = counter.length();
    cut.at_least = true;
    return cut;
  }
  return counter.length();
}

/// Steps are alike: the first two say what the others are.
Length length_of_application(const ReplayPart& part, double most) {
  const TraceGenerator& generator = trace_generators().get(part.trace);
  TraceOptions(part.options).refuse_others(part.trace, generator.options());
  const auto known = generator.options();
  const bool has_steps =
      std::any_of(known.begin(), known.end(), [](const TraceOption& option) { return option.key == kStepsOption; });
  constexpr int kFewSteps = 3;
  const int steps = has_steps ? TraceOptions(part.options).whole(kStepsOption, kFewSteps) : 1;
  if (steps <= kFewSteps || part.options.count(kStepsOption) == 0) return counted(part.trace, part.options, most);
  std::map<std::string, std::string> options = part.options;
  options[kStepsOption] = "1";
  Length all = counted(part.trace, options, most);
  options[kStepsOption] = "2";
  const double second = all.at_least ? all.events : counted(part.trace, options, 2 * most).events - all.events;
  all.events += (steps - 1) * std::max(0.0, second);
  all.memory_B = all.events * kEvent_B;
  return all;
}

/// Events of a file by the length of its first lines. Nothing of what is no plain file: it is read once.
Length length_of_file(const std::string& path) {
  if (!std::filesystem::is_regular_file(path)) return {};
  constexpr int kLinesRead = 200;
  const std::unique_ptr<std::istream> file = open_packed(path);
  double bytes = 0;
  int lines = 0;
  std::string line;
  for (; lines < kLinesRead && std::getline(*file, line); ++lines) bytes += static_cast<double>(line.size() + 1);
  if (lines == 0) return {};
  return {unpacked_size_B(path) / bytes * lines, 0, TraceReader(path).header().ranks};
}

Length length_of_text(const ReplayPart& part) {
  return {static_cast<double>(std::count(part.text->begin(), part.text->end(), '\n')), 0,
          catalogue::open_text(*part.text, part.trace)->header().ranks};
}

/// What a replay will take, from the applications' first steps and the lengths of files, without the replay.
/// Where counting already exceeds work::limits() it ends: then this is less than it would be.
work::Estimate estimate_of(const std::string& data_dir, const ReplayRequest& request) {
  const work::Limits& limits = work::limits();
  constexpr double kFew = 1e6;  // ours: counted in a tenth of a second
  const double most = std::max(kFew, std::min(limits.memory_B / kEvent_B, limits.time_s / kEvent_s));
  work::Estimate sum{"replay", 0, "events", 0, 0};
  const auto known = trace_generators().names();
  bool first = true;
  double ranks = 0;
  for (const ReplayPart& part : request.parts) {
    const bool application =
        std::find(known.begin(), known.end(), part.trace) != known.end() && !std::filesystem::exists(part.trace);
    Length length = part.text     ? length_of_text(part)
                    : application ? length_of_application(part, most)
                                  : length_of_file(catalogue::trace_path(data_dir, part.trace));
    const double copies = part.ranks > 0 ? static_cast<double>(part.ranks) / length.ranks : 1;
    length.events *= copies * (first ? request.repeat : 1);
    sum.items += length.events;
    sum.at_least = sum.at_least || length.at_least;
    sum.memory_B += length.memory_B + kRank_B * std::max(part.ranks, length.ranks);
    ranks += std::max(part.ranks, length.ranks);
    first = false;
  }
  constexpr double kRank_s = 1e-4;  // source: 256 nodes of Alps near a tie, 0.3 to 0.6 s
  sum.time_s = (sum.items * kEvent_s + ranks * kRank_s) * (request.interval ? 1 : 1 / kRuns);
  return sum;
}

/// Ends a replay whose length is not known where it has taken too long.
class Watch final : public ReplayObserver {
 public:
  /// @throws InputError  more than work::limits() allow, what was replayed so far, and what lifts the limit
  void ends(int /*rank*/, const FedEvent& /*event*/, double /*now_s*/) override { rounds_.done(++events_); }

 private:
  work::Rounds rounds_{"replay", "events", 0};
  std::int64_t events_ = 0;
};

/// The GPU of a machine, where compute times of `recorded` are of another one. Empty: it is the same, or names do not
/// tell.
/// @param recorded  as the trace's header names it; empty: not said
std::string other_gpu(const Topology& machine, const std::string& recorded) {
  if (recorded.empty()) return "";
  for (const Device& device : machine.devices) {
    if (device.kind != DeviceKind::kGpu || device.model.empty() || device.model == recorded) continue;
    const auto here = find_gpu_model(device.model), there = find_gpu_model(recorded);
    if (here && there &&
        (here->words == there->words || names_model(recorded, *here) || names_model(device.model, *there)))
      continue;  // "H100" and "H100 PCIE" are one chip
    return device.model;
  }
  return "";
}

/// Of one job, for people: ranks that the trace was not recorded with, and steps that some ranks have not.
/// @param first_rank  of all jobs
std::vector<std::string> trace_warnings(const TraceFeed& feed, const JobTimes& job, const ReplaySummary& summary,
                                        std::size_t first_rank) {
  std::vector<std::string> warnings;
  const int recorded = feed.header().ranks, ranks = feed.ranks();
  const bool calls = std::any_of(job.operations.begin(), job.operations.end(),
                                 [](const OperationTimes& one) { return one.op != "message" && one.calls > 0; });
  if (recorded == 1 && ranks == 1 && calls)
    warnings.push_back(job.trace +
                       " is of one rank, whose collectives take no time alone: ranks=N replays it on N, "
                       "all alike");
  if (recorded > 1 && ranks != recorded)
    warnings.push_back(
        fmt::format("{} is of {} ranks and replayed on {}: each computes as long and calls the same sizes as they did",
                    job.trace, recorded, ranks));
  const auto steps = [&](int rank) { return summary.markers(first_rank + static_cast<std::size_t>(rank)); };
  for (int rank = 1; rank < ranks; ++rank) {
    if (steps(rank) == steps(0)) continue;
    warnings.push_back(fmt::format("{} has {} steps of rank 0 and {} of rank {}: it may have been cut off", job.trace,
                                   steps(0), steps(rank), rank));
    break;
  }
  return warnings;
}

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

/// CPU times are those of one host: another of its kind may be faster or slower.
void warn_of_hosts(ReplayResult& result) {
  for (const JobTimes& job : result.jobs)
    if (job.host != HostTimes::kSure)
      result.warnings.push_back(fmt::format(
          "CPU times of {} are of the host that was recorded: hosts of one kind differ by up to {} times; host_scale "
          "sets that of another",
          job.trace, kHostSpread));
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
  if (!piped_trace(request).empty()) observers.push_back(&watch.emplace());
  Replay run(std::move(jobs), network, std::move(observers));
  std::optional<BesideRuns> ends;
  if (beside)
    ends.emplace(catalogue, request, run, plans).run();
  else
    run.run();
  utilisation.close(summary.makespan_s());
  if (timeline) timeline->close(utilisation);
  ReplayResult result;
  result.platform = request.machine->title();
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
  tell_other_gpus(request.machine->platform().topology(), result);
  warn_of_hosts(result);
  if (request.interval) add_intervals(result, catalogue, request, ends ? &*ends : nullptr, run.used_network());
  return result;
}

}  // namespace linkcast::replay
