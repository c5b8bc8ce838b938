#pragma once
// Standard error: lines of the log, and on a terminal one line below them that says how far the work is.
#include <spdlog/sinks/base_sink.h>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "sim/base/limits.hpp"
#include "sim/base/progress.hpp"
#include "sim/replay/observer.hpp"

namespace linkcast::cli {

/// Where every logger writes. The status line is taken away for each line of the log and put back below it.
class Console final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  Console();
  [[nodiscard]] bool terminal() const { return terminal_; }
  /// @param text  one line; empty: none
  void status(const std::string& text);
  /// The same from another thread, where nobody else shows one.
  void beat(const std::string& text);

 private:
  void sink_it_(const spdlog::details::log_msg& message) override;
  void flush_() override {}
  void put(const std::string& text) const;

  bool terminal_;
  std::string status_;
  bool beating_ = false;  ///< the status is that of beat()
};

/// Sets up spdlog: all rooms write to the console that it gives back.
/// Without -v or --quiet: notes as they are, "warning: ..."; no time stamps. With -v also "[0.012 s] room: ...".
/// The environment's LINKCAST_LOG says levels as spdlog does: "debug", "off,replay=trace".
/// @param verbose  how many -v. @throws InputError  LINKCAST_LOG has no such level
std::shared_ptr<Console> set_up_log(int verbose, bool quiet);

/// Columns for what goes to standard output: COLUMNS of the environment, else those of the terminal; kUnbroken in a
/// pipe.
std::size_t output_columns();

/// Meanings that a terminal shows in a colour: normal; a warning, or undecided; faulty, or an error.
enum class Colour { kGood, kDoubtful, kBad };
enum class Stream { kOutput, kErrors };
/// @returns  the text as it is where the stream is no terminal, where TERM is "dumb" or NO_COLOR is set
std::string coloured(const std::string& text, Colour colour, Stream stream);
/// "error: " on standard error.
std::string error_mark();

class Console;

/// While it lives Ctrl-C ends the work at its next step instead of the program at once; a second one ends the program.
/// Reading from a terminal or a pipe ends too.
class CtrlC {
 public:
  CtrlC();
  CtrlC(const CtrlC&) = delete;
  CtrlC& operator=(const CtrlC&) = delete;
  ~CtrlC();

  /// Whether there was one.
  static bool came();

 private:
  struct sigaction before_ {};
  bool taken_ = false;
  std::optional<work::Scope> scope_;
};

/// Work of more than two seconds is shown: on a terminal a bar with what is left, elsewhere a line every two
/// seconds, which is a note of logger "progress".
class ConsoleProgress final : public log::Progress {
 public:
  explicit ConsoleProgress(std::shared_ptr<Console> console) : console_(std::move(console)) {}
  void start(const std::string& what, const std::string& unit, std::int64_t total) override;
  /// @throws work::Stopped
  void advance(std::int64_t done, std::string_view text) override;
  void finish() override;
  /// How far the work was that Ctrl-C ended; empty: there was none to tell of.
  [[nodiscard]] const std::string& stopped_at() const { return stopped_at_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Piece {
    std::string what, unit;
    std::int64_t total = 0, done = 0;
    std::string text{};
    Clock::time_point start{};
  };
  [[nodiscard]] std::string line(Clock::time_point now, bool left) const;
  void show(Clock::time_point now);

  std::shared_ptr<Console> console_;
  std::vector<Piece> pieces_;  ///< innermost last
  Clock::time_point next_{};
  std::string stopped_at_;
};

/// While it lives, and nothing says how far the work is, a terminal shows from two seconds on how long it has taken.
class Heartbeat {
 public:
  /// @param console  null: nothing is shown
  Heartbeat(std::shared_ptr<Console> console, std::string what);
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;
  ~Heartbeat();

 private:
  void run(const std::string& what);

  std::shared_ptr<Console> console_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool end_ = false;
  std::thread thread_;
};

/// Shows how far a replay is.
class ReplayProgress final : public replay::ReplayObserver {
 public:
  explicit ReplayProgress(log::Progress& progress) : work_(progress, "replay", "events") {}
  /// @throws work::Stopped
  void ends(int rank, const replay::FedEvent& event, double now_s) override;

 private:
  log::Work work_;
  std::int64_t events_ = 0;
};

}  // namespace linkcast::cli
