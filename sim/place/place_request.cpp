#include "sim/place/place_request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>

#include "sim/base/index.hpp"
#include "sim/base/text.hpp"
#include "sim/forecast/call_sizes.hpp"
#include "sim/machine/collective.hpp"
#include "sim/machine/gpu_names.hpp"
#include "sim/plan/request.hpp"
#include "sim/query/key.hpp"
#include "sim/replay/replay_request.hpp"

namespace linkcast::placement {
namespace {

const std::map<std::string, PlaceObjective> kObjectives{
    {"time", PlaceObjective::kTime}, {"neighbours", PlaceObjective::kNeighbours}, {"both", PlaceObjective::kBoth}};

std::string listed_collectives() { return "one of " + linkcast::joined(collectives().names()); }

bool is_collective(const std::string& name) { return collectives().find(name) != nullptr; }

/// {op, size_B or sizes_B}
JobSpec read_call(ObjectReader& job) {
  JobSpec spec;
  spec.op = job.required<std::string>("op");
  if (job.has("sizes_B")) {
    if (!job.raw("sizes_B").is_array()) job.fail("sizes_B", "must be an array of sizes, one for each rank");
    spec.sized_ranks = static_cast<int>(job.raw("sizes_B").size());
    const collective::SizedCall call(spec.op, spec.sized_ranks, job);
    spec.size_B = call.size_B();
    spec.parts_B = call.op().parts_B();
  } else {
    spec.size_B = activities::read_size(job, "size_B");
  }
  if (!is_collective(spec.op)) static_cast<void>(collectives().get(spec.op));  // says which there are
  return spec;
}

/// "all_reduce:64MiB", "allgatherv:1MiB,2MiB", else the name of a trace.
JobSpec parse_job(const std::string& text, const ObjectReader& r) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos && is_collective(text))
    r.fail("job", "'" + text + "' needs a size: write " + text + ":64MiB");
  if (colon == std::string::npos || std::filesystem::exists(text)) return {"", 0, text};
  if (!is_collective(text.substr(0, colon)))
    r.fail("job", "'" + text.substr(0, colon) + "' is no collective: " + listed_collectives());
  Json call = query::size_keys_of(text.substr(colon + 1), r.file() + ":" + r.pointer("job"));
  call["op"] = text.substr(0, colon);
  if (call.contains("size_B")) static_cast<void>(activities::checked_size(r, "job", call["size_B"].get<double>()));
  ObjectReader job(call, r.file(), r.pointer("job"));
  return read_call(job);
}

/// 3 or "gpu3".
int read_gpu(const Json& value, const Platform& platform, const std::string& place, const std::string& file) {
  int gpu = -1;
  if (value.is_number_integer()) gpu = value.get<int>();
  if (value.is_string())
    for (int k = 0; k < platform.gpu_count(); ++k)
      if (platform.topology().devices[at(platform.gpu(k))].id == value.get<std::string>()) gpu = k;
  if (gpu < 0 || gpu >= platform.gpu_count())
    throw InputError(file, place,
                     no_gpu(platform.topology(), value.is_string() ? value.get<std::string>() : value.dump()));
  return gpu;
}

std::set<int> read_busy(ObjectReader& r, const Platform& platform) {
  std::set<int> busy;
  if (!r.has("busy")) return busy;
  const Json& list = r.raw("busy");
  if (!list.is_array()) r.fail("busy", "must be an array of GPU numbers or ids");
  for (std::size_t i = 0; i < list.size(); ++i)
    busy.insert(read_gpu(list[i], platform, fmt::format("{}/{}", r.pointer("busy"), i), r.file()));
  return busy;
}

std::vector<Neighbour> read_neighbours(ObjectReader& r, const Platform& platform) {
  std::vector<Neighbour> neighbours;
  if (!r.has("with")) return neighbours;
  std::set<int> taken;
  for (ObjectReader& one : r.objects("with")) {
    Neighbour neighbour{read_job(one), activities::read_gpus(one, platform, 1)};
    check_sizes(neighbour.job, static_cast<int>(neighbour.gpus.size()), one);
    if (!neighbour.job.is_trace() && neighbour.gpus.size() < 2) one.fail("gpus", "a collective needs at least 2 GPUs");
    one.finish();
    for (const int gpu : neighbour.gpus)
      if (!taken.insert(gpu).second) one.fail("gpus", fmt::format("GPU {} has another job already", gpu));
    neighbours.push_back(std::move(neighbour));
  }
  return neighbours;
}

}  // namespace

JobSpec read_job(ObjectReader& r) {
  if (!r.has("job")) r.fail_missing("job", "\"all_reduce:64MiB\", a trace, {op, size_B} or {trace, options}");
  if (r.raw("job").is_string()) return parse_job(r.required<std::string>("job"), r);
  ObjectReader job = r.object("job");
  JobSpec spec;
  if (job.has("trace")) {
    spec.trace = job.required<std::string>("trace");
    spec.options = replay::read_part_options(job);
  } else {
    spec = read_call(job);
  }
  job.finish();
  return spec;
}

