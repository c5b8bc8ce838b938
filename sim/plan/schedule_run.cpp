#include "sim/plan/schedule_run.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/plan/wire_bound.hpp"

namespace linkcast::activities {
namespace {

// Wall time bounds these. source: ours; messages of which every one is simulated, messages that are counted in steady
// state, and shares of messages on different ways between two NICs
constexpr double kStepByStep = 5000, kSteady = 100000, kShares = 1.5e6;
constexpr double kFewestWays = 8;  // source: as above
constexpr double kFull = 0.99;     // source: ours, of the fullest constraint: others as full are named too
constexpr int kFewestRounds = 3;
constexpr int kDoublings = 31;  ///< rounds at most of those that double or halve something: none stands for another

/// One round of many, and how many it stands for.
struct Stratum {
  int index = 0;
  double weight = 1;
};

/// `most` of `count` rounds: those at both ends for themselves, since in them ranks of one node talk to each other, and
/// middles of equal parts for the rest.
std::vector<Stratum> strata(int count, int most, int edge) {
  std::vector<Stratum> found;
  const auto single = [&](int begin, int end) {
    for (int i = begin; i < end; ++i) found.push_back({i, 1});
  };
  if (count <= most) {
    single(0, count);
    return found;
  }
  edge = std::min(edge, (most - 1) / 2);
  single(0, edge);
  const int parts = most - 2 * edge, between = count - 2 * edge;
  for (int part = 0; part < parts; ++part) {
    const double begin = static_cast<double>(part) * between / parts;
    const double end = static_cast<double>(part + 1) * between / parts;
    found.push_back({edge + static_cast<int>((begin + end) / 2), end - begin});
  }
  single(count - edge, count);
  return found;
}

/// Messages of one problem, each after those that its two ranks sent and received before. An eager message waits for
/// its sender alone, which goes on when it has posted it; the receiver takes it when it has come to that round itself.
class Steps {
 public:
  /// @param problem  empty. @param chained  rounds follow each other, and are not counted each for itself
  Steps(const ScheduleJob& job, ClusterProblem& problem, ScheduleTimes& times, bool chained)
      : job_(job),
        times_(times),
        problem_(problem),
        chained_(chained),
        before_(job.ranks.size()),
        now_(job.ranks.size()),
        posted_(job.ranks.size()) {}

  /// @param weight  rounds that it stands for. @param position  rounds that its ranks have posted before it
  void add(const Phase& phase, int round, double weight, int position) {
    messages_.clear();
    phase.add(round, false, messages_);
    for (const ScheduledMessage& one : messages_) add(one, weight, position);
  }

  /// What follows waits for what was added, which shares the fabric with nothing else.
  void close() {
    problem_.settle();
    for (const std::size_t rank : busy_) {
      if (posted_[rank] > 0)
        now_[rank].push_back(add_step(before_[rank], posted_[rank] * job_.costs.post_s, &Chain::posting_s));
      before_[rank] = std::move(now_[rank]);
      now_[rank].clear();
      posted_[rank] = 0;
    }
    busy_.clear();
  }

  /// Runs what was added.
  void run(Solver& solver) {
    if (problem_.problem().activities.empty()) return;
    const Solution solution = solver.run(problem_.problem());
    note(solution.makespan_s, 1);
    times_.wire_s = problem_.wire_bound_s();
    for (std::size_t i = 0; i < solution.limited_by.size(); ++i)
      if (solution.limited_by[i] != kOwnCap)
        times_.limit_B[problem_.key(solution.limited_by[i])] += problem_.problem().activities[i].work_B;
  }

