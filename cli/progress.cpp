#include "cli/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include "cli/console.hpp"
#include "sim/base/log.hpp"
#include "sim/base/parse.hpp"

namespace linkcast::cli {
namespace {

constexpr std::chrono::milliseconds kFirst{2000}, kNextBar{200}, kNextLine{2000};
constexpr std::int64_t kEventsAStep = 64;  // of a replay, whose events are short against a look at the clock
constexpr int kBarWidth = 20;

work::StopFlag interrupt;  // a signal handler can reach nothing else

/// The second Ctrl-C ends the program at once.
void on_interrupt(int /*signal*/) {
  interrupt.raise(work::Why::kInterrupted);
  std::signal(SIGINT, SIG_DFL);
}

/// "12 s", "34 min", "5.6 h"
std::string duration(double seconds) {
  if (seconds < 100) return fmt::format("{:.0f} s", seconds);
  return seconds < 6000 ? fmt::format("{:.0f} min", seconds / 60) : fmt::format("{:.1f} h", seconds / 3600);
}

std::string bar(double share) {
  const int full = static_cast<int>(std::clamp(share, 0.0, 1.0) * kBarWidth);
  return fmt::format("[{:#<{}}{:-<{}}] {:3.0f} %", "", full, "", kBarWidth - full, 100 * share);
}

}  // namespace

CtrlC::CtrlC() {
  // A job that a shell put into the background ignores the signal, and goes on to. Python takes it itself.
  sigaction(SIGINT, nullptr, &before_);
  taken_ = before_.sa_handler == SIG_DFL;
  if (taken_) {
    struct sigaction own {};  // without SA_RESTART: what waits for input is woken
    own.sa_handler = on_interrupt;
    sigaction(SIGINT, &own, nullptr);
  }
  scope_.emplace(interrupt);
}

CtrlC::~CtrlC() {
  if (taken_ && !came()) sigaction(SIGINT, &before_, nullptr);
}

bool CtrlC::came() { return interrupt.why() != work::Why::kGoesOn; }

void ConsoleProgress::start(const std::string& what, const std::string& unit, std::int64_t total) {
  const auto now = Clock::now();
  if (pieces_.empty()) next_ = now + kFirst;
  pieces_.push_back({what, unit, total});
  pieces_.back().start = now;
}

void ConsoleProgress::advance(std::int64_t done, std::string_view text) {
  pieces_.back().done = done;
  pieces_.back().text = text;
  if (CtrlC::came()) throw work::Stopped();
  if (const auto now = Clock::now(); now >= next_) show(now);
}

void ConsoleProgress::finish() {
  if (CtrlC::came() && stopped_at_.empty()) stopped_at_ = line(Clock::now(), false);
  pieces_.pop_back();
  if (pieces_.empty()) console_->status("");
}

/// @param left  say of the outermost piece, whose end is what one waits for, how long that takes
std::string ConsoleProgress::line(Clock::time_point now, bool left) const {
  std::string all;
  for (const Piece& piece : pieces_) {
    if (!all.empty()) all += "; ";
    all += fmt::format("{}: {}", piece.what, piece.done);
    if (piece.total > 0) all += fmt::format(" of {}", piece.total);
    all += " " + piece.unit;
    if (!piece.text.empty()) all += ", " + piece.text;
  }
  const Piece& outer = pieces_.front();
  const double spent_s = std::chrono::duration<double>(now - outer.start).count();
  if (left && outer.total > 0 && outer.done > 0)
    all += fmt::format(", {} left", duration(spent_s * static_cast<double>(outer.total - outer.done) /
                                             static_cast<double>(outer.done)));
  return all;
}

void ConsoleProgress::show(Clock::time_point now) {
  const Piece& outer = pieces_.front();
  if (!console_->terminal()) {
    next_ = now + kNextLine;
    log::Log("progress").note("{}", line(now, true));
    return;
  }
  next_ = now + kNextBar;
  const double share = outer.total > 0 ? static_cast<double>(outer.done) / static_cast<double>(outer.total) : 0;
  console_->status((outer.total > 0 ? bar(share) + " " : "") + line(now, true));
}

Heartbeat::Heartbeat(std::shared_ptr<Console> console, std::string what) : console_(std::move(console)) {
  if (console_ && console_->terminal()) thread_ = std::thread([this, what = std::move(what)] { run(what); });
}

Heartbeat::~Heartbeat() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    end_ = true;
  }
  ended_.notify_one();
  thread_.join();
  console_->beat("");
}

void Heartbeat::run(const std::string& what) {
  const auto start = std::chrono::steady_clock::now();
  std::unique_lock<std::mutex> lock(mutex_);
  for (auto next = start + kFirst; !ended_.wait_until(lock, next, [this] { return end_; }); next += kNextBar * 5)
    console_->beat(fmt::format("{}: {}", what, duration(std::chrono::duration<double>(next - start).count())));
}

void ReplayProgress::ends(int /*rank*/, const replay::FedEvent& /*event*/, double now_s) {
  if (++events_ % kEventsAStep == 0) work_.advance(events_, "simulated " + to_text(Seconds{now_s}));
}

}  // namespace linkcast::cli
