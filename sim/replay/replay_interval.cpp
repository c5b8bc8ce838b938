#include "sim/replay/replay_interval.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "sim/base/index.hpp"
#include "sim/base/statistics.hpp"
#include "sim/engine/run_events.hpp"
#include "sim/machine/trace_source.hpp"

namespace linkcast::replay {
namespace {

/// GPUs of a part, checked. @param taken  by the parts before. @param key  that says where the part goes
std::vector<int> place(const ReplayPart& part, int ranks, int gpus, std::set<int>& taken, const std::string& key) {
  std::vector<int> placed = part.gpus;
  for (int gpu = 0; gpu < gpus && part.gpus.empty() && static_cast<int>(placed.size()) < ranks; ++gpu)
    if (taken.count(gpu) == 0) placed.push_back(gpu);
  if (static_cast<int>(placed.size()) != ranks) {
    const std::string has = fmt::format("{} has {} ranks and", part.trace, ranks);
    if (!part.gpus.empty()) throw InputError(fmt::format("{}: {} {} GPUs are named", key, has, placed.size()));
    if (key == "also") throw InputError(fmt::format("{}: {} {} GPUs are left for it", key, has, placed.size()));
    throw InputError(fmt::format("{} the machine has {} GPUs", has, placed.size()));
  }
  std::set<int> own;
  for (const int gpu : placed) {
    if (gpu < 0 || gpu >= gpus)
      throw InputError(fmt::format("{}: there is no GPU {}, the machine has 0 to {}", key, gpu, gpus - 1));
    if (!own.insert(gpu).second) throw InputError(fmt::format("{}: GPU {} is named twice", key, gpu));
    if (taken.count(gpu) > 0)
      throw InputError(fmt::format("also: GPU {} has a rank of another job: a GPU computes for one", gpu));
  }
  taken.insert(own.begin(), own.end());
  return placed;
}

}  // namespace

std::vector<ReplayJob> jobs_of(const ReplayRequest& request, const std::string& data_dir, int gpus, int runs) {
  std::vector<ReplayJob> jobs;
  std::set<int> taken;
  for (const ReplayPart& part : request.parts) {
    const auto open = [part, data_dir] {
      return part.text ? catalogue::open_text(*part.text, part.trace)
                       : catalogue::open_trace(data_dir, part.trace, part.options);
    };
    auto feed = std::make_unique<TraceFeed>(open(), part.ranks, request.local);
    if (jobs.empty() && request.repeat > 1) feed->repeat(request.repeat, open);
    if (!part.text && std::filesystem::is_regular_file(part.trace)) feed->is_file(part.trace);
    feed->share(runs);
    std::vector<int> placed = place(part, feed->ranks(), gpus, taken, jobs.empty() ? "placement" : "also");
    const std::optional<bool> recorded = feed->header().nvls;
    std::string library = request.library.empty() ? feed->header().library : "";
    jobs.push_back({std::move(feed), std::move(placed), request.host_scale,
                    request.nvls.value_or(recorded.value_or(true)), std::move(library)});
  }
  return jobs;
}

std::size_t ranks_of(const std::vector<ReplayJob>& jobs) {
  std::size_t ranks = 0;
  for (const ReplayJob& job : jobs) ranks += static_cast<std::size_t>(job.feed->ranks());
  return ranks;
}

std::unique_ptr<ReplayNetwork> network_of(catalogue::Catalogue& catalogue, const ReplayRequest& request,
                                          IntervalEnd end, std::shared_ptr<SharedPlans> plans) {
  const auto& known = Transports::message_names();
  if (!request.transport.empty() && std::find(known.begin(), known.end(), request.transport) == known.end()) {
    std::string names;
    for (const std::string& name : known) names += (names.empty() ? "" : ", ") + name;
    throw InputError("transport: '" + request.transport + "' is no kind of message: one of " + names);
  }
  const std::string usual = request.nodes == 0 ? "node" : "cluster";
  return network_kinds()
      .get(request.network.empty() ? usual : request.network)
      .make(catalogue, {request.machine, request.library, request.nodes, request.gpus_per_node, request.transport, end,
                        std::move(plans), request.own});
}

namespace {

constexpr long kSeen = 16384;  // ours: events after which it is decided; their memory is some megabytes
// Events between two changes from run to run: of each rank some, whose state then lies in the cache.
// source: ours, tests/bench/aims.py: of 512 ranks 16 are 5 % faster than 2; of 8 ranks more than 4096 are slower
constexpr long kAheadOfRank = 16, kLeastAhead = 256;

/// The CPUs too where they are unsure: never late, or as recorded; of one host as those of a fast or a slow one.
void set_hosts(std::vector<ReplayJob>& jobs, const std::vector<HostTimes>& hosts, IntervalEnd end) {
  const bool low = end == IntervalEnd::kLow;
  for (std::size_t job = 0; job < jobs.size(); ++job) {
    if (hosts[job] == HostTimes::kOfOneHost)
      jobs[job].host_scale = jobs[job].feed->header().host_scale * (low ? 1 / kHostSpread : kHostSpread);
    if (hosts[job] != HostTimes::kUnsure) continue;
    if (low) jobs[job].host_scale = 0;
    jobs[job].as_recorded = !low;
  }
}

EndTimes times_of(const Replay& run) {
  EndTimes times{run.last_end_s()};
  for (std::size_t job = 0; job < run.jobs().size(); ++job) times.step_s.push_back(step_of(run.steps(job)));
  return times;
}

/// A run of its own, with a reading of its own.
EndTimes times_at(catalogue::Catalogue& catalogue, const ReplayRequest& request, const std::vector<JobTimes>& found,
                  IntervalEnd end) {
  const std::unique_ptr<ReplayNetwork> network = network_of(catalogue, request, end);
  std::vector<ReplayJob> jobs = jobs_of(request, catalogue.data_dir(), network->gpus());
  std::vector<HostTimes> hosts;
  for (const JobTimes& job : found) hosts.push_back(job.host);
  set_hosts(jobs, hosts, end);
  std::vector<ReplayObserver*> observers;
  if (request.watcher != nullptr) observers.push_back(request.watcher);
  Replay run(std::move(jobs), *network, std::move(observers));
  run.without_path();
  run.run();
  return times_of(run);
}

/// Less on the network is not always less in all: where the order changes, what comes between may be longer. So the
/// interval is around all three.
ReplayInterval around(std::optional<double> time_s, std::optional<double> low_s, std::optional<double> high_s) {
  if (!time_s || !low_s || !high_s) return {};
  const auto [least_s, most_s] = std::minmax({*time_s, *low_s, *high_s});
  return {least_s, most_s};
}

}  // namespace

/// A scale that was requested settles it; one fitted to a measured step is that of the host it was measured on.
HostTimes host_of(const ReplayJob& job) {
  if (job.host_scale) return HostTimes::kSure;
  if (job.feed->header().step_time_s) return HostTimes::kOfOneHost;
  if (job.recording_s > 0) return HostTimes::kUnsure;
  return job.of_recorded_host ? HostTimes::kOfOneHost : HostTimes::kSure;
}

std::optional<double> step_of(const std::vector<double>& steps) {
  return steps.empty() ? std::nullopt : std::optional(median(steps));
}

/// The own run as a source of events: whoever drives it drives those beside it.
class BesideRuns::Followed final : public EventSource {
 public:
  explicit Followed(BesideRuns& all) : all_(all) {}
  [[nodiscard]] double now_s() const override { return all_.own_.now_s(); }
  double next_event_s() override { return all_.own_.next_event_s(); }
  void advance() override {
    all_.own_.advance();
    if (all_.own_.fetched() >= next_) next_ = all_.follow(false);
  }

