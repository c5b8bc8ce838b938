#include "sim/engine/flow_record.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>

#include "sim/base/index.hpp"
#include "sim/base/input_error.hpp"

namespace linkcast {
namespace {

constexpr double kSame = 1e-9;  // source: what solvers agree to in tests/physics

void put(std::vector<int>& list, int number, int value) {
  if (list.size() <= at(number)) list.resize(at(number) + 1);
  list[at(number)] = value;
}

/// Rate of an activity that nothing else holds up, bytes/s.
double lone_rate(const Problem& problem, const Activity& activity) {
  double rate_Bps = activity.rate_cap_Bps;
  for (const Use& use : activity.uses)
    rate_Bps = std::min(rate_Bps, problem.capacity_Bps[at(use.constraint)] / use.weight);
  return rate_Bps;
}

}  // namespace

void FlowRecord::add_constraint(int number, double capacity_Bps) {
  put(constraint_of_, number, static_cast<int>(problem_.capacity_Bps.size()));
  problem_.capacity_Bps.push_back(capacity_Bps);
}

/// Activities that come later than 0 wait for one that only takes this time.
int FlowRecord::begin_at(double now_s) {
  if (now_s == begin_s_) return begin_;
  begin_s_ = now_s;
  begin_ = static_cast<int>(problem_.activities.size());
  problem_.activities.push_back({.delay_s = now_s});
  ended_s_.push_back(now_s);
  return begin_;
}

void FlowRecord::start(int handle, const Activity& what, double now_s) {
  Activity activity = what;
  for (Use& use : activity.uses) use.constraint = constraint_of_[at(use.constraint)];
  for (int& before : activity.after) before = activity_of_[at(before)];
  const int begin = begin_at(now_s);
  if (activity.after.empty() && begin >= 0) activity.after = {begin};
  put(activity_of_, handle, static_cast<int>(problem_.activities.size()));
  problem_.activities.push_back(std::move(activity));
  ended_s_.push_back(-1);
}

void FlowRecord::end(int handle, double now_s) { ended_s_[at(activity_of_[at(handle)])] = now_s; }

void FlowRecord::check(Solver& solver, double now_s) const {
  Problem problem = problem_;
  for (std::size_t i = 0; i < ended_s_.size(); ++i) {
    Activity& activity = problem.activities[i];
    if (ended_s_[i] < 0) activity.work_B = std::min(activity.work_B, 2 * now_s * lone_rate(problem, activity));
  }
  const Solution solution = solver.run(problem);
  for (std::size_t i = 0; i < ended_s_.size(); ++i)
    if (ended_s_[i] >= 0 && !(std::abs(solution.finish_s[i] - ended_s_[i]) <= kSame * ended_s_[i]))
      throw InvariantError("activity " + std::to_string(i) + " of " + std::to_string(ended_s_.size()) + " ended at " +
                           std::to_string(ended_s_[i]) + " s, and by another solver at " +
                           std::to_string(solution.finish_s[i]) + " s");
}

}  // namespace linkcast
