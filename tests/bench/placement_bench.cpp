// Placements per second of CPU time, one JSON line a case: a query in, a result out. Nothing is kept from one query to
// the next but the platforms: each asks about another size, so that all placements are forecast.
//   placement_bench [seconds a case, default 1; 0: each case 20 times] [how it begins]
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "sim/machine/catalogue.hpp"
#include "sim/query/query.hpp"
#include "tests/bench/cpu_time.hpp"

using namespace linkcast;

namespace {

constexpr std::size_t kQueries = 20;

/// Sets of GPUs of one node.
Json on_node(const char* platform, int ranks) {
  return {{"kind", "place"}, {"platform", platform}, {"ranks", ranks}, {"busy", {1}}, {"top", 3}};
}

/// Nodes, and GPUs in them, beside a job that loads the network.
Json on_nodes(const char* platform, int nodes, int ranks, int gpus_per_node) {
  return {{"kind", "place"},
          {"platform", platform},
          {"nodes", nodes},
          {"ranks", ranks},
          {"gpus_per_node", gpus_per_node},
          {"objective", "both"},
          {"with", {{{"job", "all_reduce:64MiB"}, {"nodes", {1, 4}}}}}};
}

bool measure(const std::string& name, Json query, double limit_s) {
  catalogue::Catalogue catalogue(LINKCAST_DATA_DIR);
  std::size_t failed = 0;
  const auto ask = [&](std::size_t i) {
    query["job"] = {{"op", "all_reduce"}, {"size_B", 16777216 + 4096 * i}};
    const Json result = query::answer(catalogue, query);
    if (!result.contains("error")) return;
    std::fprintf(stderr, "%s: %s\n", name.c_str(), result["error"].get<std::string>().c_str());
    ++failed;
  };
  ask(kQueries);  // warm-up: platform read
  if (failed > 0) return false;
  const auto [runs, run_s] = bench::timed(limit_s, kQueries, ask);
  std::printf("{\"case\": \"%s\", \"placements\": %zu, \"placements_per_s\": %.4g, \"run_s\": %.4g}\n", name.c_str(),
              runs, 1 / run_s, run_s);
  std::fflush(stdout);
  return failed == 0;
}

}  // namespace

int main(int argc, char** argv) {
  const double limit_s = argc > 1 ? std::atof(argv[1]) : 1;
  const std::vector<std::pair<std::string, Json>> cases = {
      {"v100-dgx1_4_of_8", on_node("v100-dgx1", 4)},
      {"dgx2_4_of_16", on_node("dgx2", 4)},
      {"alps_3_of_16_nodes", on_nodes("alps", 16, 3, 1)},
      {"lumi_8_of_16_nodes", on_nodes("lumi", 16, 32, 4)},
  };
  bool good = true;
  for (const auto& [name, query] : cases)
    if (bench::wanted(argc, argv, 2, name)) good = measure(name, query, limit_s) && good;
  return good ? 0 : 1;
}
