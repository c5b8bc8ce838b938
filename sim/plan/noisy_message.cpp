#include "sim/plan/noisy_message.hpp"

#include <algorithm>
#include <map>

#include "sim/base/index.hpp"
#include "sim/plan/slowed_problem.hpp"

namespace linkcast::congestion {
namespace {

struct Delay {
  double slowdown = 1, wait_s = 0;
};

using WaitOf = std::function<double(const NoisyWay&)>;

/// A message that waits for others has a lower rate of its own too.
Problem slowed_messages(SlowedProblem& slowed, const activities::ClusterProblem& made, const CrossingSlowdown& slowdown,
                        const WaitOf& wait_s) {
  Problem problem = slowed.slowed(slowdown);
  std::map<int, Delay> delays;  // by activity; of one over several NICs the slowest part counts
  for (const activities::ClusterProblem::Crossed& crossed : made.crossed()) {
    const NoisyWay way = noisy_way(made.cluster().fabric(), crossed.from, crossed.to);
    Delay& delay = delays[crossed.activity];
    delay.slowdown = std::max(delay.slowdown, slowdown(way, crossed.activity));
    delay.wait_s = std::max(delay.wait_s, wait_s(way));
  }
  for (const auto& [activity, delay] : delays) {
    Activity& message = problem.activities[at(activity)];
    message.rate_cap_Bps /= delay.slowdown;
    message.delay_s += delay.wait_s;
  }
  return problem;
}

enum class Direction { kThere, kBack };

NoisyWay turned(const NoisyWay& way, Direction direction) {
  if (direction == Direction::kThere) return way;
  return {way.to, way.from, way.to_switch, way.from_switch, way.links};
}

/// The problem as one draw of the background leaves it; back: its messages as answered from the other end.
Problem noisy_problem(SlowedProblem& slowed, const activities::ClusterProblem& made, const Background& background,
                      const CrossingSlowdown& others = nullptr, Direction direction = Direction::kThere) {
  const auto slowdown = [&](const NoisyWay& way, int activity) {
    return background.slowdown(turned(way, direction)) * (others ? others(way, activity) : 1);
  };
  return slowed_messages(slowed, made, slowdown,
                         [&](const NoisyWay& way) { return background.wait_s(turned(way, direction)); });
}

}  // namespace

double slowed_messages_s(activities::ClusterProblem& made, const CrossingSlowdown& others, Solver& solver) {
  SlowedProblem slowed(made);
  return solver.run(slowed_messages(slowed, made, others, [](const NoisyWay&) { return 0; })).makespan_s;
}

SampleTimes noisy_message_times(activities::ClusterProblem& made, const NetworkLoad& load, Solver& solver,
                                const CrossingSlowdown& others) {
  SlowedProblem slowed(made);
  const double quiet_s = others ? slowed_messages_s(made, others, solver) : solver.run(made.problem()).makespan_s;
  return draw_samples(load, [&](const Background& background) -> SampleTime {
    if (!load.noisy()) return {0, quiet_s};
    const auto time_s = [&](Direction direction) {
      return solver.run(noisy_problem(slowed, made, background, others, direction)).makespan_s;
    };
    if (!load.round_trip) return {0, time_s(Direction::kThere)};
    return {0, (time_s(Direction::kThere) + time_s(Direction::kBack)) / 2};
  });
}

Solution noisy_messages(activities::ClusterProblem& made, const NetworkLoad& load, int sample, Solver& solver) {
  if (!load.noisy()) return solver.run(made.problem());
  SlowedProblem slowed(made);
  return solver.run(noisy_problem(slowed, made, Background(*load.noise, load.seed, sample)));
}

}  // namespace linkcast::congestion
