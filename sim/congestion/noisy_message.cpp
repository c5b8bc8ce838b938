#include "sim/congestion/noisy_message.hpp"

#include <algorithm>
#include <map>

#include "sim/congestion/slowed_problem.hpp"

namespace linkcast::congestion {
namespace {

struct Delay {
  double slowdown = 1, wait_s = 0;
};

}  // namespace

SampleTimes noisy_message_times(activities::ClusterProblem& made, const NetworkLoad& load, Solver& solver) {
  SlowedProblem slowed(made);
  const double quiet_s = solver.run(made.problem()).makespan_s;
  return draw_samples(load, [&](const Background& background) -> SampleTime {
    if (!load.noisy()) return {0, quiet_s};
    Problem problem = slowed.slowed([&](const NoisyWay& way) { return background.slowdown(way); });
    std::map<int, Delay> delays;  // by activity; of one over several NICs the slowest part counts
    for (const activities::ClusterProblem::Crossed& crossed : made.crossed()) {
      const NoisyWay way = noisy_way(made.cluster().fabric(), crossed.from, crossed.to);
      Delay& delay = delays[crossed.activity];
      delay.slowdown = std::max(delay.slowdown, background.slowdown(way));
      delay.wait_s = std::max(delay.wait_s, background.wait_s(way));
    }
    for (const auto& [activity, delay] : delays) {
      Activity& message = problem.activities[static_cast<std::size_t>(activity)];
      message.rate_cap_Bps /= delay.slowdown;
      message.delay_s += delay.wait_s;
    }
    return {0, solver.run(problem).makespan_s};
  });
}

}  // namespace linkcast::congestion
