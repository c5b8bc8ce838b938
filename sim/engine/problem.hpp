#pragma once
// The engine's language: constraints with a capacity, and activities that consume them. Nothing here knows what a GPU
// is.
#include <limits>
#include <string>
#include <vector>

namespace linkcast {

/// An activity moves `work_B` bytes and consumes weight x rate of a constraint while it does.
/// source of weights: a route that lists a link w times consumes w times (see tests/physics).
struct Use {
  int constraint = 0;
  double weight = 1;
};

inline constexpr int kNoTrunk = -1;

/// One step of a transfer. It starts when all of `after` are done and it holds all of `queues`;
/// then `delay_s` passes during which nothing is consumed; then the bytes flow at the max-min fair rate.
struct Activity {
  double delay_s = 0;                                             ///< start-up latency, >= 0
  double work_B = 0;                                              ///< bytes to move, >= 0
  double rate_cap_Bps = std::numeric_limits<double>::infinity();  ///< never faster than this
  std::vector<Use> uses{};                                        ///< each constraint at most once
  std::vector<int> after{};                                       ///< activities that must be finished first
  /// Exclusive first-in-first-out servers (copy engines), all held from before the delay until the end.
  /// An activity queues at all of them at the moment it becomes ready; ties go to the lower index.
  std::vector<int> queues{};
  int trunk = kNoTrunk;  ///< of Problem::trunks: what it uses besides
};

struct Problem {
  std::vector<double> capacity_Bps;  ///< per constraint, > 0
  int queue_count = 0;
  std::vector<Activity> activities;
  /// Uses that many activities have in common, as all messages from one switch to another. Constraints of trunks are of
  /// trunks alone.
  std::vector<std::vector<Use>> trunks{};
};

/// The same without trunks: each activity has what it uses by itself.
Problem without_trunks(Problem problem);

/// limited_by value of an activity that ran at its own rate cap, or moved nothing.
inline constexpr int kOwnCap = -1;

struct Solution {
  std::vector<double> start_s;    ///< per activity: when it held its queues and its delay began
  std::vector<double> finish_s;   ///< per activity
  std::vector<double> carried_B;  ///< per constraint: integral of consumption over time
  /// Per activity: constraint that limited it for most of its bytes, or kOwnCap.
  std::vector<int> limited_by;
  double makespan_s = 0;
  int late_shares = 0;  ///< times that rates were shared out a little after what changed them: ManyFlows
};

/// One way to run a Problem. Time starts at 0 in every run.
class Solver {
 public:
  Solver() = default;
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;
  virtual ~Solver() = default;
  /// Every result passes check_solution (check.hpp) before it is returned.
  /// @throws InvariantError  an activity never finishes (cyclic dependency), or an index is out of range
  virtual Solution run(const Problem& problem) = 0;
};

}  // namespace linkcast
