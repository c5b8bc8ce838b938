#include "sim/collective/collective_load.hpp"

#include <algorithm>
#include <utility>

#include "sim/congestion/jobs_beside.hpp"

namespace linkcast::collective {
namespace {

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
    const congestion::Slowdown none = [](const NoisyWay&) { return 1; };
    congestion::Slowdown beside = none;
    if (!load_.beside.empty()) {
      beside = congestion::slowed_beside({problem_, run_.flow_s, job_.communicator.gpus, job_.communicator.nodes},
                                         load_, out);
      solve(beside);
      out["alone_s"] = lone.time_s();
      out["slowdown"] = run_.time_s() / lone.time_s();
    }
    if (!load_.noise) return run_;
    const CollectiveRun quiet = run_;
    if (!load_.beside.empty())
      out["alone_s"] = congestion::percentile(draws(lone, none), 50).time_s();  // in the same noise
    const congestion::SampleTimes times = draws(quiet, beside);
    const congestion::SampleTime& median = congestion::percentile(times, 50);
    sample(Background(*load_.noise, load_.seed, median.sample), quiet, beside);
    if (!load_.beside.empty()) out["slowdown"] = median.time_s() / out["alone_s"].get<double>();
    congestion::put_percentiles(out, load_, times, quiet.time_s());
    return run_;
  }

 private:
  CollectiveRun run_lone() {
    if (!job_.of_messages()) return run_alone(job_, solver_, problem_);
    MessageAnswer answer = run_each_message(job_, {}, problem_, solver_);
    CollectiveRun run{answer.made, answer.flow_s, 1, answer.limits};
    run.messages = std::move(answer);
    return run;
  }
  void solve(const congestion::Slowdown& slowdown) {
    const Solution solution = solver_.run(slowed_->slowed(slowdown));
    if (!job_.of_messages()) return read_solution(job_, problem_, solution, run_);
    run_.flow_s = solution.makespan_s;
    run_.limited_by = run_.messages->limits = last_limits(problem_, solution);
  }

  congestion::SampleTime sample(const Background& background, const CollectiveRun& without,
                                const congestion::Slowdown& others) {
    if (!load_.noisy()) return {without.made.latency_s, without.flow_s};
    solve([&](const NoisyWay& way) { return others(way) * background.slowdown(way); });
    const auto wait_s = [&](int from, int to) { return background.wait_s(noisy_way(job_.machine.fabric(), from, to)); };
    run_.made.latency_s = without.made.latency_s + waits_s(job_, without.made, wait_s);
    return {run_.made.latency_s, run_.flow_s};
  }

  congestion::SampleTimes draws(const CollectiveRun& without, const congestion::Slowdown& others) {
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
  const double latency_s = run.made.latency_s, flow_s = run.flow_s, quiet_s = run.time_s();
  const congestion::BusyLinks& busy = *run.messages->busy;
  const congestion::SampleTimes times =
      congestion::draw_samples(load, [&](const Background& background) -> congestion::SampleTime {
        if (!load.noisy()) return {latency_s, flow_s};
        const double busy_s = busy.busiest_s([&](const NoisyWay& way) { return background.slowdown(way); });
        double wait_s = 0;
        for (const NoisyWay& way : busy.last()) wait_s = std::max(wait_s, background.wait_s(way));
        return {latency_s + wait_s, std::max(flow_s, busy_s)};
      });
  run.made.latency_s = congestion::percentile(times, 50).latency_s;
  run.flow_s = congestion::percentile(times, 50).flow_s;
  congestion::put_percentiles(out, load, times, quiet_s);
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

}  // namespace

CollectiveForecast forecast_in_load(const CollectiveJob& job, const congestion::NetworkLoad& load, Solver& solver) {
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