 private:
  BesideRuns& all_;
  long next_ = kSeen;
};

BesideRuns::BesideRuns(catalogue::Catalogue& catalogue, const ReplayRequest& request, Replay& own,
                       std::shared_ptr<SharedPlans> plans)
    : catalogue_(catalogue), request_(request), own_(own), plans_(std::move(plans)) {}

std::vector<HostTimes> BesideRuns::hosts() const {
  std::vector<HostTimes> all;
  for (const ReplayJob& job : own_.jobs()) all.push_back(host_of(job));
  return all;
}

void BesideRuns::run() {
  Followed source(*this);
  own_.begin();
  run_events(source);
  own_.finish();
  follow(true);
  for (One& one : ends_) {
    if (one.failed) std::rethrow_exception(one.failed);
    if (one.run) one.run->finish();
  }
}

/// @returns  events after which it wants to follow again
long BesideRuns::follow(bool ended) {
  if (!std::exchange(decided_, true)) decide();
  const long until = ended ? std::numeric_limits<long>::max() : own_.fetched();
  for (One& one : ends_)
    if (one.run && !one.failed) run_until(one, until);
  if (ended || !ends_[0].run) return std::numeric_limits<long>::max();
  const auto ranks = static_cast<long>(own_.ranks().size());
  return until + std::clamp(kAheadOfRank * ranks, kLeastAhead, kSeen);
}

/// From here on they run, or never do.
void BesideRuns::decide() {
  hosts_ = hosts();
  const bool unsure = own_.used_network() || hosts_.front() != HostTimes::kSure;
  const std::shared_ptr<TraceFeed>& feed = own_.jobs().front().feed;
  if (!unsure) {
    for (int run = 1; run < kRuns; ++run) feed->leave(run);
    plans_->leave();
    return;
  }
  for (int run = 1; run < kRuns; ++run) {
    One& one = ends_[at(run - 1)];
    one.network = network_of(catalogue_, request_, one.end, plans_);
    const ReplayJob& own = own_.jobs().front();
    std::vector<ReplayJob> jobs;
    jobs.push_back({feed, own.gpus, request_.host_scale, own.nvls, own.library});
    jobs.front().run = run;
    set_hosts(jobs, hosts_, one.end);
    one.run = std::make_unique<Replay>(std::move(jobs), *one.network, std::vector<ReplayObserver*>{});
    one.run->without_path();
    try {
      one.run->begin();
    } catch (const InputError&) {
      one.failed = std::current_exception();
    }
  }
}

/// What is wrong with the trace is for the own run to say, if it comes there too.
void BesideRuns::run_until(One& one, long fetched) {
  try {
    while (one.run->fetched() < fetched && one.run->next_event_s() < kInfinity) one.run->advance();
  } catch (const InputError&) {
    one.failed = std::current_exception();
  }
}

std::optional<std::array<EndTimes, 2>> BesideRuns::times() const {
  if (!ends_[0].run || hosts_ != hosts()) return std::nullopt;
  return std::array{times_of(*ends_[0].run), times_of(*ends_[1].run)};
}

void add_intervals(ReplayResult& result, catalogue::Catalogue& catalogue, const ReplayRequest& request,
                   const BesideRuns* beside, bool used) {
  const bool unsure = used || std::any_of(result.jobs.begin(), result.jobs.end(),
                                          [](const JobTimes& job) { return job.host != HostTimes::kSure; });
  result.interval.emplace();
  EndTimes low{result.makespan_s}, high{result.makespan_s};
  for (const JobTimes& job : result.jobs)
    for (EndTimes* end : {&low, &high}) end->step_s.push_back(job.step_time_s);
  const auto found = beside != nullptr ? beside->times() : std::nullopt;
  if (found) {
    low = (*found)[0];
    high = (*found)[1];
  } else if (unsure) {
    if (const std::string once = piped_trace(request); !once.empty()) {
      result.warnings.push_back("no interval, which takes further runs: " + once + " can be read only once");
      return;
    }
    low = times_at(catalogue, request, result.jobs, IntervalEnd::kLow);
    high = times_at(catalogue, request, result.jobs, IntervalEnd::kHigh);
  }
  result.interval = around(result.makespan_s, low.makespan_s, high.makespan_s);
  for (std::size_t job = 0; job < result.jobs.size(); ++job)
    result.jobs[job].step_interval = around(result.jobs[job].step_time_s, low.step_s[job], high.step_s[job]);
}

}  // namespace linkcast::replay
