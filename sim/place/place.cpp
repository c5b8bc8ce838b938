#include "sim/place/place.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <sstream>

#include "sim/base/index.hpp"
#include "sim/machine/collective.hpp"
#include "sim/machine/library.hpp"
#include "sim/place/cluster_search.hpp"
#include "sim/place/node_search.hpp"

namespace linkcast::placement {
namespace {

constexpr int kMostForecasts = 300;  // ours: seconds on a thousand nodes
constexpr int kMostReplays = 60;     // ours: of a trace, milliseconds to a second each

// Why GPUs are good or bad for a job, in one line.

std::string numbers(const std::vector<int>& gpus) {
  std::string text;
  for (const int gpu : gpus) text += fmt::format("{}{}", text.empty() ? "" : ",", gpu);
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

/// The library's communicator; nullptr where no library of rings runs the job, or a user's schedule does.
std::shared_ptr<const Communicator> communicator(const PlaceRequest& request, const std::vector<int>& gpus) {
  if (gpus.size() < 2 || request.own || libraries().get(request.library).rings() == nullptr) return nullptr;
  return request.machine->communicator(request.library, gpus);
}

/// Rank of a class of paths in NCCL's order, nearest first. source: NCCL's src/graph/topo.h
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

/// Routes that carry the job there: "2 rings of 3 links, class NVL", "no NVLink ring: through host memory".
std::string carried_by(const PlaceRequest& request, const std::vector<int>& gpus, const Score& score) {
  const auto made = communicator(request, gpus);
  if (gpus.size() < 2) return "one GPU";
  if (made == nullptr || !collective_over_rings(request)) return "limited by " + first_of(score.bottleneck);
  if (made->fallback) return "no NVLink ring: through host memory";
  const auto rings = made->channels.size();
  if (made->link_equivalents == 0) return "no NVLink: over PCIe, class " + made->path_class;
  return fmt::format("{} {} of {}, class {}", rings, rings == 1 ? "ring" : "rings", links(made->link_equivalents),
                     made->path_class);
}

/// Why the first placement is better than the second.
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

/// GPUs of one node.
class NodeAnswer {
 public:
  NodeAnswer(const PlaceRequest& request, Objective& objective, NodeSearch search)
      : request_(request),
        objective_(objective),
        search_(std::move(search)),
        ranked_(rank(request.machine->platform(), request, search_)),
        best_alone_s_(search_.best_alone_s()) {}

  PlaceResult result() {
    const PlacementClass best = with_bottleneck(*ranked_.front().which);
    PlaceResult out{request_.job.text(), request_.ranks, request_.objective, with_times(best.gpus, best.score)};
    out.bottleneck = best.score.bottleneck;
    out.best.why = why(best);
    out.warnings = best.score.warnings;
    out.placements = placements(out.warnings);
    PlaceResult::Sets& sets = *(out.one_node = PlaceResult::Sets{});
    for (const Ranked& one : ranked_) {
      sets.classes.push_back(short_row(one.which->gpus, one.which->score));
      sets.classes.back().sets = one.which->count;
    }
    out.first_free = in_order(search_.classes.front());
    sets.worst = worst();
    sets.mean_regret = mean_regret();
    if (!search_.exact)
      out.warnings.push_back("too many rank orders to try all: two ranks at a time were swapped while it helped");
    out.exact = search_.exact;
    sets.sets = search_.sets;
    out.evaluated = search_.evaluated;
    return out;
  }

 private:
  [[nodiscard]] double regret(const Score& score) const {
    const double cost = cost_of(score, request_.objective, best_alone_s_), least = ranked_.front().cost;
    if (request_.objective != PlaceObjective::kTime) return cost - least;
    return least > 0 ? cost / least - 1 : 0;
  }

  [[nodiscard]] PlacementClass with_bottleneck(PlacementClass which) {
    objective_.tell(which.gpus, which.score);
    return which;
  }

  [[nodiscard]] Placement with_times(const std::vector<int>& gpus, const Score& score) const {
    Placement placed{gpus};
    placed.time_s = score.time_s;
    placed.low_s = score.low_s;
    placed.high_s = score.high_s;
    placed.alone_s = score.alone_s;
    for (std::size_t i = 0; i < score.neighbours.size(); ++i) {
      const Neighbour& neighbour = request_.neighbours[i];
      placed.neighbours.push_back(
          {neighbour.job.text(), neighbour.gpus, {}, {}, score.neighbours[i].alone_s, score.neighbours[i].time_s});
    }
    return placed;
  }

  [[nodiscard]] Placement short_row(const std::vector<int>& gpus, const Score& score) const {
    Placement placed{gpus};
    placed.time_s = score.time_s;
    placed.regret = regret(score);
    return placed;
  }

  /// The best sets, each with a forecast of its own: that of its class could differ where a library's search depends
  /// on the numbers of GPUs.
  std::vector<Placement> placements(std::vector<std::string>& warnings) {
    std::vector<Placement> rows;
    for (std::size_t number = 0; number < ranked_.size(); ++number)
      for (const GpuSet& set : ranked_[number].which->sets) {
        if (static_cast<int>(rows.size()) == request_.top) return rows;
        const PlacementClass& which = *ranked_[number].which;
        const std::vector<int> gpus = order_of(search_, which, set);
        Score score = gpus == which.gpus ? which.score : objective_.score(gpus);
        objective_.tell(gpus, score);
        Placement& row = rows.emplace_back(with_times(gpus, score));
        row.regret = regret(score);
        row.alike = number;
        row.why = carried_by(request_, gpus, score);
        if (std::abs(score.time_s - which.score.time_s) <= kSame * which.score.time_s || !search_.exact) continue;
        search_.exact = false;
        warnings.emplace_back("GPUs that a symmetry makes equal differ: the library's search depends on their numbers");
      }
    return rows;
  }

  /// A class's first set in the order of its numbers: of the first class the choice of a scheduler that knows nothing.
  [[nodiscard]] Placement in_order(const PlacementClass& which) const {
    return short_row(which.sets.front(), which.in_order);
  }
  /// Not better than the first free GPUs, which are one of those that are compared.
  [[nodiscard]] Placement worst() const {
    const PlacementClass* worst = ranked_.back().which;
    const auto cost = [&](const PlacementClass& which) {
      return cost_of(which.in_order, request_.objective, best_alone_s_);
    };
    for (const PlacementClass& which : search_.classes)
      if (cost(which) > cost(*worst) + kSame * std::max(cost(*worst), kSame)) worst = &which;
    return in_order(*worst);
  }

  [[nodiscard]] double mean_regret() const {
    double sum = 0, sets = 0;
    for (const PlacementClass& which : search_.classes) {
      const auto count = static_cast<double>(which.count);
      sum += count * regret(which.score);
      sets += count;
    }
    return sum / sets;
  }

  /// Against the first free GPUs where these are worse, else against the worst.
  std::string why(const PlacementClass& best) {
    const PlacementClass& first = search_.classes.front();
    const PlacementClass& worst = *ranked_.back().which;
    const PlacementClass other = with_bottleneck(regret(first.score) > kSame ? first : worst);
    if (regret(other.score) <= kSame)
      return ranked_.size() == 1 ? "all sets are alike" : "all sets are as fast; this one leaves the best joined GPUs";
    return why_better(request_, best.gpus, other.gpus, best.score, other.score);
  }

  const PlaceRequest& request_;
  Objective& objective_;
  NodeSearch search_;
  std::vector<Ranked> ranked_;
  double best_alone_s_ = 0;
};

/// How many groups of each level the nodes are in, nearest first.
std::vector<int> groups_of(const FabricGroups& groups, const std::vector<int>& nodes) {
  std::vector<int> counts;
  for (int level = 0; level < groups.levels(); ++level) {
    std::set<int> seen;
    for (const int node : nodes) seen.insert(groups.group(level, node));
    counts.push_back(static_cast<int>(seen.size()));
  }
  return counts;
}

std::string groups_text(const Cluster& cluster, const std::vector<int>& counts) {
  std::string text;
  for (std::size_t level = 0; level < counts.size(); ++level)
    text += fmt::format("{}{} x {}", text.empty() ? "" : ", ", counts[level], cluster.fabric().distances()[level]);
  return text;
}

/// Whole nodes.
class NodesAnswer {
 public:
  NodesAnswer(catalogue::Catalogue& catalogue, const PlaceRequest& request)
      : catalogue_(catalogue), q_(request), cluster_(q_.machine->cluster()), groups_(cluster_) {
    for (const Neighbour& one : q_.neighbours)
      traffics_.push_back(
          traffic_of(collective::placed_collective(catalogue_, *q_.machine, call_of(one.job), {one.nodes, gpus()})));
    std::vector<Background> others;
    for (const Traffic& one : traffics_) others.push_back({&one, one.alone_s});
    log::Work work(catalogue_.progress(), "place", "forecasts");
    const int most = q_.job.is_trace() ? kMostReplays : kMostForecasts;
    const auto traffic = [&, made = 0](const std::vector<int>& nodes) mutable {
      work.advance(++made);
      return traffic_on(nodes);
    };
    found_ =
        search_cluster({cluster_, groups_, traffic, q_.nodes(), q_.whole->free, std::move(others), q_.objective, most});
  }

  PlaceResult result() {
    const ClusterChoice& best = found_.choices.front();
    const TraceTime time = time_on(best);
    PlaceResult out{q_.job.text(), q_.ranks, q_.objective, row_of(best)};
    out.best.low_s = time.low_s;
    out.best.high_s = time.high_s;
    out.best.alone_s = best.traffic.alone_s;
    put_neighbours(out.best, best);
    PlaceResult::Nodes& nodes = *(out.over_nodes = PlaceResult::Nodes{});
    nodes.gpus_each = q_.whole->gpus_each;
    if (q_.whole->named) nodes.switches = switches(best.nodes);
    nodes.bound_s = found_.bound_s;
    for (const ClusterChoice& one : found_.choices) {
      if (static_cast<int>(out.placements.size()) == q_.top) break;
      out.placements.push_back(row_of(one));
    }
    const std::vector<int> first = first_nodes(q_.whole->free, q_.nodes());
    const auto naive = std::find_if(found_.choices.begin(), found_.choices.end(),
                                    [&](const ClusterChoice& one) { return one.nodes == first; });
    out.first_free = row_of(*naive);
    out.best.why = why(best, *naive);
    out.evaluated = found_.evaluated;
    out.warnings = time.warnings;
    return out;
  }

 private:
  [[nodiscard]] std::vector<int> gpus() const { return first_numbers(q_.whole->gpus_each); }
  [[nodiscard]] collective::PlacedCollective call_of(const JobSpec& job) const {
    collective::PlacedCollective call{q_.library, job.op, job.size_B};
    call.parts_B = job.parts_B;
    return call;
  }
  activities::Plan forecast_on(const std::vector<int>& nodes) {
    collective::PlacedCollective call = call_of(q_.job);
    call.own = q_.own.get();
    return collective::placed_collective(catalogue_, *q_.machine, call, {nodes, gpus()});
  }
  /// A trace has its time alone: it has no neighbours.
  Traffic traffic_on(const std::vector<int>& nodes) {
    if (!q_.job.is_trace()) return traffic_of(forecast_on(nodes));
    Traffic traffic;
    traffic.alone_s = trace_on_nodes(catalogue_, q_, nodes, false).time_s;
    return traffic;
  }
  /// The interval and what is to be said of the best one.
  TraceTime time_on(const ClusterChoice& best) {
    if (q_.job.is_trace()) return trace_on_nodes(catalogue_, q_, best.nodes, true);
    const activities::Plan plan = forecast_on(best.nodes);
    TraceTime time{best.time_s, best.time_s * plan.spread.low, best.time_s * plan.spread.high};
    time.warnings.assign(plan.warnings.begin(), plan.warnings.end());
    return time;
  }

  /// As the groups call them.
  [[nodiscard]] std::vector<std::string> names(const std::vector<int>& nodes) const {
    std::vector<std::string> names;
    for (const int node : nodes)
      if (q_.whole->named) names.push_back(q_.whole->named->name(node));
    return names;
  }
  /// Leaf switches of the groups, with how many of the nodes each has.
  [[nodiscard]] std::vector<LeafNodes> switches(const std::vector<int>& nodes) const {
    std::map<std::string, int> counts;
    for (const int node : nodes) ++counts[q_.whole->named->leaf(node)];
    std::vector<LeafNodes> rows;
    for (const auto& [name, count] : counts) rows.push_back({name, count});
    return rows;
  }

  void put_neighbours(Placement& out, const ClusterChoice& best) const {
    for (std::size_t i = 0; i < q_.neighbours.size(); ++i) {
      const Neighbour& one = q_.neighbours[i];
      NeighbourTimes row{one.job.text(), {}, one.nodes, names(one.nodes), found_.others_before_s[i]};
      if (!best.others_s.empty()) row.time_s = best.others_s[i];
      out.neighbours.push_back(std::move(row));
    }
  }

  [[nodiscard]] Placement row_of(const ClusterChoice& choice) const {
    Placement placed;
    placed.nodes = choice.nodes;
    placed.names = names(choice.nodes);
    placed.time_s = choice.time_s;
    placed.regret = regret(choice);
    placed.rule = choice.rule;
    placed.groups = groups_of(groups_, choice.nodes);
    return placed;
  }

  /// Cost of a choice above the best one: in shares of its time, or in the units of the objective, as in a node.
  [[nodiscard]] double regret(const ClusterChoice& choice) const {
    const ClusterChoice& best = found_.choices.front();
    if (q_.objective == PlaceObjective::kTime) return choice.time_s / best.time_s - 1;
    return std::max(0.0, choice.cost - best.cost);  // costs that differ in rounding count as equal
  }

  [[nodiscard]] std::string why(const ClusterChoice& best, const ClusterChoice& first) const {
    const std::string here = groups_text(cluster_, groups_of(groups_, best.nodes));
    if (best.nodes == first.nodes) return "the first free nodes are as good: " + here;
    const std::string there = groups_text(cluster_, groups_of(groups_, first.nodes));
    if (here != there) return here + "; the first free nodes: " + there;
    return !q_.neighbours.empty() && best.time_s <= best.traffic.alone_s ? "keeps off the neighbours: " + here : here;
  }

  catalogue::Catalogue& catalogue_;
  const PlaceRequest& q_;
  const Cluster& cluster_;
  FabricGroups groups_;
  std::vector<Traffic> traffics_;  ///< of the neighbours
  ClusterSearch found_;
};

}  // namespace

PlaceResult place(catalogue::Catalogue& catalogue, const PlaceRequest& request) {
  PlacementMemory memory;
  return place(catalogue, request, memory);
}

PlaceResult place(catalogue::Catalogue& catalogue, const PlaceRequest& request, PlacementMemory& memory) {
  const auto found = [&] {
    if (request.whole) return NodesAnswer(catalogue, request).result();
    const auto objective =
        request.job.is_trace() ? trace_objective(catalogue, request) : pattern_objective(catalogue, request, memory);
    NodeSearch search = search_node(request, *objective, memory, catalogue.progress());
    return NodeAnswer(request, *objective, std::move(search)).result();
  };
  PlaceResult result = found();
  result.warnings.insert(result.warnings.begin(), request.warnings.begin(), request.warnings.end());
  return result;
}

}  // namespace linkcast::placement