void check_sizes(const JobSpec& job, int ranks, const ObjectReader& r) {
  if (job.sized_ranks > 0 && job.sized_ranks != ranks)
    r.fail("job", fmt::format("has sizes of {} ranks, and there are {}", job.sized_ranks, ranks));
}

void PlaceRequest::read_own(ObjectReader& r) {
  if (!r.has("algorithm_file")) return;
  if (job.is_trace() && r.has("with")) r.fail("algorithm_file", "would run the neighbours' collectives too");
  own = read_algorithm(r.required<std::string>("algorithm_file"), [&](const OnlyCall& call) {
    if (!job.is_trace()) return call.refusal(job.op, ranks);
    return call.ranks <= ranks ? "" : fmt::format("is for {}, and the job has {} ranks", call.text(), ranks);
  });
  const OnlyCall call = own->only_call().value();
  if (job.is_trace() || call.takes(job.size_B)) return;
  warnings.push_back(call.left_to_library(job.size_B));
  own = nullptr;
}

std::string JobSpec::text() const { return is_trace() ? trace : op + ":" + to_text(Bytes{size_B}); }

const std::string& to_text(PlaceObjective objective) {
  for (const auto& [text, value] : kObjectives)
    if (value == objective) return text;
  throw InvariantError("placement: an objective without a name");
}

PlaceObjective read_objective(ObjectReader& r) {
  return r.has("objective") ? kObjectives.at(r.choice("objective", {"time", "neighbours", "both"}))
                            : PlaceObjective::kTime;
}

NodeUse read_node_use(const Platform& platform, ObjectReader& r) {
  std::set<int> busy = read_busy(r, platform);
  NodeUse use{{}, read_neighbours(r, platform)};
  for (const Neighbour& neighbour : use.neighbours) busy.insert(neighbour.gpus.begin(), neighbour.gpus.end());
  use.busy.assign(busy.begin(), busy.end());
  return use;
}

namespace {

/// A name of the groups, also as {"node": name}, which is never taken for a GPU; where there are none 3 or "node3".
int read_node(const Json& value, const WholeNodes& nodes, const std::string& file, const std::string& place) {
  if (nodes.named) {
    const Json& name = value.is_object() && value.size() == 1 && value.contains("node") ? value["node"] : value;
    const int node = name.is_string() ? nodes.named->node(name.get<std::string>()) : -1;
    if (node < 0) throw InputError(file, place, name.dump() + " is no node of the groups");
    return node;
  }
  int node = -1;
  if (value.is_number_integer()) node = value.get<int>();
  if (value.is_string()) {
    const std::string text = value.get<std::string>();
    if (text.starts_with("node")) {
      const auto [end, error] = std::from_chars(text.data() + 4, text.data() + text.size(), node);
      if (error != std::errc() || end != text.data() + text.size()) node = -1;
    }
  }
  if (node < 0 || node >= nodes.count)
    throw InputError(file, place, fmt::format("{} is no node: node0 to node{}", value.dump(), nodes.count - 1));
  return node;
}

std::vector<int> read_nodes_of(ObjectReader& r, const std::string& key, const WholeNodes& nodes) {
  const Json& list = r.raw(key);
  if (!list.is_array()) r.fail(key, "must be an array of node numbers or names");
  std::vector<int> read;
  std::set<int> seen;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string place = fmt::format("{}/{}", r.pointer(key), i);
    read.push_back(read_node(list[i], nodes, r.file(), place));
    if (!seen.insert(read.back()).second) throw InputError(r.file(), place, "node is given twice");
  }
  return read;
}

/// Their nodes are free no longer.
std::vector<Neighbour> read_neighbours_over_nodes(ObjectReader& r, WholeNodes& nodes) {
  std::vector<Neighbour> neighbours;
  if (!r.has("with")) return neighbours;
  for (ObjectReader& one : r.objects("with")) {
    Neighbour neighbour{read_job(one)};
    if (neighbour.job.is_trace()) one.fail("job", "a neighbour over nodes is a collective, e.g. all_reduce:64MiB");
    neighbour.nodes = read_nodes_of(one, "nodes", nodes);
    if (neighbour.nodes.size() < 2) one.fail("nodes", "a neighbour that uses the fabric has at least 2 nodes");
    one.finish();
    for (const int node : neighbour.nodes) {
      char& free = nodes.free[at(node)];
      if (free == 0) one.fail("nodes", fmt::format("node {} is busy already", node));
      free = 0;
    }
    check_sizes(neighbour.job, static_cast<int>(neighbour.nodes.size()) * nodes.gpus_each, one);
    neighbours.push_back(std::move(neighbour));
  }
  return neighbours;
}