  /// What was added, all at once, takes as long as its slowest message alone or its fullest constraint: none is faster,
  /// and where loads are even all are as fast. @param weight  of this time. @param round_trip  of eager messages round
  /// a ring, again and again: each chain of them takes all hops in turn, so that their mean counts
  void count(double weight, bool round_trip) {
    const Problem& problem = problem_.problem();
    if (problem.activities.empty()) return;
    std::vector<double> load_B(problem.capacity_Bps.size(), 0);
    double slowest_s = 0, sum_s = 0, soonest_s = std::numeric_limits<double>::infinity();
    for (const Activity& one : problem.activities) {
      double rate = one.rate_cap_Bps;
      for (const Use& use : one.uses) {
        load_B[static_cast<std::size_t>(use.constraint)] += use.weight * one.work_B;
        rate = std::min(rate, problem.capacity_Bps[static_cast<std::size_t>(use.constraint)] / use.weight);
      }
      slowest_s = std::max(slowest_s, one.delay_s + one.work_B / rate);
      sum_s += one.delay_s + one.work_B / rate;
      soonest_s = std::min(soonest_s, one.delay_s);
    }
    if (round_trip && largest_B_ <= job_.costs.eager_B)
      slowest_s = sum_s / static_cast<double>(problem.activities.size());
    double fullest_s = 0;
    for (std::size_t c = 0; c < load_B.size(); ++c)
      fullest_s = std::max(fullest_s, load_B[c] / problem.capacity_Bps[c]);
    times_.chain_B += weight * largest_B_;
    for (std::size_t c = 0; c < load_B.size(); ++c)
      times_.load_B[problem_.key(static_cast<int>(c))] += weight * load_B[c];
    for (std::size_t c = 0; c < load_B.size(); ++c)
      if (load_B[c] / problem.capacity_Bps[c] > kFull * std::max(fullest_s, slowest_s - soonest_s))
        times_.limit_B[problem_.key(static_cast<int>(c))] += weight * load_B[c];
    note(std::max(slowest_s, soonest_s + fullest_s), weight);
  }

 private:
  void note(double time_s, double weight) {
    times_.time_s += weight * time_s;
    const Chain& longest = *std::max_element(latency_.begin(), latency_.end(), shorter);
    times_.latency_s += weight * longest.latency_s;
    times_.posting_s += weight * longest.posting_s;
    times_.starting_s += weight * longest.starting_s;
    times_.delay_error_s += weight * longest.error_s;
    if (times_.first_s == 0) times_.first_s = longest.first_s;
    times_.combine_s += weight * *std::max_element(combine_.begin(), combine_.end());
  }

  void add(const ScheduledMessage& one, double weight, int position) {
    const auto from = static_cast<std::size_t>(one.from), to = static_cast<std::size_t>(one.to);
    const double bytes = one.share * job_.size_B;
    largest_B_ = std::max(largest_B_, bytes);
    const double adding = one.combines ? job_.combine.adding_s(bytes) : 0;
    const double reducing = one.combines ? job_.combine.time_s(bytes) : 0;
    const bool eager = chained_ && bytes <= job_.costs.eager_B;
    std::vector<int> after = before_[from];
    if (!eager) after.insert(after.end(), before_[to].begin(), before_[to].end());
    std::sort(after.begin(), after.end());
    after.erase(std::unique(after.begin(), after.end()), after.end());
    auto [chain, combine] = longest(after);
    Message message{job_.ranks[from], job_.ranks[to], bytes, "", eager ? 0 : reducing, weight};
    const double posting = position * post_s(message);
    message.wait_s += posting;
    message.inside = job_.costs.inside;
    message.nics = job_.costs.nics;
    if (message.from.node != message.to.node) message.transport = job_.transport;
    const PlannedMessage plan = add_message(problem_, message, std::move(after));
    const double delay = problem_.delay_s(plan.activity);
    chain.latency_s += delay - (eager ? 0 : adding);
    chain.posting_s += posting;
    chain.error_s += plan.delay_error_s;
    chain.starting_s += eager ? 0 : reducing - adding;
    if (chain.first_s == 0) chain.first_s = delay - posting - (eager ? 0 : reducing);
    latency_.push_back(chain);
    combine_.push_back(combine + (eager ? 0 : reducing));
    now(to).push_back(plan.activity);
    if (!eager) now(from).push_back(plan.activity);
    if (eager) ++posted_[busy(from)];
    if (eager && reducing > 0) reduce(to, plan.activity, reducing, adding);
    times_.transport_B[plan.transport] += weight * bytes;
    times_.stand_in = times_.stand_in || plan.stand_in;
    times_.rate_error = std::max(times_.rate_error, plan.rate_error);
  }

  /// Between two messages that a rank posts: a copy inside the node it has to issue as well.
  [[nodiscard]] double post_s(const Message& message) const {
    const Platform& node = job_.cluster.node();
    if (message.from.node != message.to.node) return job_.costs.post_s;
    const InsideTurn turn = inside_turn(node, message);
    return turn.copied ? std::max(job_.costs.post_s, issue_cost(node, turn.by_kernel).time_s) : job_.costs.post_s;
  }

