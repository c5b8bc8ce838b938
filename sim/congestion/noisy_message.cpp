#include "sim/congestion/noisy_message.hpp"

#include <algorithm>
#include <map>

#include "sim/congestion/slowed_problem.hpp"
#include "sim/units/index.hpp"

namespace linkcast::congestion {
namespace {

struct Delay {
  double slowdown = 1, wait_s = 0;
};

/// The problem as one draw of the background leaves it.
Problem noisy_problem(SlowedProblem& slowed, const activities::ClusterProblem& made, const Background& background) {
  Problem problem = slowed.slowed([&](const NoisyWay& way) { return background.slowdown(way); });
  std::map<int, Delay> delays;  // by activity; of one over several NICs the slowest part counts
  for (const activities::ClusterProblem::Crossed& crossed : made.crossed()) {
    const NoisyWay way = noisy_way(made.cluster().fabric(), crossed.from, crossed.to);
    Delay& delay = delays[crossed.activity];
    delay.slowdown = std::max(delay.slowdown, background.slowdown(way));
    delay.wait_s = std::max(delay.wait_s, background.wait_s(way));
  }
  for (const auto& [activity, delay] : delays) {
    Activity& message = problem.activities[at(activity)];
    message.rate_cap_Bps /= delay.slowdown;
    message.delay_s += delay.wait_s;
  }
  return problem;
}

}  // namespace

SampleTimes noisy_message_times(activities::ClusterProblem& made, const NetworkLoad& load, Solver& solver) {
  SlowedProblem slowed(made);
  const double quiet_s = solver.run(made.problem()).makespan_s;
  return draw_samples(load, [&](const Background& background) -> SampleTime {
    if (!load.noisy()) return {0, quiet_s};
    return {0, solver.run(noisy_problem(slowed, made, background)).makespan_s};
  });
}

Solution noisy_messages(activities::ClusterProblem& made, const NetworkLoad& load, int sample, Solver& solver) {
  if (!load.noisy()) return solver.run(made.problem());
  SlowedProblem slowed(made);
  return solver.run(noisy_problem(slowed, made, Background(*load.noise, load.seed, sample)));
}

}  // namespace linkcast::congestion