/// Key groups, else nodes: which nodes of the fabric there are.
WholeNodes read_machine(const Cluster& cluster, ObjectReader& r) {
  WholeNodes nodes;
  nodes.free.assign(at(cluster.nodes()), 0);
  if (r.has("groups")) {
    const std::string place = r.pointer("groups");
    const NodeGroups groups = read_node_groups(r.raw("groups"), r.file() + ":" + place);
    nodes.named.emplace(groups, FabricGroups(cluster), r.file(), place);
    nodes.count = nodes.named->count();
    if (r.has("nodes") && r.required<int>("nodes") != nodes.count)
      r.fail("nodes", fmt::format("the groups have {} nodes", nodes.count));
    for (int node = 0; node < cluster.nodes(); ++node) nodes.free[at(node)] = nodes.named->name(node).empty() ? 0 : 1;
    return nodes;
  }
  nodes.count = r.required<int>("nodes");
  if (nodes.count < 1 || nodes.count > cluster.nodes())
    r.fail("nodes", fmt::format("must be 1 to {}, as many as the fabric has", cluster.nodes()));
  std::fill(nodes.free.begin(), nodes.free.begin() + nodes.count, 1);
  return nodes;
}

/// Keys objective?, top?, the last ones.
void read_search(ObjectReader& r, PlaceRequest& request) {
  request.objective = read_objective(r);
  request.top = r.optional<int>("top").value_or(kUsualTop);
  r.finish();
}

void check_objective(const ObjectReader& r, const PlaceRequest& request) {
  if (request.objective != PlaceObjective::kTime && request.neighbours.empty())
    r.fail("objective", fmt::format("'{}' needs neighbours: say what runs beside", to_text(request.objective)));
}

PlaceRequest read_whole_nodes(const catalogue::MachinePtr& machine, ObjectReader& r) {
  const Cluster& cluster = machine->cluster();
  PlaceRequest request;
  request.machine = machine;
  WholeNodes& nodes = request.whole.emplace(read_machine(cluster, r));
  request.library = r.optional<std::string>("library").value_or("");
  request.job = read_job(r);
  if (request.job.is_trace() && r.has("with")) r.fail("with", "a trace over nodes is placed without neighbours");
  request.ranks = r.required<int>("ranks");
  check_sizes(request.job, request.ranks, r);
  request.read_own(r);
  const int all = cluster.node().gpu_count();
  nodes.gpus_each = r.optional<int>("gpus_per_node").value_or(all);
  if (nodes.gpus_each < 1 || nodes.gpus_each > all) r.fail("gpus_per_node", fmt::format("must be 1 to {}", all));
  if (request.ranks % nodes.gpus_each != 0 || request.nodes() < 2)
    r.fail("ranks", fmt::format("must be a multiple of the {} GPUs of each node, two nodes at least: without nodes one "
                                "node is looked at",
                                nodes.gpus_each));
  if (r.has("busy"))
    for (const int node : read_nodes_of(r, "busy", nodes)) nodes.free[at(node)] = 0;
  request.neighbours = read_neighbours_over_nodes(r, nodes);
  read_search(r, request);
  if (request.top < 1) r.fail("top", "must be at least 1");
  check_objective(r, request);
  const auto free = std::count(nodes.free.begin(), nodes.free.end(), 1);
  if (request.nodes() > free)
    r.fail("ranks", fmt::format("{} nodes are needed, and {} of the {} are free", request.nodes(), free, nodes.count));
  return request;
}

PlaceRequest read_one_node(const catalogue::MachinePtr& machine, ObjectReader& r) {
  const Platform& platform = machine->platform();
  PlaceRequest request;
  request.machine = machine;
  request.library = r.optional<std::string>("library").value_or(platform.calibration().default_library);
  request.job = read_job(r);
  request.ranks = r.required<int>("ranks");
  check_sizes(request.job, request.ranks, r);
  request.read_own(r);
  NodeUse use = read_node_use(platform, r);
  request.busy = std::move(use.busy);
  request.neighbours = std::move(use.neighbours);
  read_search(r, request);
  for (const Neighbour& neighbour : request.neighbours)
    if (neighbour.job.is_trace() != request.job.is_trace())
      r.fail("with", "a trace is placed beside traces, and a collective beside collectives");
  const int free = platform.gpu_count() - static_cast<int>(request.busy.size());
  if (request.ranks < 1) r.fail("ranks", "must be at least 1");
  if (request.ranks > free)
    r.fail("ranks", fmt::format("{} GPUs are asked for, and {} of the {} of {} are free", request.ranks, free,
                                platform.gpu_count(), platform.topology().name));
  check_objective(r, request);
  if (request.top < 1) r.fail("top", "must be at least 1");
  return request;
}

}  // namespace

PlaceRequest read_place_request(const catalogue::MachinePtr& machine, ObjectReader& r) {
  return r.has("nodes") || r.has("groups") ? read_whole_nodes(machine, r) : read_one_node(machine, r);
}

}  // namespace linkcast::placement
