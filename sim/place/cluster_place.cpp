#include "sim/place/cluster_place.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>

#include "sim/base/sequence.hpp"
#include "sim/place/cluster_search.hpp"
#include "sim/place/cluster_trace.hpp"
#include "sim/place/collective_traffic.hpp"
#include "sim/place/named_nodes.hpp"

namespace linkcast::placement {
namespace {

constexpr int kMostForecasts = 300;  // ours: seconds on a thousand nodes
constexpr int kMostReplays = 60;     // ours: of a trace, milliseconds to a second each

struct NodeNeighbour {
  JobSpec job;
  std::vector<int> nodes;
  Traffic traffic{};
};

struct NodesRequest {
  catalogue::MachinePtr machine;
  std::string library;
  std::shared_ptr<const Algorithm> own{};  ///< a user's schedule of the job's collectives; null: as the library chooses
  JobSpec job;
  int machine_nodes = 0, ranks = 0, gpus_per_node = 0, top = 0;
  std::vector<char> free{};  ///< per node of the fabric
  std::optional<NamedNodes> named{};
  std::vector<NodeNeighbour> neighbours{};
  PlaceObjective objective = PlaceObjective::kTime;
  [[nodiscard]] int nodes() const { return ranks / gpus_per_node; }
  [[nodiscard]] std::vector<int> gpus() const { return first_numbers(gpus_per_node); }
};

/// A name of the groups, also as {"node": name}, which is never taken for a GPU; where there are none 3 or "node3".
int read_node(const Json& value, const NodesRequest& request, const std::string& file, const std::string& place) {
  const int nodes = request.machine_nodes;
  if (request.named) {
    const Json& name = value.is_object() && value.size() == 1 && value.contains("node") ? value["node"] : value;
    const int node = name.is_string() ? request.named->node(name.get<std::string>()) : -1;
    if (node < 0) throw InputError(file, place, name.dump() + " is no node of the groups");
    return node;
  }
  int node = -1;
  if (value.is_number_integer()) node = value.get<int>();
  if (value.is_string()) {
    const std::string text = value.get<std::string>();
    if (text.rfind("node", 0) == 0) {
      const auto [end, error] = std::from_chars(text.data() + 4, text.data() + text.size(), node);
      if (error != std::errc() || end != text.data() + text.size()) node = -1;
    }
  }
  if (node < 0 || node >= nodes)
    throw InputError(file, place, value.dump() + " is no node: node0 to node" + std::to_string(nodes - 1));
  return node;
}

std::vector<int> read_nodes_of(ObjectReader& r, const std::string& key, const NodesRequest& request) {
  const Json& list = r.raw(key);
  if (!list.is_array()) r.fail(key, "must be an array of node numbers or names");
  std::vector<int> read;
  std::set<int> seen;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string place = r.pointer(key) + "/" + std::to_string(i);
    read.push_back(read_node(list[i], request, r.file(), place));
    if (!seen.insert(read.back()).second) throw InputError(r.file(), place, "node is given twice");
  }
  return read;
}

JobSpec read_collective(ObjectReader& r) {
  JobSpec job = read_job(r);
  if (job.is_trace()) r.fail("job", "a neighbour over nodes is a collective, e.g. all_reduce:64MiB");
  return job;
}

collective::PlacedCollective asked_of(const std::string& library, const JobSpec& job) {
  collective::PlacedCollective asked{library, job.op, job.size_B};
  asked.parts_B = job.parts_B;
  return asked;
}

void read_neighbours(catalogue::Catalogue& catalogue, ObjectReader& r, NodesRequest& request) {
  if (!r.has("with")) return;
  for (ObjectReader& one : r.objects("with")) {
    NodeNeighbour neighbour{read_collective(one), read_nodes_of(one, "nodes", request)};
    if (neighbour.nodes.size() < 2) one.fail("nodes", "a neighbour that uses the fabric has at least 2 nodes");
    one.finish();
    for (const int node : neighbour.nodes) {
      char& free = request.free[static_cast<std::size_t>(node)];
      if (free == 0) one.fail("nodes", "node " + std::to_string(node) + " is busy already");
      free = 0;
    }
    check_sizes(neighbour.job, static_cast<int>(neighbour.nodes.size()) * request.gpus_per_node, one);
    neighbour.traffic = traffic_of(collective::placed_collective(
        catalogue, *request.machine, asked_of(request.library, neighbour.job), {neighbour.nodes, request.gpus()}));
    request.neighbours.push_back(std::move(neighbour));
  }
}

/// Key groups, else nodes: which nodes of the fabric there are.
void read_machine(const Cluster& cluster, ObjectReader& r, NodesRequest& request) {
  request.free.assign(static_cast<std::size_t>(cluster.nodes()), 0);
  if (r.has("groups")) {
    const std::string place = r.pointer("groups");
    const NodeGroups groups = read_node_groups(r.raw("groups"), r.file() + ":" + place);
    request.named.emplace(groups, FabricGroups(cluster), r.file(), place);
    request.machine_nodes = request.named->count();
    if (r.has("nodes") && r.required<int>("nodes") != request.machine_nodes)
      r.fail("nodes", "the groups have " + std::to_string(request.machine_nodes) + " nodes");
    for (int node = 0; node < cluster.nodes(); ++node)
      request.free[static_cast<std::size_t>(node)] = request.named->name(node).empty() ? 0 : 1;
    return;
  }
  request.machine_nodes = r.required<int>("nodes");
  if (request.machine_nodes < 1 || request.machine_nodes > cluster.nodes())
    r.fail("nodes", "must be 1 to " + std::to_string(cluster.nodes()) + ", as many as the fabric has");
  std::fill(request.free.begin(), request.free.begin() + request.machine_nodes, 1);
}

NodesRequest read_request(catalogue::Catalogue& catalogue, const catalogue::MachinePtr& machine, ObjectReader& r) {
  const Cluster& cluster = machine->cluster();
  NodesRequest request;
  request.machine = machine;
  read_machine(cluster, r, request);
  request.library = r.optional<std::string>("library").value_or("");
  request.job = read_job(r);
  if (request.job.is_trace() && r.has("with")) r.fail("with", "a trace over nodes is placed without neighbours");
  request.ranks = r.required<int>("ranks");
  check_sizes(request.job, request.ranks, r);
  request.own = read_own(request.job, request.ranks, r);
  const int all = cluster.node().gpu_count();
  request.gpus_per_node = r.optional<int>("gpus_per_node").value_or(all);
  if (request.gpus_per_node < 1 || request.gpus_per_node > all)
    r.fail("gpus_per_node", "must be 1 to " + std::to_string(all));
  if (request.ranks % request.gpus_per_node != 0 || request.nodes() < 2)
    r.fail("ranks", "must be a multiple of the " + std::to_string(request.gpus_per_node) +
                        " GPUs of each node, two nodes at least: without nodes one node is looked at");
  if (r.has("busy"))
    for (const int node : read_nodes_of(r, "busy", request)) request.free[static_cast<std::size_t>(node)] = 0;
  read_neighbours(catalogue, r, request);
  request.objective = read_objective(r);
  request.top = r.optional<int>("top").value_or(kUsualTop);
  r.finish();
  if (request.top < 1) r.fail("top", "must be at least 1");
  if (request.objective != PlaceObjective::kTime && request.neighbours.empty())
    r.fail("objective", "'" + to_text(request.objective) + "' needs neighbours: say what runs beside");
  const auto free = std::count(request.free.begin(), request.free.end(), 1);
  if (request.nodes() > free)
    r.fail("ranks", std::to_string(request.nodes()) + " nodes are needed, and " + std::to_string(free) + " of the " +
                        std::to_string(request.machine_nodes) + " are free");
  return request;
}

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
    text += (text.empty() ? "" : ", ") + std::to_string(counts[level]) + " x " + cluster.fabric().distances()[level];
  return text;
}

