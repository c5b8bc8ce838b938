#pragma once
// What one operation puts on a machine, whoever plays it: alone, beside others that begin at the same moment, or as
// flows that come while others run. A machine is a cluster; a node is a cluster of one, whose keys are its constraints.
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/base/limits.hpp"
#include "sim/engine/problem.hpp"
#include "sim/machine/cluster.hpp"

namespace linkcast::activities {

/// The ends of a 90 % interval as multiples of the time that it is around.
struct Spread {
  double low = 1, high = 1;
};

/// A constraint of operations that carries no bytes: the most that one gets of a link on which nothing else runs, or
/// what several get of it together.
struct OwnLimit {
  double capacity_Bps = 0;
  int key = 0;          ///< of the machine's constraint that it stands for
  bool common = false;  ///< the same for all plans that have such a one of this key
};

/// A Use of a plan has a key of the machine (Cluster::key, ...) as its constraint, or that of one of its own limits.
constexpr int own_limit(int place) { return -1 - place; }
constexpr bool is_own_limit(int constraint) { return constraint < 0; }

/// Bytes of an activity from one endpoint of the machine's fabric to another, adaptively routed.
struct FabricCrossing {
  int activity = 0, from = 0, to = 0;
  double weight = 0;  ///< bytes per byte of the activity
};

struct Plan {
  std::vector<Activity> activities{};  ///< start-ups are their delays; `after` counts within this list
  std::vector<OwnLimit> own_limits{};
  std::vector<FabricCrossing> crossings{};  ///< whose routes depend on concurrent traffic
  double latency_s = 0;                     ///< of alone_s, before and beside the bytes
  double alone_s = 0;                       ///< with nothing else going on
  Spread spread{};                          ///< of alone_s
  std::set<std::string> warnings{};
};

/// A plan of one machine becomes one of another: what its activities use, and what its own limits stand for.
/// @param key_of  the other machine's key of a key
template <class KeyOf>
void renumber(Plan& plan, const KeyOf& key_of) {
  for (Activity& activity : plan.activities) {
    work::look();
    for (Use& use : activity.uses)
      if (!is_own_limit(use.constraint)) use.constraint = key_of(use.constraint);
  }
  for (OwnLimit& limit : plan.own_limits) limit.key = key_of(limit.key);
}

/// One activity that takes of each link what all of a plan's do, bytes of the longest chain of them one after the
/// other: rounds of messages to others who meet them at any moment. Without start-ups and limits of its own.
Activity average_of(const Plan& plan);

/// Plans that begin together, as one Problem.
class PlanProblem {
 public:
  /// Of one node all constraints are in the Problem, with their own numbers; of several those in use.
  explicit PlanProblem(const Cluster& machine);
  /// @returns  places of its activities in the Problem
  std::vector<int> add(const Plan& plan);
  [[nodiscard]] const Problem& problem() const { return problem_; }
  /// Key of the machine that a constraint of the Problem is or stands for.
  [[nodiscard]] int key(int constraint) const { return keys_[static_cast<std::size_t>(constraint)]; }

 private:
  int add_constraint(int key, double capacity_Bps);
  int number(int key);
  int limit(const OwnLimit& own);

  const Cluster& machine_;
  Problem problem_;
  std::vector<int> keys_;                ///< by constraint of the Problem
  std::unordered_map<int, int> number_;  ///< by key
  std::unordered_map<int, int> common_;  ///< by key: limits of several plans
};

}  // namespace linkcast::activities