  /// Delays one after the other, in seconds, parts of them, and their error.
  struct Chain {
    double latency_s = 0, first_s = 0, posting_s = 0, starting_s = 0, error_s = 0;  ///< as in ScheduleTimes
  };
  static bool shorter(const Chain& a, const Chain& b) { return a.latency_s < b.latency_s; }

  /// Longest chains of delays and of reducing among these activities.
  [[nodiscard]] std::pair<Chain, double> longest(const std::vector<int>& activities) const {
    Chain latency;
    double combine = 0;
    for (const int one : activities) {
      if (shorter(latency, latency_[static_cast<std::size_t>(one)])) latency = latency_[static_cast<std::size_t>(one)];
      combine = std::max(combine, combine_[static_cast<std::size_t>(one)]);
    }
    return {latency, combine};
  }

  /// Something that a rank does and that moves no bytes. @param part  of a chain that it is. @returns its activity
  int add_step(const std::vector<int>& after, double delay_s, double Chain::*part) {
    auto [chain, combine] = longest(after);
    chain.latency_s += delay_s;
    chain.*part += delay_s;
    latency_.push_back(chain);
    combine_.push_back(combine);
    Activity step;
    step.delay_s = delay_s;
    step.after = after;
    return problem_.add(std::move(step));
  }

  /// The last message of now_[rank] came eagerly: it is reduced when the rank has come to this round.
  void reduce(std::size_t rank, int message, double reducing, double adding) {
    std::vector<int> after = before_[rank];
    after.push_back(message);
    now_[rank].back() = add_step(after, reducing, &Chain::starting_s);
    latency_.back().latency_s -= adding;
    latency_.back().starting_s -= adding;
    combine_.back() += reducing;
  }

  std::size_t busy(std::size_t rank) {
    if (now_[rank].empty() && posted_[rank] == 0) busy_.push_back(rank);
    return rank;
  }
  std::vector<int>& now(std::size_t rank) { return now_[busy(rank)]; }