class ClusterAnswer {
 public:
  ClusterAnswer(catalogue::Catalogue& catalogue, NodesRequest request)
      : catalogue_(catalogue), q_(std::move(request)), cluster_(q_.machine->cluster()), groups_(cluster_) {
    std::vector<Background> others;
    for (const NodeNeighbour& one : q_.neighbours) others.push_back({&one.traffic, one.traffic.alone_s});
    log::Work work(catalogue_.progress(), "place", "forecasts");
    const int most = q_.job.is_trace() ? kMostReplays : kMostForecasts;
    const auto traffic = [&, made = 0](const std::vector<int>& nodes) mutable {
      work.advance(++made);
      return traffic_on(nodes);
    };
    found_ = search_cluster({cluster_, groups_, traffic, q_.nodes(), q_.free, std::move(others), q_.objective, most});
  }

  Json json() {
    const ClusterChoice& best = found_.choices.front();
    const TraceTime told = told_on(best);
    Json out{{"time_s", best.time_s},
             {"time_low_s", told.low_s},
             {"time_high_s", told.high_s},
             {"alone_s", best.traffic.alone_s},
             {"nodes", best.nodes},
             {"gpus_per_node", q_.gpus_per_node},
             {"job", q_.job.text()},
             {"ranks", q_.ranks},
             {"objective", to_text(q_.objective)},
             {"rule", best.rule}};
    put_names(out, best.nodes);
    if (q_.named) out["switches"] = switches(best.nodes);
    if (found_.bound_s > 0) {  // of a trace none is known
      out["bound_s"] = found_.bound_s;
      out["gap"] = best.time_s / found_.bound_s - 1;
    }
    put_neighbours(out, best);
    out["placements"] = placements();
    const std::vector<int> first = first_nodes(q_.free, q_.nodes());
    const auto naive = std::find_if(found_.choices.begin(), found_.choices.end(),
                                    [&](const ClusterChoice& one) { return one.nodes == first; });
    out["first_free"] = {{"nodes", first}, {"time_s", naive->time_s}, {"regret", regret(*naive)}};
    put_names(out["first_free"], first);
    out["why"] = why(best, *naive);
    out["search"] = {{"exact", false}, {"forecasts", found_.evaluated}};
    out["bottleneck"] = Json::array();
    out["warnings"] = told.warnings;
    return out;
  }

