#include "sim/forecast/noisy_message.hpp"

#include "sim/forecast/slowed_problem.hpp"

namespace linkcast {

SampleTimes noisy_message_times(ClusterProblem& made, const NetworkLoad& load, Solver& solver) {
  SlowedProblem slowed(made);
  const double quiet_s = solver.run(made.problem()).makespan_s;
  return draw_samples(load, [&](const Background& background) -> SampleTime {
    if (!load.noisy()) return {0, quiet_s};
    Problem problem = slowed.slowed([&](const NoisyWay& way) { return background.slowdown(way); });
    for (const ClusterProblem::Crossed& crossed : made.crossed()) {
      Activity& message = problem.activities[static_cast<std::size_t>(crossed.activity)];
      const NoisyWay way = noisy_way(made.cluster().fabric(), crossed.from, crossed.to);
      message.rate_cap_Bps /= background.slowdown(way);
      message.delay_s += background.wait_s(way);
    }
    return {0, solver.run(problem).makespan_s};
  });
}

}  // namespace linkcast
