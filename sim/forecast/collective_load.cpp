#include "sim/forecast/collective_load.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "sim/base/index.hpp"
#include "sim/plan/jobs_beside.hpp"
#include "sim/plan/noisy_message.hpp"

namespace linkcast::collective {
namespace {

// Bounds the wall time of noise: messages x square of those of the fullest round x samples. source: ours, about a
// minute; a draw of an alltoall of 2,256 messages at once takes 0.5 s, one of 4,556 takes 3.8 s
constexpr double kMostDrawn = 1.2e12;

/// Draws of the devices' time as a program sees them.
congestion::SampleTimes launched(const CollectiveJob& job, congestion::SampleTimes times) {
  for (congestion::SampleTime& time : times) time.latency_s += job.launched_s(time.time_s()) - time.time_s();
  return times;
}

/// What crosses the fabric is slowed down, and waits add to the latency. Of messages each is an activity; their noise
/// is that of the links they hold (messages_in_noise).
class InLoad {
 public:
  InLoad(const CollectiveJob& job, const congestion::NetworkLoad& load, Solver& solver)
      : job_(job), load_(load), solver_(solver), problem_(job.machine) {}

  CollectiveRun run(Json& out) {
    problem_.keep_crossings();
    const CollectiveRun lone = run_lone();
    run_ = lone;
    slowed_.emplace(problem_);
    const congestion::CrossingSlowdown none = [](const NoisyWay&, int) { return 1; };
    congestion::CrossingSlowdown beside = none;
    if (!load_.beside.empty()) {
      const std::size_t flows = problem_.problem().activities.size();
      beside = congestion::slowed_beside({problem_, job_.communicator.gpus, job_.communicator.nodes,
                                          std::vector<double>(flows, run_.flow_s), std::vector<int>(flows, 0)},
                                         load_, out);
      solve(beside);
      out["alone_s"] = job_.launched_s(lone.time_s());
      out["slowdown"] = job_.launched_s(run_.time_s()) / out["alone_s"].get<double>();
    }
    if (!load_.noise) return run_;
    const CollectiveRun quiet = run_;
    if (!load_.beside.empty())
      out["alone_s"] = job_.launched_s(congestion::percentile(draws(lone, none), 50).time_s());  // in the same noise
    const congestion::SampleTimes times = draws(quiet, beside);
    const congestion::SampleTime& median = congestion::percentile(times, 50);
    sample(Background(*load_.noise, load_.seed, median.sample), quiet, beside);
    if (!load_.beside.empty()) out["slowdown"] = job_.launched_s(median.time_s()) / out["alone_s"].get<double>();
    congestion::put_percentiles(out, load_, launched(job_, times), job_.launched_s(quiet.time_s()));
    return run_;
  }

 private:
  CollectiveRun run_lone() {
    if (!job_.of_messages()) return run_alone(job_, solver_, problem_);
    MessageAnswer answer = run_each_message(job_, {}, problem_, solver_);
    CollectiveRun run{answer.plan, answer.flow_s, answer.wire_s, 1, answer.limits};
    run.messages = std::move(answer);
    return run;
  }
  void solve(const congestion::CrossingSlowdown& slowdown) {
    const Solution solution = solver_.run(slowed_->slowed(slowdown));
    if (!job_.of_messages()) return read_solution(job_, problem_, solution, run_);
    run_.flow_s = solution.makespan_s;
    run_.limited_by = run_.messages->limits = last_limits(problem_, solution);
  }

  congestion::SampleTime sample(const Background& background, const CollectiveRun& without,
                                const congestion::CrossingSlowdown& others) {
    const double choice = without.choice;
    if (!load_.noisy()) return {choice * without.plan.latency_s, choice * without.flow_s};
    solve([&](const NoisyWay& way, int activity) { return others(way, activity) * background.slowdown(way); });
    const auto wait_s = [&](int from, int to) { return background.wait_s(noisy_way(job_.machine.fabric(), from, to)); };
    run_.plan.latency_s = without.plan.latency_s + without.plan.choice.runs().first_byte_s(job_, wait_s);
    return {choice * run_.plan.latency_s, choice * run_.flow_s};
  }

