#include "validate/emulation/study.hpp"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <set>

#include "sim/base/atomic_file.hpp"
#include "sim/base/file_hash.hpp"
#include "sim/base/index.hpp"
#include "sim/machine/collective.hpp"
#include "sim/query/provenance.hpp"
#include "sim/query/query.hpp"

namespace linkcast::emulation {
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
