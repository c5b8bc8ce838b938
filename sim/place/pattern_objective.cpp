#include <algorithm>

#include "sim/machine/library.hpp"
#include "sim/place/objective.hpp"
#include "sim/place/placement_memory.hpp"

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
                                      request_.job.op, size_B, catalogue_.solver("fluid"));
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

  /// Of rings through the host: each has a hop at least that leaves a GPU towards its host.
  double least_s(const std::vector<int>& gpus) override {
    const Collective& op = collectives().get(request_.job.op);
    if (ranks_differ_ || !op.closed() || scheduled_ || request_.own) return 0;
    const Platform& platform = request_.machine->platform();
    double fastest_Bps = 0;
    for (const int gpu : gpus) {
      const int link = platform.to_host(platform.gpu(gpu)).links.front();
      fastest_Bps = std::max(fastest_Bps, platform.constraints()[static_cast<std::size_t>(link)].capacity.value);
    }
    const auto rings = request_.machine->communicator(library_, gpus)->channels.size();
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

}  // namespace

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

}  // namespace linkcast::placement
