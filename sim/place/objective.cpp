#include "sim/place/objective.hpp"

#include <algorithm>

#include "sim/engine/solvers.hpp"
#include "sim/machine/library.hpp"
#include "sim/machine/trace_source.hpp"
#include "sim/place/placement_memory.hpp"
#include "sim/replay/replay_run.hpp"

namespace linkcast::placement {
namespace {

/// One rank moves nothing.
class Nothing final : public Objective {
 public:
  Score score(const std::vector<int>& /*gpus*/) override {
    Score score;
    score.warnings.push_back("a collective of one rank moves nothing: only what stays free decides");
    return score;
  }
  bool order_matters(const std::vector<int>& /*gpus*/) override { return false; }
};

/// Errors of a forecast say that it is the job's.
template <class Forecast>
auto of_job(const Forecast& forecast) {
  try {
    return forecast();
  } catch (const InputError& error) {
    throw InputError(std::string("job: ") + error.what());
  }
}

/// Rings and trees of a library, or messages between GPUs. Times of a job alone come from the memory, since most rank
/// orders of a set, and many sets, come down to the same flows.
class Pattern final : public Objective {
 public:
  Pattern(catalogue::Catalogue& catalogue, const PlaceRequest& request, PlacementMemory& memory)
      : catalogue_(catalogue),
        request_(request),
        memory_(memory),
        library_(request.library),
        scheduled_(libraries().get(request.library).rings() == nullptr),
        ranks_differ_(!request.job.parts_B.empty() || ranks_differ_in(collectives().get(request.job.op))) {}

  Score score(const std::vector<int>& gpus) override {
    if (!request_.neighbours.empty() || scheduled_ || !request_.job.parts_B.empty() || request_.own) return whole(gpus);
    const auto shape = of_job([&] { return memory_.shape(request_.machine, library_, request_.job.op, gpus); });
    if (!shape) return whole(gpus);
    const double size_B = request_.job.size_B;
    const collective::CollectiveTimes* known = shape->times.find(size_B);
    if (known == nullptr)
      known = &shape->times.put(size_B, of_job([&] {
                                  return collective::forecast_alone(
                                      request_.machine->lone_node(), libraries().get(library_), shape->communicator,
                                      request_.job.op, size_B, catalogue_.solver(SolverChoice::name()));
                                }));
    Score score{known->time_s, known->low_s, known->high_s, known->time_s};
    score.told = false;
    return score;
  }

  void tell(const std::vector<int>& gpus, Score& score) override {
    if (!score.told) score = whole(gpus);
  }

  /// Rings of a library follow from the set; a root, a ring in rank order through the host, and rounds of messages do
  /// not.
  bool order_matters(const std::vector<int>& gpus) override {
    if (ranks_differ_) return true;
    if (gpus.size() <= 2) return false;
    if (scheduled_ || request_.own) return true;
    return request_.machine->communicator(library_, gpus)->fallback;
  }

  /// Each ring through the host has at least one hop from a GPU towards its host; trees, and rings in another rank
  /// order, may have none.
  double least_s(const std::vector<int>& gpus) override {
    const Collective& op = collectives().get(request_.job.op);
    if (ranks_differ_ || !op.closed() || scheduled_ || request_.own) return 0;
    if (libraries().get(library_).rings()->keeps_rank_order()) return 0;
    const auto communicator = request_.machine->communicator(library_, gpus);
    if (!communicator->fallback || !communicator->trees.empty()) return 0;
    const Platform& platform = request_.machine->platform();
    double fastest_Bps = 0;
    for (const int gpu : gpus) {
      const int link = platform.to_host(platform.gpu(gpu)).links.front();
      fastest_Bps = std::max(fastest_Bps, platform.constraints()[static_cast<std::size_t>(link)].capacity.value);
    }
    const auto rings = communicator->channels.size();
    return op.bytes_per_hop({request_.job.size_B}, request_.ranks).si / (static_cast<double>(rings) * fastest_Bps);
  }

