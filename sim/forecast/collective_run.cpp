#include "sim/forecast/collective_run.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "sim/base/index.hpp"
#include "sim/base/limits.hpp"
#include "sim/forecast/near_ties.hpp"
#include "sim/plan/fabric_traffic.hpp"

namespace linkcast::collective {
namespace {

CollectiveRun run_between(const CollectiveJob& job, Solver& solver, MessageParts wanted) {
  MessageAnswer answer = run_messages(job, wanted, solver);
  CollectiveRun run{answer.plan, answer.flow_s, answer.wire_s, 1, answer.limits};
  run.messages = std::move(answer);
  return run;
}

CollectiveRun run_rounds(const CollectiveJob& job, Solver& solver) {
  CollectiveRun run;
  run.scheduled = run_scheduled(job, algorithm_of(job), solver);
  run.flow_s = run.scheduled->time_s();
  run.wire_s = run.scheduled->times.wire_s;
  return run;
}

CollectiveRun run_planned(const CollectiveJob& job, Solver& solver, activities::ClusterProblem& problem) {
  CollectiveRun run{plan(job, problem)};
  read_solution(job, problem, solver.run(problem.problem()), run);
  return run;
}

/// Standard deviation of ln(time) by what is a row's own: its steps and the rate of its blocks.
double spread_of_row(const CollectiveJob& job, const CollectiveRun& run) {
  const CollectivePlan& plan = run.plan;
  std::vector<ErrorPart> parts;
  for (const uncertainty::Term& part : plan.latency_terms) parts.push_back(part.spread.times(1 / run.own_s()));
  const bool limited = std::find(run.limited_by.begin(), run.limited_by.end(), kOwnCap) != run.limited_by.end();
  const double share = plan.choice.runs().block_share(job, plan, limited) * run.flow_s / run.own_s();
  for (const uncertainty::Term& part :
       plan.cost.terms(plan.cost.network_Bps < plan.cost.channel_Bps ? Figure::kNetwork : Figure::kBlock))
    parts.push_back(part.spread.times(-share));
  return std::sqrt(variance_of(job.node().calibration(), parts));
}

/// Weighs rows by how long they take. On a machine whose own were measured the likeliest one is what runs. Elsewhere
/// the time is the mean of all, and a row of which little is sure is rather one that is not slow.
void weigh(const CollectiveJob& job, bool measured, std::vector<CollectiveRun>& all) {
  std::vector<double> times;
  for (const CollectiveRun& one : all) times.push_back(one.own_s());
  std::sort(times.begin(), times.end());
  for (CollectiveRun& one : all) {
    if (measured) {
      one.share /= one.own_s();
      continue;
    }
    const double other_s = one.own_s() > times[0] ? times[0] : times[1];
    const double excess = std::log(one.own_s() / other_s);
    const Tuned tuned = as_tuned(excess, spread_of_row(job, one));
    one.share *= tuned.likelihood;
    one.row = std::max(std::exp(tuned.excess - excess), std::min(1.0, one.wire_s / one.own_s()));
    one.choice = one.row;
  }
}

/// Shares that add up to 1, the largest first. @param least  of the sum, that counts
void keep_likely(double least, std::vector<CollectiveRun>& all) {
  const auto sum_of = [&] {
    return std::accumulate(all.begin(), all.end(), 0.0,
                           [](double sum, const CollectiveRun& one) { return sum + one.share; });
  };
  std::stable_sort(all.begin(), all.end(),
                   [](const CollectiveRun& a, const CollectiveRun& b) { return a.share > b.share; });
  const double most = sum_of();
  std::erase_if(all, [&](const CollectiveRun& one) { return one.share <= 0 || one.share < least * most; });
  const double kept = sum_of();
  for (CollectiveRun& one : all) one.share /= kept;
}

/// Near a tie one of all that may run, with the others; else nothing. The more likely the less slow they are: libraries
/// are tuned, and their owners set what goes wrong. Where the choice was measured it is the likeliest, else the
/// library's own.
std::optional<CollectiveRun> likeliest_run(const CollectiveJob& job, Solver& solver) {
  const std::vector<NearRow> rows = near_rows(job);
  if (rows.empty()) return std::nullopt;
  std::vector<CollectiveRun> likely;
  const auto plain = job.rings().choose(job.node(), job.communicator, job.tuner_request());
  for (const NearRow& row : rows) {
    CollectiveJob as = job;
    as.algorithm = row.algorithm;
    as.protocol = row.protocol;
    CollectiveRun run = run_alone(as, solver);
    if (plain) run.plan.choice.why = plain->why;
    run.share = row.weight;
    likely.push_back(std::move(run));
  }
  const bool measured = choice_measured(job);
  weigh(job, measured, likely);
  keep_likely(measured ? kLeastShare : 0, likely);
  double mean = 0;
  for (const CollectiveRun& one : likely) mean += one.share * std::log(one.time_s());
  const NearRow& best = *std::max_element(rows.begin(), rows.end(),
                                          [](const NearRow& a, const NearRow& b) { return a.weight < b.weight; });
  const auto named = std::find_if(likely.begin(), likely.end(), [&](const CollectiveRun& one) {
    return one.plan.choice.algorithm == best.algorithm && one.plan.choice.protocol == best.protocol;
  });
  if (!measured && named != likely.end()) std::rotate(likely.begin(), named, named + 1);
  CollectiveRun likeliest = std::move(likely.front());
  likely.erase(likely.begin());
  likeliest.instead = std::move(likely);
  if (!measured) likeliest.choice = std::exp(mean) / likeliest.own_s();
  return likeliest;
}

/// One activity for all messages between nodes, each at the rate of the slowest.
activities::Plan sum_to_share(CollectiveRun run) {
  Activity flow{run.plan.latency_s, run.plan.busiest_B};
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
    const int limit = solution.limited_by[at(place)];
    limits.push_back(limit == kOwnCap ? kOwnCap : problem.key(limit));
  }
  together.flow_s = std::max(together.flow_s, ended_s / together.choice - together.plan.latency_s);
  if (together.scheduled) {
    read_shared_rounds(problem, solution, places, *together.scheduled);
    return;
  }
  if (!together.messages || (!limits.empty() && limits.front() != kOwnCap)) together.limited_by = std::move(limits);
}

/// Blocks that wait for their turn leave links idle: alone a flow gets what is left, by a limit of its own.
/// @param lost  part of the idle time that others cannot use either, as a power of the stretch
void hold_back(const Cluster& machine, double stretch, double lost, activities::Plan& plan) {
  if (stretch <= 1) return;
  std::map<int, int> own;  // by key
  for (Activity& activity : plan.activities) {
    activity.rate_cap_Bps /= stretch;
    const std::vector<Use> uses = activity.uses;
    for (const Use& use : uses) {
      const auto [place, added] = own.try_emplace(use.constraint, static_cast<int>(plan.own_limits.size()));
      const double capacity_Bps = machine.capacity(use.constraint);
      if (added) plan.own_limits.push_back({capacity_Bps / stretch, use.constraint});
      activity.uses.push_back({activities::own_limit(place->second), use.weight});
      if (lost <= 0) continue;
      if (added) plan.own_limits.push_back({capacity_Bps, use.constraint, true});
      activity.uses.push_back({activities::own_limit(place->second + 1), use.weight * std::pow(stretch, lost)});
    }
  }
}

/// Flows of thread blocks share a link by what these have in flight, and so by what the blocks would move over links
/// without end: rising together, those of two collectives are at the same part of their own limits. As work in units of
/// a plan's own, which max-min shares equally. source: all_reduce of two H100 with an alltoall of four, 24 blocks each
/// at a GPU: as long for as many bytes (calibrate/data/h100-four/20261127a-nccl_contention.json)
void share_by_limits(activities::Plan& plan) {
  // Two blocks of a ring on H100: a flow without such a limit, a copy, weighs as one of a ring. source: hgx-h100
  constexpr double kUnit_Bps = 25e9;
  double sum_Bps = 0;
  for (const Activity& flow : plan.activities) sum_Bps += flow.rate_cap_Bps;
  const double part = sum_Bps / static_cast<double>(plan.activities.size()) / kUnit_Bps;
  if (!std::isfinite(part) || part <= 0) return;
  for (Activity& flow : plan.activities) {
    flow.work_B /= part;
    flow.rate_cap_Bps /= part;
    for (Use& use : flow.uses) use.weight *= part;
  }
}

}  // namespace

