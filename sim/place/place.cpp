#include "sim/place/place.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/place/explain.hpp"
#include "sim/place/ranking.hpp"

namespace linkcast::placement {
namespace {

class NodeAnswer {
 public:
  NodeAnswer(catalogue::Catalogue& catalogue, const PlaceRequest& request, Objective& objective, NodeSearch search)
      : catalogue_(catalogue),
        request_(request),
        objective_(objective),
        search_(std::move(search)),
        ranked_(rank(request.machine->platform(), request, search_)),
        best_alone_s_(search_.best_alone_s()) {}

  Json json() {
    const PlacementClass best = told(*ranked_.front().which);
    Json out;
    put_score(out, best.score);
    out["gpus"] = best.gpus;
    out["job"] = request_.job.text();
    out["ranks"] = request_.ranks;
    out["objective"] = to_text(request_.objective);
    out["bottleneck"] = best.score.bottleneck;
    out["why"] = why(best);
    out["warnings"] = best.score.warnings;
    out["placements"] = placements(out["warnings"]);
    out["classes"] = classes();
    const Ranked& worst = ranked_.back();
    out["worst"] = short_row(worst.which->gpus, worst.which->score);
    out["first_free"] = first_free();
    out["mean_regret"] = mean_regret();
    if (!search_.exact)
      out["warnings"].push_back("too many rank orders to try all: two ranks at a time were swapped while it helped");
    out["search"] = {{"exact", search_.exact},
                     {"sets", search_.sets},
                     {"classes", search_.classes.size()},
                     {"evaluated", search_.evaluated}};
    return out;
  }

 private:
  [[nodiscard]] double regret(const Score& score) const {
    const double cost = cost_of(score, request_.objective, best_alone_s_), least = ranked_.front().cost;
    if (request_.objective != PlaceObjective::kTime) return cost - least;
    return least > 0 ? cost / least - 1 : 0;
  }

  [[nodiscard]] PlacementClass told(PlacementClass which) {
    objective_.tell(which.gpus, which.score);
    return which;
  }

  void put_score(Json& row, const Score& score) const {
    row["time_s"] = score.time_s;
    row["time_low_s"] = score.low_s;
    row["time_high_s"] = score.high_s;
    if (request_.neighbours.empty()) return;
    row["alone_s"] = score.alone_s;
    row["neighbours"] = Json::array();
    for (std::size_t i = 0; i < score.neighbours.size(); ++i)
      row["neighbours"].push_back({{"job", request_.neighbours[i].job.text()},
                                   {"gpus", request_.neighbours[i].gpus},
                                   {"alone_s", score.neighbours[i].alone_s},
                                   {"time_s", score.neighbours[i].time_s},
                                   {"slowdown", score.neighbours[i].slowdown()}});
  }

  [[nodiscard]] Json short_row(const std::vector<int>& gpus, const Score& score) const {
    return {{"gpus", gpus}, {"time_s", score.time_s}, {"regret", regret(score)}};
  }

  /// The best sets, each with a forecast of its own: that of its class could differ where a library's search depends
  /// on the numbers of GPUs.
  Json placements(Json& warnings) {
    Json rows = Json::array();
    for (std::size_t number = 0; number < ranked_.size(); ++number)
      for (const GpuSet& set : ranked_[number].which->sets) {
        if (static_cast<int>(rows.size()) == request_.top) return rows;
        const PlacementClass& which = *ranked_[number].which;
        const std::vector<int> gpus = order_of(search_, which, set);
        Score score = gpus == which.gpus ? which.score : objective_.score(gpus);
        objective_.tell(gpus, score);
        Json row{{"gpus", gpus}};
        put_score(row, score);
        row["regret"] = regret(score);
        row["class"] = number;
        row["why"] = carried_by(request_, gpus, score);
        rows.push_back(std::move(row));
        if (std::abs(score.time_s - which.score.time_s) <= kSame * which.score.time_s || !search_.exact) continue;
        search_.exact = false;
        warnings.push_back("GPUs that a symmetry makes equal differ: the library's search depends on their numbers");
      }
    return rows;
  }

  [[nodiscard]] Json classes() const {
    Json rows = Json::array();
    for (const Ranked& one : ranked_)
      rows.push_back({{"gpus", one.which->gpus},
                      {"sets", one.which->sets.size()},
                      {"time_s", one.which->score.time_s},
                      {"regret", regret(one.which->score)}});
    return rows;
  }

  /// What a scheduler takes that knows nothing: the lowest numbers in their order.
  Json first_free() {
    const GpuSet first = search_.classes.front().sets.front();
    first_score_ = search_.classes.front().gpus == first ? search_.classes.front().score : objective_.score(first);
    return short_row(first, first_score_);
  }

  [[nodiscard]] double mean_regret() const {
    double sum = 0;
    for (const PlacementClass& which : search_.classes)
      sum += static_cast<double>(which.sets.size()) * regret(which.score);
    return sum / search_.sets;
  }

  /// Against the first free GPUs where these are worse, else against the worst.
  std::string why(const PlacementClass& best) {
    const PlacementClass& first = search_.classes.front();
    const PlacementClass& worst = *ranked_.back().which;
    const PlacementClass other = told(regret(first.score) > kSame ? first : worst);
    if (regret(other.score) <= kSame)
      return ranked_.size() == 1 ? "all sets are alike" : "all sets are as fast; this one leaves the best joined GPUs";
    return why_better(request_, best.gpus, other.gpus, best.score, other.score);
  }

  catalogue::Catalogue& catalogue_;
  const PlaceRequest& request_;
  Objective& objective_;
  NodeSearch search_;
  std::vector<Ranked> ranked_;
  Score first_score_{};
  double best_alone_s_ = 0;
};

}  // namespace

Json place(catalogue::Catalogue& catalogue, const PlaceRequest& request) {
  PlacementMemory memory;
  return place(catalogue, request, memory);
}

Json place(catalogue::Catalogue& catalogue, const PlaceRequest& request, PlacementMemory& memory) {
  const auto objective =
      request.job.is_trace() ? trace_objective(catalogue, request) : pattern_objective(catalogue, request, memory);
  NodeSearch search = search_node(request, *objective, memory, catalogue.progress());
  return NodeAnswer(catalogue, request, *objective, std::move(search)).json();
}

}  // namespace linkcast::placement
