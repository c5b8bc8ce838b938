// How fast the solvers are, one JSON line a case: activities per second of CPU time, checks and all included.
//   engine_bench [seconds a case, default 1; 0: 100000 activities a case] [how solver/case begins]
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "sim/engine/problem.hpp"
#include "sim/engine/solvers.hpp"
#include "tests/bench/cpu_time.hpp"

using namespace linkcast;

namespace {

// Any number would do: the rate of one NVLink 4 port. source: open-mpi/hwloc issue 574, 25 GB/s a direction
constexpr double kCapacity_Bps = 25e9;
constexpr std::size_t kActivities = 100000;  ///< of a case, where no time is given

Activity flow(double work_B, std::vector<Use> uses, double delay_s) {
  Activity activity;
  activity.work_B = work_B;
  activity.uses = std::move(uses);
  activity.delay_s = delay_s;
  return activity;
}

/// Each pair sends messages back to back, of its own size: nothing ends together.
Problem disjoint_pairs(int pairs, int messages) {
  Problem problem{std::vector<double>(static_cast<std::size_t>(pairs), kCapacity_Bps), 0, {}};
  for (int message = 0; message < messages; ++message) {
    for (int pair = 0; pair < pairs; ++pair) {
      problem.activities.push_back(flow(1e5 + 100 * pair, {{pair, 1}}, 1e-6));
      if (message > 0) problem.activities.back().after = {(message - 1) * pairs + pair};
    }
  }
  return problem;
}

/// The 2(n-1) steps of a ring all-reduce.
Problem ring(int ranks) {
  Problem problem{std::vector<double>(static_cast<std::size_t>(ranks), kCapacity_Bps), 0, {}};
  for (int step = 0; step < 2 * (ranks - 1); ++step) {
    for (int rank = 0; rank < ranks; ++rank) {
      problem.activities.push_back(flow(1e6, {{rank, 1}}, 1e-6));
      const int received = (step - 1) * ranks + (rank + ranks - 1) % ranks;
      if (step > 0) problem.activities.back().after = {received, (step - 1) * ranks + rank};
    }
  }
  return problem;
}

/// All to all over a star: constraint r is the way out of rank r, ranks + r its way in.
/// @param spread_B  how much larger each flow is than the one before; 0: all end together
Problem all_to_all(int ranks, double spread_B) {
  Problem problem{std::vector<double>(static_cast<std::size_t>(2 * ranks), kCapacity_Bps), 0, {}};
  double work_B = 1e6;
  for (int from = 0; from < ranks; ++from) {
    for (int to = 0; to < ranks; ++to) {
      if (from == to) continue;
      problem.activities.push_back(flow(work_B, {{from, 1}, {ranks + to, 1}}, 1e-6));
      work_B += spread_B;
    }
  }
  return problem;
}

void measure(const std::string& name, const std::string& solver_name, const Problem& problem, double limit_s) {
  const auto solver = make_solver(solver_name);
  solver->run(problem);  // warm-up: buffers grow, the engine starts
  const std::size_t fixed = kActivities / std::max<std::size_t>(problem.activities.size(), 1);
  const auto [runs, run_s] = bench::timed(limit_s, fixed, [&](std::size_t) { solver->run(problem); });
  std::printf(
      "{\"case\": \"%s\", \"solver\": \"%s\", \"activities\": %zu, \"runs\": %zu, \"run_s\": %.4g, "
      "\"activities_per_s\": %.4g}\n",
      name.c_str(), solver_name.c_str(), problem.activities.size(), runs, run_s,
      static_cast<double>(problem.activities.size()) / run_s);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const double limit_s = argc > 1 ? std::atof(argv[1]) : 1;
  const std::vector<std::pair<std::string, Problem>> cases = {
      {"empty", {}},
      {"one_flow", disjoint_pairs(1, 1)},
      {"small_12_flows", all_to_all(4, 1e3)},
      {"disjoint_pairs_32", disjoint_pairs(32, 32)},
      {"disjoint_pairs_1000", disjoint_pairs(1000, 10)},
      {"ring_64", ring(64)},
      {"all_to_all_64", all_to_all(64, 0)},
      {"all_to_all_32_irregular", all_to_all(32, 1e3)},
  };
  for (const auto& [name, problem] : cases) {
    for (const std::string& solver : solver_names())
      if (bench::wanted(argc, argv, 2, solver + "/" + name)) measure(name, solver, problem, limit_s);
  }
  return 0;
}