void read_solution(const CollectiveJob& job, activities::ClusterProblem& problem, const Solution& solution,
                   CollectiveRun& run) {
  run.flow_s = solution.makespan_s;
  run.wire_s = problem.wire_bound_s();
  if (job.one_node()) run.plan.links_s = problem.links_bound_s();
  const Algorithm& algorithm = run.plan.choice.runs();
  run.stretch = algorithm.stretch(job, run.plan, run.flow_s) * run.plan.cost.growth;
  run.flow_s *= run.stretch;
  const double hidden = algorithm.hidden_s(job, run.plan, run.flow_s);
  run.plan.latency_s += run.plan.hidden_s - hidden;
  run.plan.hidden_s = hidden;
  run.limited_by.clear();
  for (const int limit : solution.limited_by) run.limited_by.push_back(limit == kOwnCap ? kOwnCap : problem.key(limit));
}

CollectiveRun run_alone(const CollectiveJob& job, Solver& solver, activities::ClusterProblem& problem) {
  std::optional<CollectiveRun> likeliest = likeliest_run(job, solver);
  if (!likeliest) return run_planned(job, solver, problem);
  CollectiveJob chosen = job;
  chosen.algorithm = likeliest->plan.choice.algorithm;
  chosen.protocol = likeliest->plan.choice.protocol;
  CollectiveRun run = run_planned(chosen, solver, problem);
  run.plan.choice.why = likeliest->plan.choice.why;
  run.share = likeliest->share;
  run.row = likeliest->row;
  run.choice = likeliest->choice;
  run.instead = std::move(likeliest->instead);
  return run;
}

