#include "sim/engine/run_events.hpp"

#include <limits>
#include <utility>

#include "sim/base/input_error.hpp"
#include "sim/engine/simgrid_module.hpp"

namespace linkcast {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr long kShort = 1L << 22;  // source: ours, some 1.2 s of events; SimGrid's libraries take 20 ms and 28 MiB
constexpr unsigned kEventsACheck = 256;  // source: ours, some 0.1 ms of events

thread_local const std::function<void()>* event_check = nullptr;
thread_local unsigned events = 0;
thread_local bool on_simgrid = false;

/// SimGrid would take what is negative for the end of all events, and the run would end early.
double next_event_s(EventSource& source) {
  const double next_s = source.next_event_s();
  if (!(next_s >= source.now_s())) throw InvariantError("an event lies before the clock of its source");
  return next_s;
}

void advance(EventSource& source) {
  source.advance();
  if (event_check != nullptr && ++events % kEventsACheck == 0) (*event_check)();
}

}  // namespace

void run_events(EventSource& source) {
  long run = on_simgrid ? kShort : 0;
  for (; run < kShort && next_event_s(source) != kNever; ++run) advance(source);
  if (run < kShort) return;
  if (on_simgrid || has_simgrid_module()) {
    const SimGridModule& simgrid = simgrid_module();
    if (simgrid.is_free()) {
      simgrid.run(source, next_event_s, advance);
      return;
    }
  }
  while (next_event_s(source) != kNever) advance(source);
}

SimGridLoop::SimGridLoop() : before_(on_simgrid) { on_simgrid = true; }
SimGridLoop::~SimGridLoop() { on_simgrid = before_; }

EventCheck::EventCheck(std::function<void()> check) : check_(std::move(check)), before_(event_check) {
  event_check = &check_;
}
EventCheck::~EventCheck() { event_check = before_; }

}  // namespace linkcast
