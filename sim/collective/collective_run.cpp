#include "sim/collective/collective_run.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "sim/units/index.hpp"
#include "sim/work/stop.hpp"

namespace linkcast::collective {
namespace {

// What a block takes of each rank's part in one round. source: NCCL's buffers, 4 slots of 512 KiB a chunk (SOURCES.md)
constexpr double kRound_B = 2097152;
// What a block of a chain takes before it passes it on. source: an eighth of the buffer of a channel, 4 MiB
// (NCCL_BUFFSIZE, NCCL user guide; 8 steps, SOURCES.md)
constexpr double kChunk_B = 524288;

/// What a chain's time grows by: once in a row of calls its last rank waits until each before it has passed on a whole
/// chunk of every block.
double chain_fill(const CollectiveJob& job, int blocks) {
  return 1 + job.op.steps(job.ranks()) * std::min(1.0, kChunk_B * blocks / job.size_B) / job.calls;
}

/// What a block of a tree takes before it passes it on: smaller where there are fewer of them than a tree of that depth
/// needs for its pipeline.
/// source: recalled of NCCL's enqueue.cc ("Optimize chunkSize / nSteps", models/libraries/SOURCES.md)
double tree_chunk_B(const CollectiveJob& job, int blocks) {
  const double depth = job.ranks() - 1;
  double chunk_B = kChunk_B;
  const auto halve = [&](double wanted, double least_B) {
    while (std::floor(job.size_B / (blocks * chunk_B)) < wanted && chunk_B > least_B) chunk_B /= 2;
  };
  halve(8 * depth, 131072);
  halve(4 * depth, 65536);
  halve(depth, 32768);
  return chunk_B;
}

/// What a tree's time grows by in each call: a chunk of every block goes up to the root and back down before the leaves
/// have their first bytes, and the leaves are not done before they have the last. One hop more than the bytes' own.
double tree_fill(const CollectiveJob& job, const CollectivePlan& made) {
  return 1 + made.steps * std::min(1.0, tree_chunk_B(job, made.taken.blocks) * made.taken.blocks / job.size_B);
}

/// Proxies keep several slices of a Simple channel under way, so that hops between nodes pass while bytes flow: the two
/// add up as squares. What of the hops is hidden.
/// source: published all_reduce on 64 to 2,048 GPUs of Alps (claim SC24-073): bus bandwidths of 87 GB/s that fall to 46
/// and 36 where ranks get less than 4 MiB each, between what the sum and the larger of the two would be
double hidden_s(const CollectiveJob& job, const CollectiveRun& run) {
  const CollectivePlan& made = run.made;
  if (made.taken.algorithm != "ring" || made.taken.protocol != "Simple" || !job.op.closed()) return 0;
  return made.between_s + run.flow_s - std::hypot(made.between_s, run.flow_s);
}

/// What the time of the bytes grows by where they have to wait. A round of a ring contains a part, `turn_steps`, in
/// which a block sends nothing. In the first round all blocks turn at once and the links idle; then they drift apart as
/// in a random walk, so that after r rounds 1 / sqrt(r) of the part is still common: 2 sqrt(R) - 1 in R rounds.
/// @limits  turns were measured inside nodes only
double waiting_stretch(const CollectiveJob& job, const CollectiveRun& run) {
  const CollectivePlan& made = run.made;
  if (made.taken.algorithm == "tree" && made.taken.protocol == "Simple" && job.one_node()) return tree_fill(job, made);
  if (made.taken.algorithm != "ring") return 1;
  if (made.taken.protocol == "Simple" && !job.op.closed()) return chain_fill(job, made.taken.blocks);
  if (made.tail_s > 0 && run.flow_s > 0) return 1 + made.tail_s / run.flow_s;
  if (!job.one_node() || made.cost.turn_steps <= 0 || !job.op.closed() || run.flow_s <= 0) return 1;
  const double piece_B = job.size_B / job.ranks() / made.taken.blocks;
  const double rounds = std::max(1.0, piece_B / kRound_B);
  return 1 + made.cost.turn_steps / made.steps * (2 * std::sqrt(rounds) - 1) / rounds;
}

CollectiveRun run_between(const CollectiveJob& job, Solver& solver, MessageParts wanted) {
  MessageAnswer answer = run_messages(job, wanted, solver);
  CollectiveRun run{answer.made, answer.flow_s, 1, answer.limits};
  run.messages = std::move(answer);
  return run;
}

CollectiveRun run_rounds(const CollectiveJob& job, Solver& solver) {
  CollectiveRun run;
  run.scheduled = run_scheduled(job, algorithm_of(job), solver);
  run.flow_s = run.scheduled->time_s();
  return run;
}

/// One activity for all messages between nodes, each at the rate of the slowest.
activities::Plan sum_to_share(CollectiveRun run) {
  Activity flow{run.made.latency_s, run.made.busiest_B};
  if (run.flow_s > 0) flow.rate_cap_Bps = flow.work_B / run.flow_s;
  flow.uses = std::move(run.messages->loads);
  activities::Plan plan;
  plan.activities.push_back(std::move(flow));
  return plan;
}

/// By the bytes of the messages that each link limited; of one activity for all that got its own rate as alone.
void read_shared_rounds(const activities::PlanProblem& problem, const Solution& solution,
                        const std::vector<int>& places, ScheduledRun& rounds) {
  std::map<int, double> limit_B;
  for (const int place : places)
    if (const int limit = solution.limited_by[at(place)]; limit != kOwnCap)
      limit_B[problem.key(limit)] += problem.problem().activities[at(place)].work_B;
  if (!rounds.times.steady || !limit_B.empty()) rounds.times.limit_B = std::move(limit_B);
}

/// The time of one among several, at least that alone: where a neighbour delays some of its messages, max-min fair
/// shares can let those that all others wait for go first, an order that nobody would have chosen. One activity for all
/// messages that gets its own rate is limited as they are alone. @param together  comes as the run alone
void read_shared(const activities::PlanProblem& problem, const Solution& solution, const std::vector<int>& places,
                 CollectiveRun& together) {
  if (places.empty()) return;  // it moves nothing
  std::vector<int> limits;
  double ended_s = 0;
  for (const int place : places) {
    ended_s = std::max(ended_s, solution.finish_s[at(place)]);
    if (solution.limited_by.empty()) continue;
    const int limit = solution.limited_by[at(place)];
    limits.push_back(limit == kOwnCap ? kOwnCap : problem.key(limit));
  }
  together.flow_s = std::max(together.flow_s, ended_s - together.made.latency_s);
  if (together.scheduled) {
    if (!solution.limited_by.empty()) read_shared_rounds(problem, solution, places, *together.scheduled);
    return;
  }
  if (!together.messages || (!limits.empty() && limits.front() != kOwnCap)) together.limited_by = std::move(limits);
}

/// Limits of the plan's own beside those of the links that it uses.
void hold_back(const Cluster& machine, double stretch, activities::Plan& plan) {
  if (stretch <= 1) return;
  std::map<int, int> own;  // by key
  for (Activity& activity : plan.activities) {
    activity.rate_cap_Bps /= stretch;
    const std::vector<Use> uses = activity.uses;
    for (const Use& use : uses) {
      const auto [limit, added] = own.try_emplace(use.constraint, static_cast<int>(plan.own_limits.size()));
      if (added) plan.own_limits.push_back({machine.capacity(use.constraint) / stretch, use.constraint});
      activity.uses.push_back({activities::own_limit(limit->second), use.weight});
    }
  }
}

}  // namespace

void read_solution(const CollectiveJob& job, const activities::ClusterProblem& problem, const Solution& solution,
                   CollectiveRun& run) {
  run.flow_s = solution.makespan_s;
  run.stretch = waiting_stretch(job, run);
  run.flow_s *= run.stretch;
  const double hidden = hidden_s(job, run);
  run.made.latency_s += run.made.hidden_s - hidden;
  run.made.hidden_s = hidden;
  run.limited_by.clear();
  for (const int limit : solution.limited_by) run.limited_by.push_back(limit == kOwnCap ? kOwnCap : problem.key(limit));
}

CollectiveRun run_alone(const CollectiveJob& job, Solver& solver, activities::ClusterProblem& problem) {
  CollectiveRun run{plan(job, problem)};
  read_solution(job, problem, solver.run(problem.problem()), run);
  return run;
}

CollectiveRun run_alone(const CollectiveJob& job, Solver& solver, MessageParts wanted) {
  if (job.of_rounds()) return run_rounds(job, solver);
  if (job.of_messages() && !job.one_node()) return run_between(job, solver, wanted);
  activities::ClusterProblem problem(job.machine);
  return run_alone(job, solver, problem);
}

SharedRun run_to_share(const CollectiveJob& job, Solver& solver) {
  if (job.of_rounds()) {
    CollectiveRun run = run_rounds(job, solver);
    activities::Plan plan = scheduled_to_share(job, *run.scheduled);
    return {std::move(run), std::move(plan)};
  }
  if (job.of_messages() && !job.one_node()) {
    CollectiveRun run = run_between(job, solver, {false, true});
    activities::Plan plan = sum_to_share(run);
    return {std::move(run), std::move(plan)};
  }
  activities::ClusterProblem problem(job.machine);
  SharedRun shared{run_alone(job, solver, problem), {}};
  shared.plan.activities = problem.problem().activities;
  for (Activity& activity : shared.plan.activities) {
    work::look();
    activity.delay_s = shared.run.made.latency_s;
    for (Use& use : activity.uses) use.constraint = problem.key(use.constraint);
  }
  hold_back(job.machine, shared.run.stretch, shared.plan);
  return shared;
}

void share(const CollectiveJob& job, const Cluster& shared, activities::Plan& plan) {
  for (Activity& flow : plan.activities) {
    work::look();
    for (Use& use : flow.uses)
      if (!activities::is_own_limit(use.constraint)) use.constraint = shared_key(job, shared, use.constraint);
  }
  for (activities::OwnLimit& limit : plan.own_limits) limit.key = shared_key(job, shared, limit.key);
}

std::vector<Contended> run_together(const std::vector<CollectiveJob>& jobs, const Cluster& shared_machine,
                                    Solver& solver) {
  activities::PlanProblem problem(shared_machine);
  std::vector<Contended> all;
  std::vector<std::vector<int>> places;
  for (const CollectiveJob& job : jobs) {
    SharedRun shared = run_to_share(job, solver);
    share(job, shared_machine, shared.plan);
    places.push_back(problem.add(shared.plan));
    all.push_back({shared.run, std::move(shared.run), false});
  }
  const Solution solution = solver.run(problem.problem());
  for (std::size_t i = 0; i < all.size(); ++i) {
    read_shared(problem, solution, places[i], all[i].together);
    all[i].shared_late = solution.late_shares > 0;
  }
  return all;
}

}  // namespace linkcast::collective
