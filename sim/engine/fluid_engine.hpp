#pragma once
#include <limits>
#include <vector>

#include "sim/engine/event_heap.hpp"
#include "sim/engine/max_min.hpp"
#include "sim/engine/problem.hpp"
#include "sim/engine/scheduler.hpp"

namespace linkcast {

/// The engine: activities on max-min fair constraints and first-in-first-out queues, event by event. Either those of a
/// Problem, all of which come at time 0, or others that come at any time; then memory is that of what runs at once.
/// Whoever drives it owns the loop:
///   while (engine.next_event_s() < infinity) engine.advance(engine.next_event_s());
///   engine.check_all_ended();
/// Every end is checked against its wire bound and its bytes.
class FluidEngine {
 public:
  explicit FluidEngine(std::vector<double> capacity_Bps = {});
  FluidEngine(const FluidEngine&) = delete;
  FluidEngine& operator=(const FluidEngine&) = delete;
  ~FluidEngine() = default;

  /// Forgets everything; all of `problem`, which outlives the run, comes at time 0. Handles are its indices. Buffers
  /// are kept: a run of a size seen before allocates nothing.
  /// @throws InvariantError  see check_problem
  void load(const Problem& problem);

  // Later activities. None of these after load().

  /// @returns  its index: of the last one that was removed, or a new one
  int add_constraint(double capacity_Bps);
  /// No activity that runs uses it.
  void remove_constraint(int constraint);
  /// @returns  its index
  int add_queue() { return own_.queue_count++; }
  /// @param what  `after` are handles of what has not ended. @returns a handle, valid until it has ended
  int start(const Activity& what);

  [[nodiscard]] double now_s() const { return now_s_; }
  /// When an activity begins to move or ends next; infinite when nothing runs.
  double next_event_s();
  /// Moves the clock there, which is not beyond next_event_s(), and handles all that happens then.
  /// @throws InvariantError  an activity ended before its wire bound, or without all its bytes
  void advance(double to_s);
  /// Activities that ended in the last load() or advance(); the next call replaces them.
  [[nodiscard]] const std::vector<int>& ended() const { return ended_; }

  // State of an activity that runs or has just ended.

  /// When it held its queues and its delay began.
  [[nodiscard]] double start_s(int handle) const { return flows_[static_cast<std::size_t>(handle)].start_s; }
  /// Constraint that limited it for most of its bytes, or kOwnCap. Once ended.
  [[nodiscard]] int limited_by(int handle) const { return flows_[static_cast<std::size_t>(handle)].limiter; }

  /// Activities that came and have not ended.
  [[nodiscard]] int unfinished() const { return scheduler_.unfinished(); }
  /// Whether one holds the queue.
  [[nodiscard]] bool busy(int queue) const { return scheduler_.busy(queue); }
  [[nodiscard]] int constraints() const { return static_cast<int>(problem_->capacity_Bps.size()); }
  [[nodiscard]] double capacity_Bps(int constraint) const {
    return problem_->capacity_Bps[static_cast<std::size_t>(constraint)];
  }
  /// Bytes that each constraint carried until now. Asking changes no rounding of what follows.
  [[nodiscard]] std::vector<double> carried_B() const;

  /// @throws InvariantError  a constraint carried more than its capacity in the time, or not the bytes of what ended
  void check_carried() const;
  /// @throws InvariantError  besides, something has not ended
  void check_all_ended() const;

 private:
  static constexpr int kNone = -1;
  enum class Phase : char { waiting, delayed, flowing, finished };
  struct Tally {  // bytes that one flow moved while one constraint limited it
    double moved_B = 0;
    int limiter = kOwnCap;
    int older = kNone;  // in tallies_
  };
  struct Flow {
    double left_B = 0;
    double moved_B = 0;
    double rate_Bps = 0;
    double updated_s = 0;  // left_B holds for this moment
    double start_s = 0;
    int limiter = kOwnCap;
    Tally tally;  // the newest; most flows have no other
    Phase phase = Phase::waiting;
  };
  struct Load {  // of a constraint, by what ended
    double carried_B = 0, asked_B = 0;
    double since_s = 0;
    int activities = 0;
  };

  void settle_moment();
  void begin(int activity);
  void start_flow(int activity);
  void end(int activity);
  void end_flow(int activity);
  void move_bytes(Flow& flow);
  void share();
  Tally& tally_of(Flow& flow);
  int take_tally(const Tally& tally);
  int count_tallies(Flow& flow);

  Problem own_;  // its activities are slots that activities take one after the other
  const Problem* problem_ = &own_;
  double now_s_ = 0;
  Scheduler scheduler_;
  MaxMin max_min_;
  EventHeap events_;
  std::vector<Flow> flows_;  // per activity
  std::vector<Tally> tallies_;
  int free_tally_ = kNone;
  std::vector<Load> loads_;            // per constraint
  std::vector<int> free_;              // slots
  std::vector<int> free_constraints_;  // removed ones
  std::vector<int> ended_;             // in this moment
  std::size_t settled_ = 0;            // of these, known to the scheduler
  std::vector<int> started_;
};

}  // namespace linkcast
