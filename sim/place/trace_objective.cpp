#include <algorithm>

#include "sim/machine/open_trace.hpp"
#include "sim/place/objective.hpp"
#include "sim/replay/replay_run.hpp"

namespace linkcast::placement {
namespace {

/// When the last event of each job ended.
class JobEnds final : public replay::ReplayObserver {
 public:
  explicit JobEnds(std::size_t jobs) : ends_s_(jobs) {}
  void starts(const std::vector<replay::ReplayRank>& ranks) override {
    int job = -1;
    for (const replay::ReplayRank& rank : ranks) job_of_.push_back(rank.local == 0 ? ++job : job);
  }
  void ends(int rank, const replay::FedEvent& /*event*/, double now_s) override {
    double& end = ends_s_.at(static_cast<std::size_t>(job_of_.at(static_cast<std::size_t>(rank))));
    end = std::max(end, now_s);
  }
  [[nodiscard]] double end_s(std::size_t job) const { return ends_s_[job]; }

 private:
  std::vector<int> job_of_;
  std::vector<double> ends_s_;
};

class TraceObjective final : public Objective {
 public:
  TraceObjective(catalogue::Catalogue& catalogue, const PlaceRequest& request)
      : catalogue_(catalogue), request_(request) {
    look_through();
    for (const Neighbour& neighbour : request.neighbours)
      neighbours_alone_s_.push_back(run({part(neighbour.job, neighbour.gpus)}).front());
  }

  Score score(const std::vector<int>& gpus) override {
    replay::ReplayResult result;
    Score score;
    score.time_s = score.alone_s = run({part(request_.job, gpus)}, &result).front();
    if (!request_.neighbours.empty()) {
      const std::vector<double> all = run(with_neighbours(gpus), &result);
      score.time_s = all.front();
      for (std::size_t i = 1; i < all.size(); ++i) score.neighbours.push_back({neighbours_alone_s_[i - 1], all[i]});
    }
    score.low_s = score.high_s = score.time_s;
    score.told = false;
    score.bottleneck = result.bottleneck;
    score.warnings = result.warnings;
    return score;
  }

  /// Its interval costs two more runs.
  void tell(const std::vector<int>& gpus, Score& score) override {
    if (score.told) return;
    score.told = true;
    replay::ReplayResult result;
    run(with_neighbours(gpus), &result, true);
    const replay::JobTimes& own = result.jobs.front();
    const replay::ReplayInterval interval = own.step_time_s ? own.step_interval : *result.interval;
    if (interval.low_s && interval.high_s) {
      score.low_s = *interval.low_s;
      score.high_s = *interval.high_s;
    }
  }

  /// A replay takes milliseconds, or seconds.
  [[nodiscard]] long most_orders() const override { return 400; }

  bool order_matters(const std::vector<int>& gpus) override {
    if (gpus.size() == 1) return false;
    return ranks_differ_ || request_.own || any_slow(gpus) ||
           request_.machine->communicator(request_.library, gpus)->fallback;
  }

 private:
  static replay::ReplayPart part(const JobSpec& job, const std::vector<int>& gpus) {
    return {job.trace, gpus, static_cast<int>(gpus.size()), job.options};
  }

  [[nodiscard]] std::vector<replay::ReplayPart> with_neighbours(const std::vector<int>& gpus) const {
    std::vector<replay::ReplayPart> parts{part(request_.job, gpus)};
    for (const Neighbour& neighbour : request_.neighbours) parts.push_back(part(neighbour.job, neighbour.gpus));
    return parts;
  }

  /// @returns  time of each part, seconds
  std::vector<double> run(const std::vector<replay::ReplayPart>& parts, replay::ReplayResult* out = nullptr,
                          bool interval = false) {
    replay::ReplayRequest replayed;
    replayed.machine = request_.machine;
    replayed.library = request_.library;
    replayed.own = request_.own;
    replayed.parts = parts;
    replayed.interval = interval;
    JobEnds ends(parts.size());
    replay::ReplayResult result = replay::replay(catalogue_, replayed, {&ends});
    std::vector<double> times_s;
    for (std::size_t job = 0; job < parts.size(); ++job)  // a step where the trace marks any, else the whole of it
      times_s.push_back(result.jobs[job].step_time_s.value_or(ends.end_s(job)));
    if (out != nullptr) *out = std::move(result);
    return times_s;
  }

  /// Whether each rank has a part of its own in what the ranks exchange: messages, roots, groups of some ranks.
  void look_through() {
    const auto reader = catalogue::open_trace(catalogue_.data_dir(), request_.job.trace, request_.job.options);
    const TraceHeader& header = reader->header();
    while (const auto event = reader->next()) {
      if (event->kind == TraceKind::kSend || event->kind == TraceKind::kRecv) ranks_differ_ = true;
      if (event->kind != TraceKind::kCollective) continue;
      const auto members = static_cast<int>(header.groups.at(event->group).size());
      if (ranks_differ_in(collectives().get(event->op)) || members != header.ranks) ranks_differ_ = true;
      if (ranks_differ_) return;
    }
  }

  [[nodiscard]] bool any_slow(const std::vector<int>& gpus) {
    const Platform& platform = request_.machine->platform();
    return std::any_of(gpus.begin(), gpus.end(), [&](int gpu) {
      return platform.topology().devices[static_cast<std::size_t>(platform.gpu(gpu))].slow > 1;
    });
  }

  catalogue::Catalogue& catalogue_;
  const PlaceRequest& request_;
  std::vector<double> neighbours_alone_s_;
  bool ranks_differ_ = false;
};

}  // namespace

std::unique_ptr<Objective> trace_objective(catalogue::Catalogue& catalogue, const PlaceRequest& request) {
  return std::make_unique<TraceObjective>(catalogue, request);
}

}  // namespace linkcast::placement
