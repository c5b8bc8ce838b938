#include "sim/replay/replay_run.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include "sim/replay/network_kind.hpp"
#include "sim/replay/open_trace.hpp"
#include "sim/replay/replay.hpp"
#include "sim/replay/summary.hpp"
#include "sim/replay/timeline.hpp"
#include "sim/replay/utilisation.hpp"
#include "sim/units/statistics.hpp"

namespace linkcast::replay {
namespace {

/// GPUs of a part, checked. @param taken  by the parts before
std::vector<int> place(const ReplayPart& part, int ranks, int gpus, std::set<int>& taken) {
  std::vector<int> placed = part.gpus;
  for (int gpu = 0; gpu < gpus && part.gpus.empty() && static_cast<int>(placed.size()) < ranks; ++gpu)
    if (taken.count(gpu) == 0) placed.push_back(gpu);
  if (static_cast<int>(placed.size()) != ranks)
    throw InputError("placement: " + part.trace + " has " + std::to_string(ranks) + " ranks and " +
                     std::to_string(placed.size()) + (part.gpus.empty() ? " GPUs are left for it" : " GPUs are named"));
  std::set<int> own;
  for (const int gpu : placed) {
    if (gpu < 0 || gpu >= gpus)
      throw InputError("placement: there is no GPU " + std::to_string(gpu) + ", the machine has 0 to " +
                       std::to_string(gpus - 1));
    if (!own.insert(gpu).second) throw InputError("placement: GPU " + std::to_string(gpu) + " is named twice");
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
    std::vector<int> placed = place(part, feed->ranks(), gpus, taken);
    jobs.push_back({std::move(feed), std::move(placed), request.host_scale});
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

Json ranks_json(const Replay& replay, const ReplaySummary& summary) {
  Json ranks = Json::array();
  for (std::size_t i = 0; i < replay.ranks().size(); ++i) {
    const RankState& rank = replay.ranks()[i];
    const RankTimes& times = summary.times(i);
    Json row{{"rank", rank.local}, {"gpu", rank.gpu}};
    if (replay.jobs().size() > 1) row["job"] = rank.job;
    row["compute_s"] = times.compute_s;
    row["communication_s"] = times.communication_s;
    row["exposed_s"] = times.exposed_s;
    row["waiting_s"] = times.waiting_s;
    row["idle_s"] = times.idle_s;
    ranks.push_back(std::move(row));
  }
  return ranks;
}

/// Median step time of ranks first to end - 1; null without markers.
Json step_of(const ReplaySummary& summary, std::size_t first, std::size_t end) {
  const std::vector<double> steps = summary.steps(first, end);
  return steps.empty() ? Json() : Json(median(steps));
}

/// Step times and exposed communication of ranks first to end - 1.
void put_times(Json& out, const ReplaySummary& summary, std::size_t first, std::size_t end) {
  out["step_time_s"] = step_of(summary, first, end);
  out["steps_s"] = summary.steps(first, end);
  std::vector<double> exposed;
  for (std::size_t i = first; i < end; ++i) exposed.push_back(summary.times(i).exposed_s);
  out["exposed_communication_s"] = median(exposed);
}

Json jobs_json(const Replay& replay, const ReplaySummary& summary) {
  Json jobs = Json::array();
  std::size_t first = 0;
  for (const ReplayJob& job : replay.jobs()) {
    const std::size_t end = first + static_cast<std::size_t>(job.feed->ranks());
    Json row{{"trace", job.feed->header().name}, {"gpus", job.gpus}};
    put_times(row, summary, first, end);
    jobs.push_back(std::move(row));
    first = end;
  }
  return jobs;
}

void put_links(Json& out, ReplayNetwork& network, double makespan_s) {
  out["links"] = Json::array();
  double busiest = 0;
  for (const LinkUse& link : network.link_use()) {
    const double share = makespan_s > 0 ? link.carried_B / link.capacity_Bps / makespan_s : 0;
    out["links"].push_back({{"id", link.id}, {"carried_B", link.carried_B}, {"utilisation", share}});
    busiest = std::max(busiest, share);
  }
  constexpr double kSame = 1e-9;  // source: ours, rounding of sums
  out["bottleneck"] = Json::array();
  for (const Json& link : out["links"])
    if (link["utilisation"].get<double>() >= busiest * (1 - kSame)) out["bottleneck"].push_back(link["id"]);
}

Json path_json(const CriticalPath& path) {
  return {{"host_s", path.seconds[CriticalPath::kHost]},
          {"launch_s", path.seconds[CriticalPath::kLaunch]},
          {"compute_s", path.seconds[CriticalPath::kCompute]},
          {"copy_s", path.seconds[CriticalPath::kCopy]},
          {"network_s", path.seconds[CriticalPath::kNetwork]}};
}

/// What an interval is given of.
struct Times {
  double makespan_s = 0;
  std::vector<Json> step_s{};  ///< of each job; null without markers
};

/// A run of its own with every network operation at one end of its interval.
Times times_at(catalogue::Catalogue& catalogue, const ReplayRequest& request, IntervalEnd end) {
  const std::unique_ptr<ReplayNetwork> network = network_of(catalogue, request, end);
  std::vector<ReplayJob> jobs = jobs_of(request, catalogue.data_dir(), network->gpus());
  ReplaySummary summary(ranks_of(jobs));
  std::vector<ReplayObserver*> observers{&summary};
  if (request.watcher != nullptr) observers.push_back(request.watcher);
  Replay run(std::move(jobs), *network, std::move(observers));
  run.run();
  Times times{summary.makespan_s()};
  std::size_t first = 0;
  for (const ReplayJob& job : run.jobs()) {
    const std::size_t last = first + static_cast<std::size_t>(job.feed->ranks());
    times.step_s.push_back(step_of(summary, first, last));
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
void put_ends(Json& out, const std::string& name, const Json& time_s, const Json& low_s, const Json& high_s) {
  if (time_s.is_null() || low_s.is_null()) {
    out[name + "_low_s"] = out[name + "_high_s"] = Json();
    return;
  }
  const auto [least_s, most_s] = std::minmax({time_s.get<double>(), low_s.get<double>(), high_s.get<double>()});
  out[name + "_low_s"] = least_s;
  out[name + "_high_s"] = most_s;
}

/// @param used  the network: else nothing is unsure
void put_intervals(Json& out, catalogue::Catalogue& catalogue, const ReplayRequest& request, bool used) {
  const std::string once = used ? read_once(request) : "";
  if (!once.empty())
    out["warnings"].push_back("no interval, which takes further runs: " + once + " can be read only once");
  std::optional<Times> low, high;
  if (used && once.empty()) {
    low = times_at(catalogue, request, IntervalEnd::kLow);
    high = times_at(catalogue, request, IntervalEnd::kHigh);
  }
  const auto end = [&](const std::optional<Times>& times, const Json& middle, auto value) {
    if (!once.empty()) return Json();
    return times ? Json(value(*times)) : middle;
  };
  const auto put = [&](Json& row, const std::string& name, const Json& middle, auto value) {
    put_ends(row, name, middle, end(low, middle, value), end(high, middle, value));
  };
  put(out, "time", out["makespan_s"], [](const Times& times) { return times.makespan_s; });
  put(out, "step_time", out["step_time_s"], [](const Times& times) { return times.step_s.front(); });
  for (std::size_t job = 0; out.contains("jobs") && job < out["jobs"].size(); ++job)
    put(out["jobs"][job], "step_time", out["jobs"][job]["step_time_s"],
        [job](const Times& times) { return times.step_s[job]; });
}

}  // namespace

Json replay(catalogue::Catalogue& catalogue, const ReplayRequest& request, std::vector<ReplayObserver*> observers) {
  const std::unique_ptr<ReplayNetwork> made = network_of(catalogue, request);
  ReplayNetwork& network = *made;
  std::vector<ReplayJob> jobs = jobs_of(request, catalogue.data_dir(), network.gpus());
  const std::size_t ranks = ranks_of(jobs);
  const std::size_t first_ranks = static_cast<std::size_t>(jobs[0].feed->ranks());
  ReplaySummary summary(ranks);
  observers.push_back(&summary);
  Utilisation utilisation(summary, ranks, network);
  std::optional<Timeline> timeline;
  if (request.timeline != nullptr) observers.push_back(&timeline.emplace(*request.timeline));
  if (request.utilisation || timeline) observers.push_back(&utilisation);
  if (request.watcher != nullptr) observers.push_back(request.watcher);
  Replay run(std::move(jobs), network, std::move(observers));
  run.run();
  utilisation.close(summary.makespan_s());
  if (timeline) timeline->close(utilisation);
  // The id of an edited platform is a list of its edits, which is no name.
  const std::string name = catalogue.edits_of(request.platform) != nullptr
                               ? catalogue.platform(request.platform).topology().name
                               : request.platform;
  Json out{{"platform", name}, {"time_s", summary.makespan_s()}, {"makespan_s", summary.makespan_s()}};
  put_times(out, summary, 0, first_ranks);
  out["ranks"] = ranks_json(run, summary);
  if (run.jobs().size() > 1) out["jobs"] = jobs_json(run, summary);
  put_links(out, network, summary.makespan_s());
  out["critical_path"] = path_json(run.critical_path());
  if (request.utilisation) out["utilisation"] = utilisation.to_json();
  out["events"] = run.events();
  out["warnings"] = network.warnings();
  if (request.interval) put_intervals(out, catalogue, request, run.used_network());
  return out;
}

}  // namespace linkcast::replay
