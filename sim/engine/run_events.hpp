#pragma once
#include <functional>

#include "sim/engine/event_source.hpp"

namespace linkcast {

/// While it lives, SimGrid's main loop moves the runs of its thread from their first event on.
class SimGridLoop {
 public:
  SimGridLoop();
  SimGridLoop(const SimGridLoop&) = delete;
  SimGridLoop& operator=(const SimGridLoop&) = delete;
  ~SimGridLoop();

 private:
  bool before_;
};

/// Until nothing happens any more. What the source throws comes out here. A short run moves its own time unless a
/// SimGridLoop lives; of a long one SimGrid's main loop, where its module is there, moves the rest, with the same
/// results. SimGrid's clock only grows, over all runs of the process, and SimGrid has one engine a process: it belongs
/// to the thread that asked first. A run inside another one, or of another thread, moves its own time.
void run_events(EventSource& source);

/// While it lives, `check` is called once in a while in the runs of its thread: what it throws ends the run.
class EventCheck {
 public:
  explicit EventCheck(std::function<void()> check);
  EventCheck(const EventCheck&) = delete;
  EventCheck& operator=(const EventCheck&) = delete;
  ~EventCheck();

 private:
  std::function<void()> check_;
  const std::function<void()>* before_;
};

}  // namespace linkcast