 private:
  /// With what limits it and what was assumed.
  Score whole(const std::vector<int>& gpus) {
    std::vector<collective::CollectiveAsk> all{
        {request_.job.op, gpus, request_.job.size_B, request_.job.parts_B, request_.own.get()}};
    for (const Neighbour& neighbour : request_.neighbours)
      all.push_back({neighbour.job.op, neighbour.gpus, neighbour.job.size_B, neighbour.job.parts_B});
    const collective::CollectiveForecast forecast =
        of_job([&] { return collective::forecast_collectives(catalogue_, *request_.machine, library_, all); });
    Score score{forecast.time_s, forecast.interval.low_s, forecast.interval.high_s, forecast.time_s};
    if (forecast.beside) {
      score.alone_s = forecast.beside->alone_s;
      for (const auto& other : forecast.beside->others) score.neighbours.push_back({other.alone_s, other.time_s});
    }
    score.bottleneck = forecast.bottleneck;
    score.warnings = forecast.warnings;
    return score;
  }

  catalogue::Catalogue& catalogue_;
  const PlaceRequest& request_;
  PlacementMemory& memory_;
  const std::string& library_;
  bool scheduled_;  ///< rounds of messages, no rings
  bool ranks_differ_;
};

/// When the last event of each job ended.
class JobEnds final : public replay::ReplayObserver {
 public:
  explicit JobEnds(std::size_t jobs) : ends_s_(jobs) {}
  void starts(const std::vector<replay::ReplayRank>& ranks) override {
    int job = -1;
    for (const replay::ReplayRank& rank : ranks) job_of_.push_back(rank.local == 0 ? ++job : job);
  }
  void ends(int rank, const replay::FedEvent& /*event*/, double now_s) override {
    double& end = ends_s_.at(at(job_of_.at(at(rank))));
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

double cost_of(const Score& score, PlaceObjective objective, double best_alone_s) {
  if (objective == PlaceObjective::kTime) return score.time_s;
  if (objective == PlaceObjective::kNeighbours) return score.loss();
  if (!(best_alone_s > 0)) return score.loss();  // a job that moves nothing loses nothing
  return score.loss() + score.time_s / best_alone_s - 1;
}

bool ranks_differ_in(const Collective& op) { return op.shape() == Shape::kPairs ? !op.every_pair() : op.traits().root; }

double Score::loss() const {
  double loss = 0;
  for (const NeighbourScore& neighbour : neighbours) loss += neighbour.slowdown() - 1;
  return loss;
}

std::unique_ptr<Objective> pattern_objective(catalogue::Catalogue& catalogue, const PlaceRequest& request,
                                             PlacementMemory& memory) {
  if (request.ranks == 1) return std::make_unique<Nothing>();
  return std::make_unique<Pattern>(catalogue, request, memory);
}

std::unique_ptr<Objective> trace_objective(catalogue::Catalogue& catalogue, const PlaceRequest& request) {
  return std::make_unique<TraceObjective>(catalogue, request);
}

TraceTime trace_on_nodes(catalogue::Catalogue& catalogue, const PlaceRequest& asked, const std::vector<int>& nodes,
                         bool interval) {
  const int each = asked.whole->gpus_each;
  std::vector<int> gpus;
  for (const int node : nodes)
    for (int gpu = 0; gpu < each; ++gpu) gpus.push_back(node * each + gpu);
  replay::ReplayRequest request;
  request.machine = asked.machine;
  request.library = asked.library;
  request.own = asked.own;
  request.nodes = *std::max_element(nodes.begin(), nodes.end()) + 1;
  request.gpus_per_node = each;
  request.interval = interval;
  request.parts.push_back({asked.job.trace, gpus, static_cast<int>(gpus.size()), asked.job.options});
  const replay::ReplayResult result = replay::replay(catalogue, request);
  const replay::JobTimes& times = result.jobs.front();
  TraceTime time;
  time.time_s = time.low_s = time.high_s = times.step_time_s.value_or(result.makespan_s);
  time.warnings = result.warnings;
  const replay::ReplayInterval found =
      times.step_time_s ? times.step_interval : result.interval.value_or(replay::ReplayInterval{});
  if (found.low_s && found.high_s) {
    time.low_s = *found.low_s;
    time.high_s = *found.high_s;
  }
  return time;
}

}  // namespace linkcast::placement
