// Predictions per second of CPU time in batch mode, one JSON line a case: a query line in, a result line out, in
// memory.
//   forecast_bench [seconds a case, default 1; 0: each query once] [how the case begins]
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

const char* const kPlatform = "p100-dgx1";
constexpr int kGpus = 8;

std::string gpu(int number) { return "gpu" + std::to_string(number % kGpus); }

/// 1 KiB to 256 MiB, so that no two queries in a row are alike.
double size_B(int i) { return 1024.0 * (1 << (i % 19)); }

Json base(const char* kind, int i) { return {{"id", i}, {"kind", kind}, {"platform", kPlatform}}; }

/// Every ordered pair: neighbours by peer copy, the others through host memory.
Json p2p(int i) {
  Json query = base("p2p", i);
  query["src"] = gpu(i);
  query["dst"] = gpu(i + 1 + i / kGpus % (kGpus - 1));
  query["size_B"] = size_B(i);
  return query;
}

/// 12 copies by kernels that contend on the links of 4 GPUs: each to each of the others.
Json twelve_flows(int i) {
  Json query = base("flows", i);
  query["engine"] = "sm";
  query["flows"] = Json::array();
  for (int from = 0; from < 4; ++from) {
    for (int to = 0; to < 4; ++to) {
      if (from != to) query["flows"].push_back({gpu(from), gpu(to), size_B(i) + 64 * from});
    }
  }
  return query;
}

Json all_reduce(int i) {
  Json query = base("collective", i);
  query["op"] = "all_reduce";
  query["size_B"] = size_B(i);
  query["gpus"] = Json::array();
  for (int number = 0; number < kGpus; ++number) query["gpus"].push_back(number);
  return query;
}

std::vector<std::string> lines(Json (*make)(int)) {
  std::vector<std::string> text;
  for (int i = 0; i < 19 * kGpus * (kGpus - 1); ++i) text.push_back(make(i).dump());
  return text;
}

bool measure(const std::string& name, catalogue::Catalogue& catalogue, const std::vector<std::string>& queries,
             double limit_s) {
  for (const std::string& query : queries) {  // warm-up: platform read, rings found, buffers grown
    const Json result = query::answer(catalogue, parse_json(query, "query"));
    if (!result.contains("error")) continue;
    std::fprintf(stderr, "%s: %s\n", name.c_str(), result["error"].get<std::string>().c_str());
    return false;
  }
  std::size_t bytes = 0;
  const auto [done, prediction_s] = bench::timed(limit_s, queries.size(), [&](std::size_t i) {
    bytes += query::answer(catalogue, parse_json(queries[i % queries.size()], "query")).dump().size() + 1;
  });
  std::printf(
      "{\"case\": \"%s\", \"platform\": \"%s\", \"predictions\": %zu, \"predictions_per_s\": %.4g, "
      "\"prediction_s\": %.4g, \"bytes_a_result\": %.4g}\n",
      name.c_str(), kPlatform, done, 1 / prediction_s, prediction_s,
      static_cast<double>(bytes) / static_cast<double>(done));
  std::fflush(stdout);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const double limit_s = argc > 1 ? std::atof(argv[1]) : 1;
  catalogue::Catalogue catalogue(LINKCAST_DATA_DIR);
  const std::vector<std::pair<std::string, Json (*)(int)>> cases = {
      {"p2p", p2p}, {"flows_12", twelve_flows}, {"all_reduce_8_gpus", all_reduce}};
  for (const auto& [name, make] : cases) {
    if (bench::wanted(argc, argv, 2, name) && !measure(name, catalogue, lines(make), limit_s)) return 1;
  }
  return 0;
}