 private:
  activities::Plan forecast_on(const std::vector<int>& nodes) {
    collective::PlacedCollective asked = asked_of(q_.library, q_.job);
    asked.own = q_.own.get();
    return collective::placed_collective(catalogue_, *q_.machine, asked, {nodes, q_.gpus()});
  }
  TraceTime trace_on(const std::vector<int>& nodes, bool interval) {
    return trace_on_nodes(catalogue_, q_.machine, q_.library, q_.own, q_.job, nodes, q_.gpus_per_node, interval);
  }
  /// Of a trace its time alone: it has no neighbours.
  Traffic traffic_on(const std::vector<int>& nodes) {
    if (!q_.job.is_trace()) return traffic_of(forecast_on(nodes));
    Traffic traffic;
    traffic.alone_s = trace_on(nodes, false).time_s;
    return traffic;
  }
  /// The interval and what is to be said of the best one.
  TraceTime told_on(const ClusterChoice& best) {
    if (q_.job.is_trace()) return trace_on(best.nodes, true);
    const activities::Plan plan = forecast_on(best.nodes);
    TraceTime told{best.time_s, best.time_s * plan.spread.low, best.time_s * plan.spread.high};
    for (const auto& warning : plan.warnings) told.warnings.push_back(warning);
    return told;
  }

  /// As the groups call them.
  void put_names(Json& out, const std::vector<int>& nodes) const {
    if (!q_.named) return;
    out["names"] = Json::array();
    for (const int node : nodes) out["names"].push_back(q_.named->name(node));
  }
  /// Leaf switches of the groups, with how many of the nodes each has.
  [[nodiscard]] Json switches(const std::vector<int>& nodes) const {
    std::map<std::string, int> counts;
    for (const int node : nodes) ++counts[q_.named->leaf(node)];
    Json rows = Json::array();
    for (const auto& [name, count] : counts) rows.push_back({{"name", name}, {"nodes", count}});
    return rows;
  }

  void put_neighbours(Json& out, const ClusterChoice& best) const {
    if (q_.neighbours.empty()) return;
    out["neighbours"] = Json::array();
    for (std::size_t i = 0; i < q_.neighbours.size(); ++i) {
      Json row{{"job", q_.neighbours[i].job.text()},
               {"nodes", q_.neighbours[i].nodes},
               {"before_s", found_.others_before_s[i]}};
      put_names(row, q_.neighbours[i].nodes);
      if (!best.others_s.empty()) {
        row["time_s"] = best.others_s[i];
        row["slowdown"] = best.others_s[i] / found_.others_before_s[i];
      }
      out["neighbours"].push_back(std::move(row));
    }
  }

  /// What a choice costs more than the best one: of its time, or in the units of the objective, as in a node.
  [[nodiscard]] double regret(const ClusterChoice& choice) const {
    const ClusterChoice& best = found_.choices.front();
    if (q_.objective == PlaceObjective::kTime) return choice.time_s / best.time_s - 1;
    return std::max(0.0, choice.cost - best.cost);  // costs that differ in rounding count as equal
  }

  [[nodiscard]] Json placements() const {
    Json rows = Json::array();
    for (const ClusterChoice& one : found_.choices) {
      if (static_cast<int>(rows.size()) == q_.top) break;
      rows.push_back({{"nodes", one.nodes},
                      {"rule", one.rule},
                      {"time_s", one.time_s},
                      {"regret", regret(one)},
                      {"groups", groups_of(groups_, one.nodes)}});
      put_names(rows.back(), one.nodes);
    }
    return rows;
  }

  [[nodiscard]] std::string why(const ClusterChoice& best, const ClusterChoice& first) const {
    const std::string here = groups_text(cluster_, groups_of(groups_, best.nodes));
    if (best.nodes == first.nodes) return "the first free nodes are as good: " + here;
    const std::string there = groups_text(cluster_, groups_of(groups_, first.nodes));
    if (here != there) return here + "; the first free nodes: " + there;
    return !q_.neighbours.empty() && best.time_s <= best.traffic.alone_s ? "keeps off the neighbours: " + here : here;
  }

  catalogue::Catalogue& catalogue_;
  NodesRequest q_;
  const Cluster& cluster_;
  FabricGroups groups_;
  ClusterSearch found_;
};

}  // namespace

Json place_on_nodes(catalogue::Catalogue& catalogue, const catalogue::MachinePtr& machine, ObjectReader& r) {
  return ClusterAnswer(catalogue, read_request(catalogue, machine, r)).json();
}

}  // namespace linkcast::placement
