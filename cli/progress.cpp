#include "cli/progress.hpp"

#include <unistd.h>

#include <csignal>
#include <iostream>

#include "sim/units/parse.hpp"

namespace linkcast::cli {
namespace {

constexpr std::chrono::milliseconds kFirst{2000}, kThen{200};
constexpr long kEventsALook = 1024;  // between two looks at the clock

volatile std::sig_atomic_t interrupted = 0;

/// The second Ctrl-C ends the program at once.
void on_interrupt(int /*signal*/) {
  interrupted = 1;
  std::signal(SIGINT, SIG_DFL);
}

}  // namespace

Progress::Progress() : terminal_(isatty(STDERR_FILENO) == 1), next_(start_ + kFirst) {
  // A job that a shell put into the background ignores the signal, and goes on to.
  if (std::signal(SIGINT, on_interrupt) == SIG_IGN) std::signal(SIGINT, SIG_IGN);
}

Progress::~Progress() {
  if (shown_) std::cerr << "\r\x1b[K" << std::flush;
  if (interrupted == 0) std::signal(SIGINT, SIG_DFL);
}

void Progress::ends(int /*rank*/, const TraceEvent& /*event*/, double now_s) {
  if (interrupted != 0) throw Interrupted();
  ++events_;
  if (terminal_ && events_ % kEventsALook == 0 && Clock::now() >= next_) show(now_s);
}

void Progress::show(double now_s) {
  next_ = Clock::now() + kThen;
  const double spent_s = std::chrono::duration<double>(Clock::now() - start_).count();
  std::cerr << "\r\x1b[K" << events_ << " events, " << static_cast<long>(static_cast<double>(events_) / spent_s)
            << " a second, simulated " << to_text(Seconds{now_s}) << std::flush;
  shown_ = true;
}

}  // namespace linkcast::cli
