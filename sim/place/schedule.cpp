#include "sim/place/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>

#include "sim/base/random.hpp"
#include "sim/base/statistics.hpp"

namespace linkcast::scheduling {
namespace {

class Queue {
 public:
  Queue(const JobList& list, Machine& machine, Policy policy, std::uint64_t seed)
      : machine_(machine), policy_(policy), seed_(seed), free_(static_cast<std::size_t>(machine.gpus()), 1) {
    for (const ScheduledJob& job : list.jobs) {
      if (job.gpus > machine.gpus())
        throw InputError(fmt::format("job {} needs {} GPUs, the machine has {}", job.id, job.gpus, machine.gpus()));
      const double best_s = job.compute_s + machine.best_s(job);
      outcomes_.push_back({&job, {}, 0, 0, static_cast<double>(job.iterations) * best_s, 0});
    }
  }

  std::vector<JobOutcome> run(log::Progress& progress) {
    log::Work work(progress, "schedule " + policy_.name(), "jobs", static_cast<std::int64_t>(outcomes_.size()));
    std::size_t arrived = 0, ended = 0;
    while (ended < outcomes_.size()) {
      const double arrival_s = arrived < outcomes_.size() ? outcomes_[arrived].job->arrival_s : kNever_s;
      const double end_s = next_end_s();
      advance(std::min(arrival_s, end_s));
      if (end_s <= arrival_s)
        ended += finish();
      else
        waiting_.push_back(arrived++);
      start();
      work.advance(static_cast<std::int64_t>(ended));
    }
    return std::move(outcomes_);
  }

 private:
  static constexpr double kNever_s = std::numeric_limits<double>::infinity();
  struct Running {
    std::size_t number = 0;
    Allocation allocation{};
    double left = 0;  ///< iterations
  };

  [[nodiscard]] double next_end_s() const {
    double end_s = kNever_s;
    for (const Running& one : running_) end_s = std::min(end_s, now_s_ + one.left * one.allocation.iteration_s);
    return end_s;
  }
  void advance(double to_s) {
    for (Running& one : running_) one.left -= (to_s - now_s_) / one.allocation.iteration_s;
    now_s_ = to_s;
  }
  std::size_t finish() {
    constexpr double kNothing = 1e-6;  // source: ours, of an iteration: rounding of the sums of times
    std::size_t ended = 0;
    for (auto one = running_.begin(); one != running_.end();) {
      // The rest may be less than the clock can show: 1e-11 s at 34,450 s.
      if (one->left > kNothing && now_s_ + one->left * one->allocation.iteration_s > now_s_) {
        ++one;
        continue;
      }
      for (const int gpu : one->allocation.gpus) free_[static_cast<std::size_t>(gpu)] = 1;
      outcomes_[one->number].end_s = now_s_;
      one = running_.erase(one);
      ++ended;
    }
    if (ended == 0) throw InvariantError("schedule: a job that was to end did not");
    settle();
    return ended;
  }
  void start() {
    while (!waiting_.empty()) {
      const std::size_t number = waiting_.front();
      const ScheduledJob& job = *outcomes_[number].job;
      std::vector<const Allocation*> others;
      for (const Running& one : running_) others.push_back(&one.allocation);
      const auto gpus = machine_.choose(policy_, job, free_, others, joined(seed_, number));
      if (!gpus) return;
      waiting_.pop_front();
      for (const int gpu : *gpus) {
        if (free_.at(static_cast<std::size_t>(gpu)) == 0) throw InvariantError("schedule: a busy GPU was given away");
        free_[static_cast<std::size_t>(gpu)] = 0;
      }
      outcomes_[number].gpus = *gpus;
      outcomes_[number].start_s = now_s_;
      placement::Traffic traffic = machine_.traffic(job, *gpus);
      const double alone_s = job.compute_s + traffic.alone_s;
      outcomes_[number].alone_s = static_cast<double>(job.iterations) * alone_s;
      running_.push_back(
          {number, {*gpus, std::move(traffic), alone_s, job.compute_s}, static_cast<double>(job.iterations)});
      settle();
    }
  }
  /// Iterations of all as their neighbours are now. What each takes depends on how often the others exchange, and that
  /// on what they take: twice is enough, since a slower job also exchanges less often.
  void settle() {
    for (int round = 0; round < 2; ++round) {
      std::vector<double> next_s;
      for (const Running& one : running_) {
        std::vector<placement::Background> others;
        for (const Running& other : running_)
          if (&other != &one && !other.allocation.traffic.flows.empty())
            others.push_back({&other.allocation.traffic, other.allocation.iteration_s});
        next_s.push_back(
            outcomes_[one.number].job->compute_s +
            placement::call_s(one.allocation.traffic, others, [&](int key) { return machine_.capacity_Bps(key); }));
      }
      for (std::size_t i = 0; i < running_.size(); ++i) running_[i].allocation.iteration_s = next_s[i];
    }
  }

  Machine& machine_;
  Policy policy_;
  std::uint64_t seed_;
  std::vector<char> free_;
  std::vector<JobOutcome> outcomes_;
  std::deque<std::size_t> waiting_;
  std::vector<Running> running_;
  double now_s_ = 0;
};

Json spread(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  double sum = 0;
  for (const double value : values) sum += value;
  constexpr double kHalf = 0.5, kMost = 0.95;  // source: the percentiles' names
  return {{"mean", sum / static_cast<double>(values.size())},
          {"median", values[nearest_rank_place(values.size(), kHalf)]},
          {"p95", values[nearest_rank_place(values.size(), kMost)]},
          {"max", values.back()}};
}

}  // namespace

std::vector<JobOutcome> schedule(const JobList& list, Machine& machine, const std::string& policy, std::uint64_t seed,
                                 log::Progress& progress) {
  return Queue(list, machine, policy, seed).run(progress);
}

Json schedule_json(const std::vector<JobOutcome>& outcomes, int gpus) {
  Json out{{"jobs", Json::array()}};
  std::vector<double> slowdowns, alone, waits;
  double makespan_s = 0, busy_s = 0;
  for (const JobOutcome& one : outcomes) {
    const double wait_s = one.start_s - one.job->arrival_s, run_s = one.end_s - one.start_s;
    out["jobs"].push_back({{"id", one.job->id},
                           {"gpus", one.gpus},
                           {"wait_s", wait_s},
                           {"run_s", run_s},
                           {"ideal_s", one.ideal_s},
                           {"slowdown", one.slowdown()},
                           {"slowdown_alone", one.slowdown_alone()}});
    alone.push_back(one.slowdown_alone());
    slowdowns.push_back(one.slowdown());
    waits.push_back(wait_s);
    makespan_s = std::max(makespan_s, one.end_s);
    busy_s += run_s * static_cast<double>(one.gpus.size());
  }
  out["slowdown"] = spread(slowdowns);
  out["slowdown_alone"] = spread(alone);
  out["wait_s"] = spread(waits);
  out["makespan_s"] = makespan_s;
  out["utilisation"] = busy_s / (makespan_s * gpus);
  return out;
}

}  // namespace linkcast::scheduling