  const ScheduleJob& job_;
  ScheduleTimes& times_;
  ClusterProblem& problem_;
  bool chained_;
  std::vector<std::vector<int>> before_, now_;  ///< per rank: activities of the last rounds, and of those being added
  std::vector<int> posted_;                     ///< per rank: eager messages since the last rounds
  std::vector<std::size_t> busy_;               ///< ranks with some in now_ or posted_
  std::vector<Chain> latency_;                  ///< per activity: longest chain of delays up to it
  std::vector<double> combine_;                 ///< the same of reducing
  std::vector<ScheduledMessage> messages_;
  double largest_B_ = 0;  ///< of a message
};

/// Of the fullest phase's first round.
double messages_a_round(const Phase& phase) {
  if (phase.rounds == 0) return 0;
  std::vector<ScheduledMessage> first, last;
  phase.add(0, false, first);
  phase.add(phase.rounds - 1, false, last);
  return static_cast<double>(std::max(first.size(), last.size()));
}

/// Groups of rounds that are posted together.
int groups_of(const Phase& phase) { return (phase.rounds + phase.at_once - 1) / phase.at_once; }

/// Of each kind between two NICs.
int ways_for(double messages) {
  return static_cast<int>(std::max(kFewestWays, kShares / std::min(std::max(messages, 1.0), kSteady)));
}

void add_all(const Schedule& schedule, Steps& steps) {
  for (const Phase& phase : schedule.phases) {
    for (int round = 0; round < phase.rounds; ++round) {
      steps.add(phase, round, 1, round % phase.at_once);
      if ((round + 1) % phase.at_once == 0 || round + 1 == phase.rounds) steps.close();
    }
  }
}

ScheduleTimes run_all(const ScheduleJob& job, const Schedule& schedule, Solver& solver, int most) {
  ScheduleTimes times;
  ClusterProblem problem(job.cluster, most);
  Steps steps(job, problem, times, true);
  add_all(schedule, steps);
  steps.run(solver);
  return times;
}

void add_times(const ScheduleTimes& part, ScheduleTimes& sum) {
  sum.time_s += part.time_s;
  sum.latency_s += part.latency_s;
  sum.posting_s += part.posting_s;
  sum.starting_s += part.starting_s;
  if (sum.first_s == 0) sum.first_s = part.first_s;
  sum.combine_s += part.combine_s;
  for (const auto& [transport, bytes] : part.transport_B) sum.transport_B[transport] += bytes;
  for (const auto& [key, bytes] : part.limit_B) sum.limit_B[key] += bytes;
  part.load_B.each([&](int key, double bytes) { sum.load_B[key] += bytes; });
  sum.chain_B += part.chain_B;
  sum.stand_in = sum.stand_in || part.stand_in;
  sum.rate_error = std::max(sum.rate_error, part.rate_error);
  sum.delay_error_s += part.delay_error_s;
}

void run_group(const ScheduleJob& job, const Phase& phase, const Stratum& group, int most, ScheduleTimes& times) {
  const int begin = group.index * phase.at_once;
  const int rounds = std::min(phase.at_once, phase.rounds - begin);
  const std::vector<Stratum> some = strata(rounds, most, job.per_node - 1);
  ScheduleTimes part;
  ClusterProblem problem(job.cluster, ways_for(static_cast<double>(some.size()) * messages_a_round(phase)));
  Steps steps(job, problem, part, false);
  for (const Stratum& round : some) steps.add(phase, begin + round.index, round.weight, round.index);
  steps.count(group.weight, phase.alike);
  add_times(part, times);
}

[[noreturn]] void refuse(const ScheduleJob& job) {
  throw InputError("nodes: " + std::to_string(job.ranks.size()) +
                   " ranks send too many messages: take an algorithm with fewer, see 'linkcast list algorithms'");
}

/// As if all ranks waited for each other after each group of rounds.
void run_phase(const ScheduleJob& job, const Phase& phase, double budget, ScheduleTimes& times) {
  if (phase.rounds == 0) return;
  if (phase.alike) return run_group(job, phase, {0, static_cast<double>(phase.rounds)}, 1, times);
  const double a_round = messages_a_round(phase);
  const bool doubling = phase.at_once == 1 && phase.rounds <= kDoublings;
  if (a_round * std::min(phase.rounds, doubling ? kDoublings : kFewestRounds) > (doubling ? 2 * kSteady : budget))
    refuse(job);
  const int samples =
      doubling ? phase.rounds : std::max(1, static_cast<int>(std::min<double>(budget / a_round, phase.rounds)));
  const int groups = std::min(groups_of(phase), std::max(1, samples / std::min(phase.at_once, kFewestRounds)));
  for (const Stratum& group : strata(groups_of(phase), groups, job.per_node - 1))
    run_group(job, phase, group, std::max(1, samples / groups), times);
}

ScheduleTimes run_steady(const ScheduleJob& job, const Schedule& schedule) {
  ScheduleTimes times;
  for (const Phase& phase : schedule.phases)
    run_phase(job, phase, kSteady / static_cast<double>(schedule.phases.size()), times);
  times.steady = true;
  times.load_B.each([&](int key, double bytes) {
    if (!is_hashed(job.cluster, key)) times.wire_s = std::max(times.wire_s, bytes / nominal_Bps(job.cluster, key));
  });
  return times;
}

}  // namespace

ClusterProblem schedule_problem(const ScheduleJob& job, const Schedule& schedule) {
  double messages = 0;
  for (const Phase& phase : schedule.phases) messages += phase.rounds * messages_a_round(phase);
  if (messages > kStepByStep) refuse(job);
  ClusterProblem problem(job.cluster, ways_for(messages));
  problem.keep_crossings();
  ScheduleTimes times;
  Steps steps(job, problem, times, true);
  add_all(schedule, steps);
  return problem;
}

ScheduleTimes run_schedule(const ScheduleJob& job, const Schedule& schedule, Solver& solver, Rounds rounds) {
  double messages = 0;
  int groups = 0;
  for (const Phase& phase : schedule.phases) {
    groups += groups_of(phase);
    messages += phase.rounds * messages_a_round(phase);
  }
  const bool all = rounds == Rounds::kAll || (rounds == Rounds::kAsMany && messages <= kStepByStep);
  ScheduleTimes times = all ? run_all(job, schedule, solver, ways_for(messages)) : run_steady(job, schedule);
  times.rounds = groups;
  times.combine = job.combine;
  return times;
}

}  // namespace linkcast::activities
