#pragma once
#include <cstddef>
#include <vector>

#include "sim/engine/event_heap.hpp"
#include "sim/engine/event_source.hpp"
#include "sim/engine/max_min.hpp"
#include "sim/engine/problem.hpp"
#include "sim/engine/scheduler.hpp"

namespace linkcast {

/// Runs a Problem event by event on a clock of its own that starts at 0, so that a result never
/// depends on what ran before. Whoever drives it owns the loop:
///   solver.load(problem);
///   while (solver.next_event_s() < infinity) solver.advance();
///   Solution solution = solver.take_solution();
/// Buffers are kept between runs: a run of a size seen before allocates only its Solution.
class FluidSolver final : public EventSource {
 public:
  /// Resets the clock and starts what waits for nothing. `problem` outlives the run.
  /// @throws InvariantError  see check_problem
  void load(const Problem& problem);

  [[nodiscard]] double now_s() const override { return now_s_; }

  /// When something ends next; infinite when nothing runs. Shares the constraints first if a flow
  /// has come or gone.
  double next_event_s() override;

  /// Moves the clock to next_event_s(), which is finite, and handles all that happens then.
  void advance() override;

  /// @throws InvariantError  some activities never finished: their dependencies form a cycle
  Solution take_solution();

 private:
  enum class Phase : char { waiting, delayed, flowing, finished };
  struct Flow {
    double left_B = 0;
    double moved_B = 0;
    double rate_Bps = 0;
    double updated_s = 0;  // left_B holds for this moment
    int limiter = kOwnCap;
    int tally = -1;  // the newest in tallies_
    Phase phase = Phase::waiting;
  };
  struct Tally {  // bytes that one flow moved while one constraint limited it
    double moved_B = 0;
    int limiter = kOwnCap;
    int older = -1;
  };

  void settle_moment();
  void start(int activity);
  void start_flow(int activity);
  void end(int activity);
  void move_bytes(Flow& flow);
  void share();
  int main_limiter(const Flow& flow) const;

  const Problem* problem_ = nullptr;
  double now_s_ = 0;
  Scheduler scheduler_;
  MaxMin max_min_;
  EventHeap events_;
  std::vector<Flow> flows_;  // per activity
  std::vector<Tally> tallies_;
  std::vector<int> ended_;  // in this moment
  std::vector<int> batch_;  // ended, being handed to the scheduler
  std::vector<int> started_;
  Solution solution_;
};

}  // namespace linkcast