CollectiveRun run_alone(const CollectiveJob& job, Solver& solver, MessageParts wanted) {
  if (job.of_rounds()) return run_rounds(job, solver);
  if (job.of_messages() && !job.one_node()) return run_between(job, solver, wanted);
  if (std::optional<CollectiveRun> likeliest = likeliest_run(job, solver)) return *std::move(likeliest);
  activities::ClusterProblem problem(job.machine);
  return run_planned(job, solver, problem);
}

namespace {

SharedRun activities_to_share(const CollectiveJob& job, Solver& solver) {
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
  problem.keep_adaptive_crossings();
  SharedRun shared{run_alone(job, solver, problem), {}};
  shared.plan.activities = problem.problem().activities;
  shared.plan.crossings = problem.adaptive_crossings();
  for (Activity& activity : shared.plan.activities) {
    work::look();
    if (activity.after.empty()) activity.delay_s += shared.run.plan.latency_s;
    activity.delay_s *= shared.run.choice;
    activity.work_B *= shared.run.choice;
    for (Use& use : activity.uses) use.constraint = problem.key(use.constraint);
  }
  // Between nodes nobody measured it. source: two all_reduces on four H100 353 GB/s of a GPU together, 335 alone and
  // 367 on its links; all_gather with reduce_scatter 340 (calibrate/data/h100-four/20261127a-nccl_contention.json)
  constexpr double kHalf = 0.5;
  hold_back(job.machine, shared.run.stretch, job.one_node() ? kHalf : 0, shared.plan);
  if (job.one_node()) share_by_limits(shared.plan);
  return shared;
}

}  // namespace

SharedRun run_to_share(const CollectiveJob& job, Solver& solver) {
  SharedRun shared = activities_to_share(job, solver);
  shared.plan.latency_s = shared.run.choice * shared.run.plan.latency_s;
  shared.plan.alone_s = shared.run.time_s();
  return shared;
}

void share(const CollectiveJob& job, const Cluster& shared, activities::Plan& plan) {
  const SharedKeys keys(job, shared);
  activities::renumber(plan, keys);
  for (activities::FabricCrossing& one : plan.crossings) {
    one.from = keys.endpoint(one.from);
    one.to = keys.endpoint(one.to);
  }
}

std::vector<Contended> run_together(const std::vector<CollectiveJob>& jobs, const Cluster& shared_machine,
                                    Solver& solver) {
  std::vector<activities::Plan> plans;
  std::vector<Contended> all;
  for (const CollectiveJob& job : jobs) {
    SharedRun shared = run_to_share(job, solver);
    share(job, shared_machine, shared.plan);
    plans.push_back(std::move(shared.plan));
    all.push_back({shared.run, std::move(shared.run), false});
  }
  activities::settle_together(shared_machine, plans);
  activities::PlanProblem problem(shared_machine);
  std::vector<std::vector<int>> places;
  for (const activities::Plan& plan : plans) places.push_back(problem.add(plan));
  const Solution solution = solver.run(problem.problem());
  for (std::size_t i = 0; i < all.size(); ++i) {
    read_shared(problem, solution, places[i], all[i].together);
    all[i].shared_late = solution.late_shares > 0;
  }
  return all;
}

}  // namespace linkcast::collective
