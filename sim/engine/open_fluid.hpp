#pragma once
#include <limits>
#include <vector>

#include "sim/engine/event_heap.hpp"
#include "sim/engine/max_min.hpp"
#include "sim/engine/problem.hpp"

namespace linkcast {

/// Flows that come while others run, on max-min fair constraints, event by event. Unlike a Problem nothing has to be
/// known in advance; memory is that of the flows that run at once.
class OpenFluid {
 public:
  explicit OpenFluid(std::vector<double> capacity_Bps);
  OpenFluid(const OpenFluid&) = delete;
  OpenFluid& operator=(const OpenFluid&) = delete;
  ~OpenFluid() = default;

  /// @returns  its index
  int add_constraint(double capacity_Bps);
  /// @param what  its delay passes first; `after` and `queues` are empty. @returns a handle, valid until it has ended
  int start(const Activity& what);

  [[nodiscard]] double now_s() const { return now_s_; }
  /// When a flow begins to move or ends next; infinite when nothing runs.
  double next_event_s();
  /// Moves the clock there, which is not beyond next_event_s().
  /// @param ended  receives the handles of what ended, in order of their start; what it held is lost
  void advance(double to_s, std::vector<int>& ended);

  /// Bytes that each constraint carried until now. Asking changes no rounding of what follows.
  [[nodiscard]] std::vector<double> carried_B() const;
  [[nodiscard]] int constraints() const { return static_cast<int>(problem_.capacity_Bps.size()); }
  [[nodiscard]] double capacity_Bps(int constraint) const {
    return problem_.capacity_Bps[static_cast<std::size_t>(constraint)];
  }
  /// The constraint that limited the flow when it was last shared, or kOwnCap. Also of one that has just ended.
  [[nodiscard]] int limiter(int handle) const { return max_min_.limiter(handle); }

 private:
  struct Flow {
    double left_B = 0, rate_Bps = 0, updated_s = 0;
    long order = 0;  // of its start
    bool flowing = false;
  };
  void begin_to_flow(int handle, std::vector<int>& ended);
  void end(int handle, std::vector<int>& ended);
  void move_bytes(int handle);
  void share();

  Problem problem_;  // its activities are slots that flows take one after the other
  double now_s_ = 0;
  long starts_ = 0;
  MaxMin max_min_;
  EventHeap events_;
  std::vector<Flow> flows_;
  std::vector<int> free_;
  std::vector<double> carried_B_;
};

}  // namespace linkcast
