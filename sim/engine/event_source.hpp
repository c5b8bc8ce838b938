#pragma once
#include <functional>

namespace linkcast {

/// Events closer than this, relative to the clock, are one moment: rounding must not tear apart what ends together.
/// source: 2^-43, the rounding noise of about 1000 additions of 2^-53 each
inline constexpr double kSameMoment = 0x1p-43;

/// Something with events on a clock of its own that starts at 0.
class EventSource {
 public:
  EventSource() = default;
  EventSource(const EventSource&) = delete;
  EventSource& operator=(const EventSource&) = delete;
  virtual ~EventSource() = default;
  [[nodiscard]] virtual double now_s() const = 0;
  /// When something happens next, not before now_s(); infinite when nothing will.
  virtual double next_event_s() = 0;
  /// Moves the clock to next_event_s(), which is finite, and handles all that happens then.
  virtual void advance() = 0;
};

/// Until nothing happens any more. What the source throws comes out here. A short run moves its own time; of a long one
/// SimGrid's main loop moves the rest, with the same results. SimGrid's clock only grows, over all runs of the process,
/// and SimGrid has one engine a process: it belongs to the thread that asked first. A long run inside another one, or
/// of another thread, moves its own time.
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
