#include <algorithm>

#include "sim/forecast/query.hpp"
#include "sim/placement/objective.hpp"
#include "sim/plugin/collective.hpp"

namespace linkcast {
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

/// Asks for a forecast as anybody would.
class Pattern final : public Objective {
 public:
  Pattern(Catalogue& catalogue, const PlaceRequest& request)
      : catalogue_(catalogue), request_(request), library_(request.library) {
    if (library_.empty()) library_ = catalogue.platform(request.platform).calibration().default_library;
    rooted_ = !collectives().get(request.job.op).closed() &&
              collectives().get(request.job.op).messages({request.job.size_B}, request.ranks).empty();
    messages_ = !collectives().get(request.job.op).messages({request.job.size_B}, request.ranks).empty() &&
                !collectives().get(request.job.op).every_pair();
  }

  Score score(const std::vector<int>& gpus) override {
    Json query{{"kind", "collective"}, {"platform", request_.platform}, {"op", request_.job.op},
               {"gpus", gpus},         {"size_B", request_.job.size_B}, {"library", library_}};
    for (const Neighbour& neighbour : request_.neighbours)
      query["with"].push_back({{"op", neighbour.job.op}, {"size_B", neighbour.job.size_B}, {"gpus", neighbour.gpus}});
    const Json answer = answer_or_throw(catalogue_, query, "job");
    Score score{answer["time_s"], answer["time_low_s"], answer["time_high_s"]};
    score.alone_s = answer.value("alone_s", score.time_s);
    for (const Json& other : answer.value("others", Json::array()))
      score.neighbours.push_back({other["alone_s"], other["time_s"]});
    score.bottleneck = answer["bottleneck"];
    score.warnings = answer["warnings"];
    return score;
  }

  /// Rings of a library follow from the set; a root, a ring in rank order through the host, and rounds of messages do
  /// not.
  bool order_matters(const std::vector<int>& gpus) override {
    if (gpus.size() <= 2 && !rooted_ && !messages_) return false;
    if (rooted_ || messages_ || library_.rfind("mpi-", 0) == 0) return true;
    return catalogue_.communicator(request_.platform, library_, gpus).fallback;
  }

  /// Of rings through the host: each has a hop at least that leaves a GPU towards its host.
  double least_s(const std::vector<int>& gpus) override {
    const Collective& op = collectives().get(request_.job.op);
    if (rooted_ || messages_ || !op.closed() || library_.rfind("mpi-", 0) == 0) return 0;
    const Platform& platform = catalogue_.platform(request_.platform);
    double fastest_Bps = 0;
    for (const int gpu : gpus) {
      const int link = platform.to_host(platform.gpu(gpu)).links.front();
      fastest_Bps = std::max(fastest_Bps, platform.constraints()[static_cast<std::size_t>(link)].capacity.value);
    }
    const auto rings = catalogue_.communicator(request_.platform, library_, gpus).channels.size();
    return op.bytes_per_hop({request_.job.size_B}, request_.ranks).si / (static_cast<double>(rings) * fastest_Bps);
  }

 private:
  Catalogue& catalogue_;
  const PlaceRequest& request_;
  std::string library_;
  bool rooted_ = false, messages_ = false;
};

}  // namespace

double Score::loss() const {
  double loss = 0;
  for (const NeighbourScore& neighbour : neighbours) loss += neighbour.slowdown() - 1;
  return loss;
}

std::unique_ptr<Objective> pattern_objective(Catalogue& catalogue, const PlaceRequest& request) {
  if (request.ranks == 1) return std::make_unique<Nothing>();
  return std::make_unique<Pattern>(catalogue, request);
}

}  // namespace linkcast