  congestion::SampleTimes draws(const CollectiveRun& without, const congestion::CrossingSlowdown& others) {
    return congestion::draw_samples(load_,
                                    [&](const Background& background) { return sample(background, without, others); });
  }

  const CollectiveJob& job_;
  const congestion::NetworkLoad& load_;
  Solver& solver_;
  activities::ClusterProblem problem_;
  std::optional<congestion::SlowedProblem> slowed_;
  CollectiveRun run_;
};

/// The busiest link is held for longer, and each rank's last message waits: with the run of the median draw.
CollectiveRun messages_in_noise(const CollectiveJob& job, const congestion::NetworkLoad& load, Solver& solver,
                                Json& out) {
  CollectiveRun run = run_alone(job, solver, MessageParts{true, false});
  const double latency_s = run.plan.latency_s, flow_s = run.flow_s, quiet_s = run.time_s();
  const congestion::BusyLinks& busy = *run.messages->busy;
  const congestion::SampleTimes times =
      congestion::draw_samples(load, [&](const Background& background) -> congestion::SampleTime {
        if (!load.noisy()) return {latency_s, flow_s};
        const double busy_s = busy.busiest_s([&](const NoisyWay& way) { return background.slowdown(way); });
        double wait_s = 0;
        for (const NoisyWay& way : busy.last()) wait_s = std::max(wait_s, background.wait_s(way));
        return {latency_s + wait_s, std::max(flow_s, busy_s)};
      });
  run.plan.latency_s = congestion::percentile(times, 50).latency_s;
  run.flow_s = congestion::percentile(times, 50).flow_s;
  congestion::put_percentiles(out, load, launched(job, times), job.launched_s(quiet_s));
  return run;
}

/// Jobs beside slow single messages down, noise the bytes between two switches.
void check_messages_beside(const CollectiveJob& job, const congestion::NetworkLoad& load) {
  if (load.noise)
    throw InputError("beside: with noise it is for rings and trees: noise of " + job.op_name +
                     " is drawn for all messages between two switches together, jobs beside slow each by itself");
  if (job.engine == "reduced")
    throw InputError("engine: reduced takes messages together, and jobs beside slow each by itself: take direct");
  check_ranks(job, "jobs beside slow each message by itself");
}

/// Jobs beside it are on other nodes, and nothing of it crosses the fabric.
CollectiveForecast in_one_node(const CollectiveJob& job, const congestion::NetworkLoad& load, Solver& solver) {
  CollectiveForecast forecast = forecast_of(job, run_alone(job, solver));
  forecast.load = Json::object();
  if (!load.beside.empty()) {
    activities::ClusterProblem nothing(job.machine);
    static_cast<void>(congestion::slowed_beside({nothing, job.communicator.gpus, 1}, load, forecast.load));
    forecast.load["alone_s"] = forecast.time_s;
    forecast.load["slowdown"] = 1;
  }
  if (load.draws()) congestion::put_unmoved(forecast.load, load, forecast.time_s);
  forecast.warnings.emplace_back(congestion::kStaysInNode);
  return forecast;
}

/// Of each message: how many it waits for, one after the other.
std::vector<int> rounds_of(const std::vector<Activity>& messages) {
  std::vector<int> rounds;
  for (const Activity& message : messages) {
    int round = 0;
    for (const int before : message.after) round = std::max(round, rounds[at(before)] + 1);
    rounds.push_back(round);
  }
  return rounds;
}

/// Each draw plays all messages, and what one costs grows with those that move at the same time.
void check_draws(const std::vector<Activity>& messages, const congestion::NetworkLoad& load) {
  if (!load.noisy()) return;  // nothing is drawn
  std::map<int, int> of_round;
  int fullest = 0;
  for (const int round : rounds_of(messages)) fullest = std::max(fullest, ++of_round[round]);
  const int alike = load.beside.empty() ? 1 : 2;  // with the jobs beside it, and without
  const double most = kMostDrawn / alike / fullest / fullest / static_cast<double>(messages.size());
  if (load.samples <= most) return;
  throw InputError("samples: " + std::to_string(load.samples) + " draws of " + std::to_string(messages.size()) +
                   " messages, " + std::to_string(fullest) + " of them at once, take too long: " +
                   (most >= 1 ? "take at most " + std::to_string(static_cast<int>(most)) : "take fewer ranks"));
}

/// Of a schedule's messages: which round each is in, and how long its bytes move.
congestion::LoneJob lone_rounds(const CollectiveJob& job, activities::ClusterProblem& problem,
                                const Solution& solution) {
  const std::vector<Activity>& messages = problem.problem().activities;
  congestion::LoneJob lone{problem, job.communicator.gpus, job.communicator.nodes, {}, rounds_of(messages)};
  for (std::size_t i = 0; i < messages.size(); ++i)
    lone.moving_s.push_back(solution.finish_s[i] - solution.start_s[i] - messages[i].delay_s);
  return lone;
}

/// Rounds of messages: jobs beside slow each round down by itself.
CollectiveForecast rounds_in_load(const CollectiveJob& job, const congestion::NetworkLoad& load, Solver& solver) {
  const CollectiveRun lone = run_alone(job, solver);
  activities::ClusterProblem problem = scheduled_problem(job, *lone.scheduled);
  check_draws(problem.problem().activities, load);
  Json out = Json::object();
  congestion::CrossingSlowdown beside;
  CollectiveRun run = lone;
  const double copies_s = lone.scheduled->inside_s();
  if (!load.beside.empty()) {
    beside = congestion::slowed_beside(lone_rounds(job, problem, solver.run(problem.problem())), load, out);
    run.flow_s = congestion::slowed_messages_s(problem, beside, solver) + copies_s;
    out["alone_s"] = lone.time_s();
    out["slowdown"] = run.time_s() / lone.time_s();
  }
  if (load.noise) {
    const double quiet_s = run.time_s();
    congestion::SampleTimes times = congestion::noisy_message_times(problem, load, solver, beside);
    for (congestion::SampleTime& time : times) time.latency_s += copies_s;
    run.flow_s = congestion::percentile(times, 50).time_s();
    if (!load.beside.empty()) {  // in the same noise
      out["alone_s"] =
          congestion::percentile(congestion::noisy_message_times(problem, load, solver), 50).time_s() + copies_s;
      out["slowdown"] = run.time_s() / out["alone_s"].get<double>();
    }
    congestion::put_percentiles(out, load, times, quiet_s);
  }
  CollectiveForecast forecast = forecast_of(job, lone);
  forecast.interval.low_s *= run.time_s() / forecast.time_s;
  forecast.interval.high_s *= run.time_s() / forecast.time_s;
  const double more_s = run.time_s() - forecast.time_s;
  if (more_s > 0)
    forecast.terms.push_back({load.noise ? uncertainty::term::kNoise : uncertainty::term::kContention,
                              more_s,
                              {},
                              load.noise ? uncertainty::kScatter : uncertainty::kAssumed});
  else  // by rounding, and by another order of messages
    for (uncertainty::Term& term : forecast.terms) term.seconds *= run.time_s() / forecast.time_s;
  forecast.time_s = run.time_s();
  forecast.load = std::move(out);
  return forecast;
}

}  // namespace

CollectiveForecast forecast_in_load(const CollectiveJob& job, const congestion::NetworkLoad& load, Solver& solver) {
  if (job.one_node()) return in_one_node(job, load, solver);
  if (job.of_rounds()) return rounds_in_load(job, load, solver);
  Json out = Json::object();
  const bool messages = job.of_messages();
  if (messages && !load.beside.empty()) check_messages_beside(job, load);
  const CollectiveRun run =
      messages && load.beside.empty() ? messages_in_noise(job, load, solver, out) : InLoad(job, load, solver).run(out);
  CollectiveForecast forecast = forecast_of(job, run);
  forecast.load = std::move(out);
  return forecast;
}

}  // namespace linkcast::collective
