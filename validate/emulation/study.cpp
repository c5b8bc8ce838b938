#include "validate/emulation/study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>

#include "sim/base/atomic_file.hpp"
#include "sim/base/file_hash.hpp"
#include "sim/base/index.hpp"
#include "sim/machine/collective.hpp"
#include "sim/machine/symmetry.hpp"
#include "sim/place/node_search.hpp"
#include "sim/query/provenance.hpp"
#include "sim/query/query.hpp"
#include "sim/records/cable_kinds.hpp"

namespace linkcast::emulation {
namespace {

constexpr int kMostSets = 20000;  // source: ours, seconds of isomorphism
constexpr int kMostNumbered = 8;  // source: ours, 40,320 numberings
// source: ours: one link, half a P100's four, a third of an H200's 18, and all of them
constexpr std::array<int, 4> kCounts = {1, 2, 6, 18};

bool is_link(const Cable& cable) {
  const auto trait = trait_of(cable.kind);
  return is_accelerator_cable(cable.kind) && trait != CableTrait::kChip && trait != CableTrait::kHost;
}

WishedLinks links_of(const Platform& machine, const std::vector<int>& gpus) {
  const Topology& topology = machine.topology();
  WishedLinks links;
  std::map<int, int> sockets;  // by device
  const std::size_t count = gpus.size();
  links.between.assign(count, std::vector<int>(count, 0));
  links.to_switch.assign(count, 0);
  for (std::size_t i = 0; i < count; ++i) {
    const int device = machine.gpu(gpus[i]);
    links.socket.push_back(
        sockets.try_emplace(machine.socket_of(device), static_cast<int>(sockets.size())).first->second);
    for (const Cable& cable : topology.cables) {
      if (!is_link(cable) || (cable.a != device && cable.b != device)) continue;
      const int other = cable.a == device ? cable.b : cable.a;
      if (topology.devices[at(other)].kind == DeviceKind::kNvswitch) links.to_switch[i] += cable.count;
      for (std::size_t k = 0; k < count; ++k)
        if (machine.gpu(gpus[k]) == other) links.between[i][k] += cable.count;
    }
  }
  return links;
}

/// The same for every numbering of the GPUs: the least of what all numberings give.
std::vector<int> shape_of(const WishedLinks& links) {
  const int count = static_cast<int>(links.socket.size());
  std::vector<int> order = first_numbers(count), least;
  do {
    std::vector<int> shape;
    std::map<int, int> sockets;
    for (const int a : order) {
      shape.push_back(sockets.try_emplace(links.socket[at(a)], static_cast<int>(sockets.size())).first->second);
      shape.push_back(links.to_switch[at(a)]);
      for (const int b : order) shape.push_back(links.between[at(a)][at(b)]);
    }
    if (least.empty() || shape < least) least = std::move(shape);
  } while (std::next_permutation(order.begin(), order.end()));
  return least;
}

std::string joined_numbers(const std::vector<int>& numbers) {
  std::string text;
  for (const int number : numbers) text += fmt::format("{}{}", text.empty() ? "" : "-", number);
  return text;
}

using Edge = std::pair<int, int>;

std::vector<Edge> all_edges(int gpus) {
  std::vector<Edge> edges;
  for (int a = 0; a < gpus; ++a)
    for (int b = a + 1; b < gpus; ++b) edges.emplace_back(a, b);
  return edges;
}

/// The same graph under every renumbering.
std::set<std::set<Edge>> images(const std::set<Edge>& graph, int gpus) {
  std::set<std::set<Edge>> all;
  std::vector<int> order = first_numbers(gpus);
  do {
    std::set<Edge> moved;
    for (const auto& [a, b] : graph) moved.insert(std::minmax(order[at(a)], order[at(b)]));
    all.insert(std::move(moved));
  } while (std::next_permutation(order.begin(), order.end()));
  return all;
}

/// One of each class, those with few edges first.
std::vector<std::set<Edge>> graphs(int gpus) {
  const std::vector<Edge> edges = all_edges(gpus);
  std::vector<std::set<Edge>> found;
  std::set<std::set<Edge>> seen;
  for (unsigned chosen = 0; chosen < 1U << edges.size(); ++chosen) {
    std::set<Edge> graph;
    for (std::size_t i = 0; i < edges.size(); ++i)
      if ((chosen >> i & 1U) != 0) graph.insert(edges[i]);
    if (seen.count(graph) > 0) continue;
    seen.merge(images(graph, gpus));
    found.push_back(std::move(graph));
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
  return found;
}

Wish graph_wish(int gpus, const std::set<Edge>& graph, const std::vector<int>& counts, const std::string& suffix) {
  Wish wish;
  wish.id = fmt::format("g{}", gpus);
  wish.links.between.assign(at(gpus), std::vector<int>(at(gpus), 0));
  wish.links.to_switch.assign(at(gpus), 0);
  wish.links.socket.assign(at(gpus), 0);
  std::size_t i = 0;
  for (const auto& [a, b] : graph) {
    wish.links.between[at(a)][at(b)] = wish.links.between[at(b)][at(a)] = counts[i++ % counts.size()];
    wish.id += fmt::format("-{}{}", a, b);
    wish.about += fmt::format("{}{}-{} x{}", wish.about.empty() ? "" : ", ", a, b, wish.links.between[at(a)][at(b)]);
  }
  wish.id += graph.empty() ? "-none" : suffix;
  if (graph.empty()) wish.about = "no NVLink";
  return wish;
}

}  // namespace

std::vector<Wish> subset_wishes(const Platform& machine, const std::string& name, int gpus) {
  const int all = machine.gpu_count();
  if (gpus < 2 || gpus > all) throw InputError(fmt::format("gpus: {} has 2 to {} to choose", name, all));
  if (placement::number_of_sets(all, gpus) > kMostSets)
    throw InputError(fmt::format("gpus: {} has more than {} sets of so many", name, kMostSets));
  const auto symmetries = gpu_symmetries(machine, std::vector<int>(at(all), 0));
  std::vector<Wish> wishes;
  std::map<std::vector<int>, std::size_t> known;  // places by shape, of so few GPUs that all numberings can be tried
  for (const auto& members : placement::set_classes(first_numbers(all), gpus, symmetries)) {
    Wish wish;
    wish.id = name + "-" + joined_numbers(members.front());
    wish.about = "GPUs " + joined_numbers(members.front()) + " of " + name;
    wish.links = links_of(machine, members.front());
    wish.alike = static_cast<int>(members.size());
    if (gpus <= kMostNumbered) {
      const auto [place, is_new] = known.try_emplace(shape_of(wish.links), wishes.size());
      if (!is_new) {
        wishes[place->second].alike += wish.alike;
        continue;
      }
    }
    wishes.push_back(std::move(wish));
  }
  return wishes;
}

std::vector<Wish> graph_wishes(int gpus) {
  if (gpus != 3 && gpus != 4) throw InputError("graphs: of 3 or 4 GPUs");
  std::vector<Wish> wishes;
  for (const std::set<Edge>& graph : graphs(gpus)) {
    if (graph.empty()) {
      wishes.push_back(graph_wish(gpus, graph, {0}, ""));
      continue;
    }
    for (const int count : kCounts) wishes.push_back(graph_wish(gpus, graph, {count}, fmt::format("-x{}", count)));
    if (graph.size() > 1) wishes.push_back(graph_wish(gpus, graph, {kCounts.rbegin(), kCounts.rend()}, "-mixed"));
  }
  return wishes;
}

namespace fs = std::filesystem;
namespace {

constexpr double kSmallest_B = 8, kLargest_B = 1073741824, kStep = 8, kFloat_B = 4;  // source: ours, 10 sizes

/// Of linkcast-bench where it is found, else of nccl-tests. NVLS would leave the rings out.
const char* const kScript = R"sh(#!/bin/sh
# Runs every topology of this folder: sh run.sh [OCCASION [OPTION...]]. Commit forecast.json before.
# With linkcast-bench in PATH (or LINKCAST_BENCH, and with the options), else with nccl-tests in PATH (or NCCL_TESTS).
# Each topology leaves its times, NCCL's log and the graphs that NCCL found in results/.
set -eu
bench=$(command -v "${LINKCAST_BENCH:-linkcast-bench}" || true)
case $bench in /* | "") ;; *) bench=$PWD/$bench ;; esac
if [ -n "${LINKCAST_BENCH:-}" ] && [ -z "$bench" ]; then
  echo "LINKCAST_BENCH: no program $LINKCAST_BENCH" >&2
  exit 2
fi
tests=${NCCL_TESTS:+$(cd "$NCCL_TESTS" && pwd)/}
occasion=${1:-first}
[ $# -eq 0 ] || shift
cd "$(dirname "$0")"
mkdir -p results
if [ -n "$bench" ]; then
  exec "$bench" --emulate . --out results --machine MACHINE --occasion "$occasion" "$@"
fi
if ! command -v "${tests}all_reduce_perf" >/dev/null; then
  echo "neither linkcast-bench nor nccl-tests found: set LINKCAST_BENCH or NCCL_TESTS" >&2
  exit 2
fi
set -a
. ./environment
set +a
failed=0
while read -r id gpus; do
  for op in all_reduce all_gather reduce_scatter broadcast reduce alltoall sendrecv gather scatter; do
    log=results/$id.$op.$occasion.log
    # -G 1: in a CUDA graph, since the forecast is of the devices alone
    if ! NCCL_TOPO_FILE="$PWD/$id.xml" NCCL_GRAPH_DUMP_FILE="$PWD/results/$id.$occasion.graph.xml" \
      NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,GRAPH,ENV NCCL_DEBUG_FILE="$PWD/results/$id.$op.$occasion.nccl" \
      "${tests}${op}_perf" -b 8 -e 1G -f 8 -g "$gpus" -G 1 >"$log"; then
      mv "$log" "$log.failed"
      echo "failed: $log.failed" >&2
      failed=1
    fi
  done
done <cases
exit $failed
)sh";

Json environment_of(const StudyRequest& request) {
  Json environment{{"NCCL_NVLS_ENABLE", "0"}};
  if (!request.p2p_level.empty()) environment["NCCL_P2P_LEVEL"] = request.p2p_level;
  return environment;
}

/// @param bus_ids  of the real GPUs: the files hold for no others
Json case_of(const Wish& wish, const std::vector<std::string>& bus_ids) {
  return {{"id", wish.id},
          {"about", wish.about},
          {"xml", wish.id + ".xml"},
          {"gpus", first_numbers(wish.gpus())},
          {"bus_ids", std::vector<std::string>(bus_ids.begin(), bus_ids.begin() + wish.gpus())},
          {"links", wish.links.between},
          {"to_switch", wish.links.to_switch},
          {"socket", wish.links.socket},
          {"alike", wish.alike}};
}

Json query_of(const StudyRequest& request, const Wish& wish, const char* kind) {
  Json query{{"kind", kind},
             {"platform", request.machine},
             {"gpus", first_numbers(wish.gpus())},
             {"library_topology", (fs::path(request.out) / (wish.id + ".xml")).string()}};
  if (!request.library.empty()) query["library"] = request.library;
  if (!request.p2p_level.empty()) query["p2p_level"] = request.p2p_level;
  return query;
}

/// What the library will find, and how long each operation takes on the devices.
Json forecast_of(catalogue::Catalogue& catalogue, const StudyRequest& request, const Wish& wish) {
  const Json rings = query::answer_or_throw(catalogue, query_of(request, wish, "rings"), wish.id);
  Json out{{"id", wish.id}, {"library_topology_sha256", rings["library_topology_sha256"]}};
  for (const char* key : {"library", "channels", "hops", "blocks", "path_class", "library_channel_bandwidth_Bps",
                          "rings_found", "trees", "tree_class", "library_tree_bandwidth_Bps", "why"})
    if (rings.contains(key)) out[key] = rings[key];
  out["times"] = Json::array();
  for (const std::string& op : study_operations())
    for (const double size_B : study_sizes(op, wish.gpus())) {
      Json query = query_of(request, wish, "collective");
      query["op"] = op;
      query["size_B"] = static_cast<long long>(size_B);
      query["launch"] = "graph";  // the devices alone, as run.sh has both programs time them
      query["nvls"] = false;      // as environment says
      const Json answer = query::answer_or_throw(catalogue, query, wish.id);
      Json row{{"op", op}, {"size_B", query["size_B"]}};
      for (const char* key : {"time_s", "time_low_s", "time_high_s", "algorithm", "protocol"})
        if (answer.contains(key)) row[key] = answer[key];
      out["times"].push_back(std::move(row));
    }
  return out;
}

void check_folder(const StudyRequest& request) {
  std::error_code error;
  fs::create_directories(request.out, error);
  if (error) throw InputError("out: cannot make folder '" + request.out + "': " + error.message());
  const fs::path results = fs::path(request.out) / "results";
  if (fs::is_directory(results) && !fs::is_empty(results))
    throw InputError("out: '" + request.out + "' holds results, and a forecast comes before them: take another folder");
  std::set<std::string> ids;
  for (const Wish& wish : request.wishes)
    if (!ids.insert(wish.id).second) throw InputError("two topologies are called '" + wish.id + "'");
}

}  // namespace

const std::vector<std::string>& study_operations() {
  static const std::vector<std::string> all = {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce",
                                               "alltoall",   "sendrecv",   "gather",         "scatter"};
  return all;
}

std::vector<double> study_sizes(const std::string& operation, int gpus) {
  const bool splits =
      operation != "all_reduce" && operation != "broadcast" && operation != "reduce" && operation != "sendrecv";
  const double unit = kFloat_B * (splits ? gpus : 1);
  std::vector<double> sizes;
  for (double size = kSmallest_B; size <= kLargest_B; size *= kStep)
    if (const double whole = std::floor(size / unit) * unit; whole > 0) sizes.push_back(whole);
  return sizes;
}

Json write_study(catalogue::Catalogue& catalogue, const StudyRequest& request) {
  check_folder(request);
  const fs::path out(request.out);
  Json study{{"schema", "emulation/1"},
             {"machine", request.machine},
             {"onto_sha256", sha256_of_file(request.onto)},
             {"environment", environment_of(request)},
             {"cases", Json::array()}};
  Json forecast{{"schema", "emulation-forecast/1"},
                {"machine", request.machine},
                {"calibration_sha256", catalogue.machine(request.machine)->platform().calibration().sha256},
                {"versions", {{"linkcast", query::build_version()}, {"git", query::build_commit()}}},
                {"cases", Json::array()}};
  const std::vector<std::string> bus_ids = bus_ids_of_topology_file(request.onto);
  std::string cases, environment;
  log::Work work(catalogue.progress(), "emulate", "topologies", static_cast<std::int64_t>(request.wishes.size()));
  for (const Wish& wish : request.wishes) {
    work.advance(static_cast<std::int64_t>(study["cases"].size()), wish.id);
    write_atomically((out / (wish.id + ".xml")).string(), emulated_topology(request.onto, wish.links));
    study["cases"].push_back(case_of(wish, bus_ids));
    forecast["cases"].push_back(forecast_of(catalogue, request, wish));
    cases += fmt::format("{} {}\n", wish.id, wish.gpus());
  }
  for (const auto& [name, value] : study["environment"].items())
    environment += name + "=" + value.get<std::string>() + "\n";
  std::string script = kScript;
  script.replace(script.find("MACHINE"), std::string("MACHINE").size(), request.machine);
  write_atomically((out / "cases").string(), cases);
  write_atomically((out / "environment").string(), environment);
  write_atomically((out / "run.sh").string(), script);
  write_atomically((out / "study.json").string(), study.dump(1) + "\n");
  write_atomically((out / "forecast.json").string(), forecast.dump(1) + "\n");
  return forecast;
}

}  // namespace linkcast::emulation
