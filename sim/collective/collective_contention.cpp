#include "sim/collective/collective_contention.hpp"

#include <map>
#include <numeric>

#include "sim/units/index.hpp"

namespace linkcast::collective {
namespace {

/// The problem of all of them, and which constraint of the platform each of its constraints stands for.
struct Shared {
  Problem problem;
  std::vector<int> stands_for;
};

/// Blocks that wait for their turn move nothing, and others use the links meanwhile. So a collective gets at most what
/// it would get alone, waits included: it has limits of its own, lower than the links' by the same factor.
void hold_back(Shared& shared, const Run& alone, const Run& together) {
  if (alone.stretch <= 1) return;
  std::map<int, int> own;  // by constraint
  for (const int index : together.activities) {
    Activity& activity = shared.problem.activities[at(index)];
    activity.rate_cap_Bps /= alone.stretch;
    const std::vector<Use> uses = activity.uses;
    for (const Use& use : uses) {
      const auto [limit, added] = own.try_emplace(use.constraint, static_cast<int>(shared.stands_for.size()));
      if (added) {
        shared.stands_for.push_back(use.constraint);
        shared.problem.capacity_Bps.push_back(shared.problem.capacity_Bps[at(use.constraint)] / alone.stretch);
      }
      activity.uses.push_back({limit->second, use.weight});
    }
  }
}

}  // namespace

std::vector<Contended> run_together(const std::vector<Job>& jobs, Solver& solver) {
  activities::ProblemBuilder builder(jobs.front().platform);
  std::vector<Contended> all;
  for (const Job& job : jobs) all.push_back({run_alone(job, solver), prepare(job, builder)});
  Shared shared{builder.problem(), {}};
  shared.stands_for.resize(shared.problem.capacity_Bps.size());
  std::iota(shared.stands_for.begin(), shared.stands_for.end(), 0);
  for (const auto& [alone, together] : all) {
    for (const int activity : together.activities) shared.problem.activities[at(activity)].delay_s = together.latency_s;
    hold_back(shared, alone, together);
  }
  Solution solution = solver.run(shared.problem);
  for (int& limit : solution.limited_by)
    if (limit != kOwnCap) limit = shared.stands_for[at(limit)];
  for (Contended& one : all) {
    read_times(solution, one.together);
    one.together.flow_s -= one.together.latency_s;
  }
  return all;
}

}  // namespace linkcast::collective
