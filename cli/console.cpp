#include "cli/console.hpp"

#include <fmt/format.h>
#include <spdlog/cfg/helpers.h>
#include <spdlog/spdlog.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <sstream>

#include "sim/base/input_error.hpp"
#include "sim/base/log.hpp"
#include "sim/base/parse.hpp"
#include "sim/base/text_width.hpp"

namespace linkcast::cli {
namespace {

constexpr const char* kVariable = "LINKCAST_LOG";
constexpr const char* kClear = "\r\x1b[K";

/// Columns of the terminal behind a stream.
std::size_t terminal_columns(int stream) {
  winsize size{};
  constexpr std::size_t usual = 80;
  return ::ioctl(stream, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : usual;
}

/// A longer status line would wrap, and not be taken away again.
std::size_t width() { return terminal_columns(STDERR_FILENO); }

/// A variable of the environment; unset is empty.
std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// source: no-color.org, and terminfo's "dumb".
bool shows_colours(int stream) {
  return isatty(stream) == 1 && variable("NO_COLOR").empty() && variable("TERM") != "dumb";
}

/// Notes are bare, warnings and errors say so, what -v adds has its time and room.
class LineFormatter final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& into) override {
    const auto out = std::back_inserter(into);
    const double since_s = std::chrono::duration<double>(message.time - start_).count();
    switch (message.level) {
      case spdlog::level::trace:
      case spdlog::level::debug:
        fmt::format_to(out, "[{:.3f} s] {}: ", since_s,
                       fmt::string_view(message.logger_name.data(), message.logger_name.size()));
        break;
      case spdlog::level::warn:
        fmt::format_to(out, "{}", coloured("warning: ", Colour::kDoubtful, Stream::kErrors));
        break;
      case spdlog::level::err:
      case spdlog::level::critical:
        fmt::format_to(out, "{}", error_mark());
        break;
      default:
        break;
    }
    into.append(message.payload.data(), message.payload.data() + message.payload.size());
    into.push_back('\n');
  }
  [[nodiscard]] std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<LineFormatter>(*this);
  }

 private:
  spdlog::log_clock::time_point start_ = spdlog::log_clock::now();
};

/// spdlog leaves out what it does not know.
void refuse_wrong_levels(const std::string& text) {
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const std::string level = part.substr(part.find('=') + 1);
    if (level != "off" && spdlog::level::from_str(level) == spdlog::level::off)
      throw InputError(std::string(kVariable) + ": '" + level +
                       "' is no level: one of trace, debug, info, warn, error, off");
  }
}

}  // namespace

std::size_t output_columns() {
  const std::string said = variable("COLUMNS");
  constexpr std::size_t most_digits = 6;
  const bool is_number = !said.empty() && said.size() <= most_digits &&
                         said.find_first_not_of("0123456789") == std::string::npos && std::stoul(said) > 0;
  if (is_number) return std::stoul(said);
  return isatty(STDOUT_FILENO) == 1 ? terminal_columns(STDOUT_FILENO) : kUnbroken;
}

std::string coloured(const std::string& text, Colour colour, Stream stream) {
  if (!shows_colours(stream == Stream::kOutput ? STDOUT_FILENO : STDERR_FILENO)) return text;
  constexpr const char* codes[] = {"32", "33", "1;31"};  // source: ECMA-48, green, yellow, bold red
  return fmt::format("\x1b[{}m{}\x1b[0m", codes[static_cast<std::size_t>(colour)], text);
}

std::string error_mark() { return coloured("error: ", Colour::kBad, Stream::kErrors); }

Console::Console() : terminal_(isatty(STDERR_FILENO) == 1) {}

void Console::put(const std::string& text) const { std::cerr << text; }

void Console::status(const std::string& text) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (text.empty() && status_.empty()) return;
  status_ = text.substr(0, width() - 1);
  beating_ = false;
  put(kClear + status_);
}

void Console::beat(const std::string& text) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!terminal_ || (!status_.empty() && !beating_) || (text.empty() && status_.empty())) return;
  status_ = text.substr(0, width() - 1);
  beating_ = true;
  put(kClear + status_);
}

void Console::sink_it_(const spdlog::details::log_msg& message) {
  spdlog::memory_buf_t line;
  formatter_->format(message, line);
  put((status_.empty() ? "" : kClear) + std::string(line.data(), line.size()) + status_);
}

std::shared_ptr<Console> set_up_log(int verbose, bool quiet) {
  const auto console = std::make_shared<Console>();
  spdlog::set_default_logger(std::make_shared<spdlog::logger>("linkcast", console));
  spdlog::set_formatter(std::make_unique<LineFormatter>());
  spdlog::set_level(spdlog::level::info);  // whatever an earlier command of the process said
  if (const char* levels = std::getenv(kVariable); levels != nullptr) {
    refuse_wrong_levels(levels);
    spdlog::cfg::helpers::load_levels(levels);
  }
  if (verbose > 0) spdlog::set_level(verbose > 1 ? spdlog::level::trace : spdlog::level::debug);
  if (quiet) spdlog::set_level(spdlog::level::err);
  return console;
}

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
