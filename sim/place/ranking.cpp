#include "sim/place/ranking.hpp"

#include <algorithm>

namespace linkcast::placement {

double cost_of(const Score& score, PlaceObjective objective, double best_alone_s) {
  if (objective == PlaceObjective::kTime) return score.time_s;
  if (objective == PlaceObjective::kNeighbours) return score.loss();
  if (!(best_alone_s > 0)) return score.loss();  // a job that moves nothing loses nothing
  return score.loss() + score.time_s / best_alone_s - 1;
}

double rate_left(const Platform& platform, const PlaceRequest& request, const GpuSet& set) {
  const auto stays_free = [&](int device) {
    const auto& gpus = platform.topology().gpus();
    const auto gpu = static_cast<int>(std::find(gpus.begin(), gpus.end(), device) - gpus.begin());
    return gpu < platform.gpu_count() && !std::binary_search(set.begin(), set.end(), gpu) &&
           !std::binary_search(request.busy.begin(), request.busy.end(), gpu);
  };
  double rate_Bps = 0;
  for (const Cable& cable : platform.topology().cables)
    if (is_accelerator_cable(cable.kind) && stays_free(cable.a) && stays_free(cable.b))
      rate_Bps += cable.count * cable.bandwidth.si;
  return rate_Bps;
}

std::vector<Ranked> rank(const Platform& platform, const PlaceRequest& request, const NodeSearch& search) {
  const double best_alone_s = search.best_alone_s();
  std::vector<Ranked> ranked;
  for (const PlacementClass& which : search.classes) {
    // Sets of one class leave the same: what a symmetry makes of the set it also makes of what is left.
    const GpuSet& first = which.sets.front();
    ranked.push_back(
        {&which, cost_of(which.score, request.objective, best_alone_s), first, rate_left(platform, request, first)});
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const Ranked& a, const Ranked& b) { return a.cost < b.cost; });
  for (auto begin = ranked.begin(); begin != ranked.end();) {
    const double most = begin->cost + kSame * std::max(begin->cost, kSame);
    const auto end = std::find_if(begin, ranked.end(), [&](const Ranked& one) { return one.cost > most; });
    std::stable_sort(begin, end, [](const Ranked& a, const Ranked& b) {
      return a.left_Bps != b.left_Bps ? a.left_Bps > b.left_Bps : a.set < b.set;
    });
    begin = end;
  }
  return ranked;
}

}  // namespace linkcast::placement
