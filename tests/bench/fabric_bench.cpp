// Fabrics of 100,000 endpoints: CPU time to build, ways of random pairs, peak memory. One JSON line a case.
//   fabric_bench [pairs a case, default 1000000]
#include <sys/resource.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "tests/bench/cpu_time.hpp"
#include "tests/support/fabric_examples.hpp"

using namespace linkcast;

namespace {

/// Highest resident memory of the process so far.
double peak_MiB() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

/// Routes random pairs, one way of each at random, and reads every link of it.
template <class Make>
void measure(const char* name, long pairs, bool detours, const Make& make) {
  double start_s = bench::cpu_s();
  const auto fabric = make();
  const double build_s = bench::cpu_s() - start_s;
  std::mt19937_64 random(1);
  std::uniform_int_distribution<int> endpoint(0, fabric->endpoints() - 1);
  std::vector<int> way;
  long links = 0;
  std::int64_t sum = 0;  // keeps the compiler from dropping the work
  start_s = bench::cpu_s();
  for (long pair = 0; pair < pairs; ++pair) {
    const int from = endpoint(random), to = endpoint(random);
    const int ways = from == to ? 0 : detours ? fabric->detours(from, to) : fabric->minimal_ways(from, to);
    if (ways == 0) continue;
    way.clear();
    const int which = static_cast<int>(random() % static_cast<std::uint64_t>(ways));
    if (detours)
      fabric->detour(from, to, which, way);
    else
      fabric->minimal_way(from, to, which, way);
    links += static_cast<long>(way.size());
    for (const int id : way) sum += fabric->link(id).to;
  }
  const double route_s = bench::cpu_s() - start_s;
  std::printf(
      "{\"case\": \"%s\", \"endpoints\": %d, \"switches\": %d, \"links\": %d, \"build_s\": %.4g, \"pairs\": %ld, "
      "\"links_of_ways\": %ld, \"route_s\": %.4g, \"ways_per_s\": %.4g, \"peak_MiB\": %.4g, \"sum\": %lld}\n",
      name, fabric->endpoints(), fabric->switches(), fabric->links(), build_s, pairs, links, route_s,
      static_cast<double>(pairs) / route_s, peak_MiB(), static_cast<long long>(sum));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const long pairs = argc > 1 ? std::atol(argv[1]) : 1000000;
  const auto dragonfly = [] { return test::dragonfly({200, 32, 16, 2}); };                                 // 102,400
  const auto dragonfly_plus = [] { return test::dragonfly_plus({256, 20, 20, 20, 2}); };                   // 102,400
  const auto fat_tree = [] { return test::fat_tree(test::ThreeLevelsOf{49, 32, 32, 1024, 64, 32, 32}); };  // 100,352
  const auto torus = [] { return test::torus({48, 46, 46}); };                                             // 101,568
  measure("dragonfly", pairs, false, dragonfly);
  measure("dragonfly_detours", pairs, true, dragonfly);
  measure("dragonfly_plus", pairs, false, dragonfly_plus);
  measure("dragonfly_plus_detours", pairs, true, dragonfly_plus);
  measure("fat_tree", pairs, false, fat_tree);
  measure("torus", pairs, false, torus);
  return 0;
}
