#include "sim/place/explain.hpp"

#include <algorithm>
#include <sstream>

#include "sim/machine/collective.hpp"
#include "sim/machine/library.hpp"

namespace linkcast::placement {
namespace {

std::string numbers(const std::vector<int>& gpus) {
  std::string text;
  for (const int gpu : gpus) text += (text.empty() ? "" : ",") + std::to_string(gpu);
  return text;
}

std::string links(double count) {
  std::ostringstream text;
  text << count << (count == 1 ? " link" : " links");
  return text.str();
}

std::string first_of(const std::vector<std::string>& bottleneck) {
  return bottleneck.empty() ? "the GPUs' own rate" : bottleneck.front();
}

/// What the library builds; nullptr where no library of rings runs the job, or a user's schedule does.
std::shared_ptr<const Communicator> communicator(const PlaceRequest& request, const std::vector<int>& gpus) {
  if (gpus.size() < 2 || request.own || libraries().get(request.library).rings() == nullptr) return nullptr;
  return request.machine->communicator(request.library, gpus);
}

/// Of NCCL's classes of paths, nearest first. source: NCCL's src/graph/topo.h
std::ptrdiff_t distance_of(const std::string& path_class) {
  static const std::vector<std::string> kNearest{"NVL", "NVB", "PIX", "PXB", "PHB", "SYS"};
  return std::find(kNearest.begin(), kNearest.end(), path_class) - kNearest.begin();
}

/// Where the closing hop of a ring carries nothing, or there is no ring, its class says nothing.
bool collective_over_rings(const PlaceRequest& request) {
  return request.job.is_trace() || collectives().get(request.job.op).closed();
}

std::string same_rings(const std::vector<int>& worse, const Score& better_score, const Score& worse_score) {
  if (worse_score.loss() > better_score.loss())
    return "the neighbours lose less: beside " + numbers(worse) + " they share " + first_of(worse_score.bottleneck);
  const std::string limit = first_of(worse_score.bottleneck);
  if (worse_score.alone_s < worse_score.time_s)
    return "keeps off the neighbours: " + numbers(worse) + " shares " + limit + " with them";
  const std::string own = first_of(better_score.bottleneck);
  if (limit == own) return "less crosses " + limit + " than with " + numbers(worse);
  return numbers(worse) + " is limited by " + limit + ", this by " + own;
}

}  // namespace

std::string carried_by(const PlaceRequest& request, const std::vector<int>& gpus, const Score& score) {
  const auto made = communicator(request, gpus);
  if (gpus.size() < 2) return "one GPU";
  if (made == nullptr || !collective_over_rings(request)) return "limited by " + first_of(score.bottleneck);
  if (made->fallback) return "no NVLink ring: through host memory";
  const auto rings = made->channels.size();
  if (made->link_equivalents == 0) return "no NVLink: over PCIe, class " + made->path_class;
  return std::to_string(rings) + (rings == 1 ? " ring of " : " rings of ") + links(made->link_equivalents) +
         ", class " + made->path_class;
}

std::string why_better(const PlaceRequest& request, const std::vector<int>& better, const std::vector<int>& worse,
                       const Score& better_score, const Score& worse_score) {
  const auto good = communicator(request, better);
  const auto bad = communicator(request, worse);
  if (good == nullptr || bad == nullptr) return same_rings(worse, better_score, worse_score);
  if (bad->fallback && !good->fallback)
    return good->link_equivalents > 0
               ? "avoids the host path: " + numbers(worse) + " has no NVLink ring"
               : "stays on one side of the host: " + numbers(worse) + " goes through host memory";
  if (good->fallback || !collective_over_rings(request)) return same_rings(worse, better_score, worse_score);
  if (distance_of(good->path_class) < distance_of(bad->path_class))
    return "stays within class " + good->path_class + ": " + numbers(worse) + " has a hop of class " + bad->path_class;
  if (good->link_equivalents > bad->link_equivalents)
    return "rings of " + links(good->link_equivalents) + ": those of " + numbers(worse) + " have " +
           links(bad->link_equivalents);
  return same_rings(worse, better_score, worse_score);
}

}  // namespace linkcast::placement
