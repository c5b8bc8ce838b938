#pragma once
// Limits of one request: memory and time, an estimate before the work, and its end before time (Ctrl-C, a deadline,
// nobody who waits for the answer).
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

namespace linkcast::work {

inline constexpr const char* kMemoryVariable = "LINKCAST_MAX_MEMORY";
inline constexpr const char* kTimeVariable = "LINKCAST_MAX_TIME";

/// Limits of one request. Those of the process come from the options --max-memory and --max-time, else
/// LINKCAST_MAX_MEMORY and LINKCAST_MAX_TIME, else these.
struct Limits {
  double memory_B = 4294967296.0;  // source: ours, 4 GiB, what a laptop has to spare
  double time_s = 600;             // source: ours, ten minutes; who waits longer says so
};

/// Limits of this process: those of set_limits(), else of the environment.
/// @throws InputError  the environment holds no size or no time
const Limits& limits();
/// For the door of the program, before threads start.
void set_limits(const Limits& limits);
/// Reads an option or a variable of the environment, e.g. "16GiB", "2 h", "90 min", "30 s"; "none": no limit.
/// @throws InputError  neither; begins with `name`
double parse_memory_limit(const std::string& text, const std::string& name);
double parse_time_limit(const std::string& text, const std::string& name);

/// @throws InputError  so many bytes are more than Limits allow
void refuse_memory_in_use(double memory_B);

/// For messages, with the two digits that are known: "60 GiB", "31 min".
std::string memory_text(double bytes);
std::string duration_text(double seconds);
/// "4 GiB and 10 min"
std::string limit_text(const Limits& limits);

enum class Why : int { kGoesOn, kInterrupted, kDeadline, kGone };

/// Thrown through the stack so that drafts of files are removed. No std::exception: nothing failed.
struct Stopped {
  Why why = Why::kInterrupted;
};

/// Raised from another thread or a signal handler; what works looks at it.
class StopFlag {
 public:
  void raise(Why why) noexcept { why_.store(static_cast<int>(why), std::memory_order_relaxed); }
  [[nodiscard]] Why why() const noexcept { return static_cast<Why>(why_.load(std::memory_order_relaxed)); }

 private:
  std::atomic<int> why_{0};
  static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may raise it");
};

/// Flag and deadline that end the work of one thread, while this lives. Scopes nest; the innermost is looked at.
class Scope {
 public:
  using Clock = std::chrono::steady_clock;

  /// @param flag  outlives this. @param deadline  Clock::time_point::max(): none
  explicit Scope(const StopFlag& flag, Clock::time_point deadline = Clock::time_point::max());
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  ~Scope();

  /// The innermost of this thread; null: nothing ends its work.
  static Scope* current() { return current_; }
  /// Seconds until the deadline; infinite without one.
  [[nodiscard]] double left_s() const;
  /// @throws Stopped  at its end; memory is not looked at
  void look_at_end() const;
  /// @throws Stopped, InputError  as look()
  void look() {
    constexpr std::uint32_t kOften = 1024;  // ours: looks between two at the clock and at memory
    if (flag_.why() != Why::kGoesOn || ++looks_ % kOften == 0) look_closely();
  }

 private:
  void look_closely();

  const StopFlag& flag_;
  Clock::time_point deadline_;
  std::uint32_t looks_ = 0;
  Clock::time_point next_memory_{};
  Scope* outer_;
  static inline constinit thread_local Scope* current_ = nullptr;
};

/// Called wherever long work goes round: a nanosecond or two.
/// @throws Stopped  the work is to end. @throws InputError  it takes more memory than Limits allow
inline void look() {
  if (Scope* scope = Scope::current(); scope != nullptr) scope->look();
}

/// Bytes of this process that lie in memory; 0: the system does not say.
double memory_in_use_B();

/// Cost of work that is about to begin.
struct Estimate {
  std::string what;  ///< "replay"
  double items = 0;  ///< what is counted, e.g. events
  std::string unit{};
  double memory_B = 0, time_s = 0;
  bool at_least = false;  ///< counting ended where it was too much already
};

/// "replay: about 2e+08 events, 60 GiB of memory and 31 min"
std::string to_text(const Estimate& estimate);

/// Said before work that can be long. Under a Scope with a deadline, what is left until it counts too.
/// @throws InputError  more than Limits allow: the estimate, and what lifts the limit
void expect(const Estimate& estimate);

/// CPU time of this thread, seconds.
double thread_time_s();

/// Goes round so many times over alike pieces of work: their pace says after a second what all will take. Seconds are
/// those of the thread's own work, so that a busy machine refuses nothing that a free one does not.
class Rounds {
 public:
  /// @param what  "noise". @param unit  "samples". @param total  0: not known: it ends where it has taken too long
  Rounds(std::string what, std::string unit, std::int64_t total)
      : what_(std::move(what)), unit_(std::move(unit)), total_(total) {}
  /// After each piece. @throws Stopped, InputError  as look() and expect()
  void done(std::int64_t so_far) {
    look();
    if (!judged_) judge(so_far);
    if (total_ == 0 && ++unjudged_ % kOften == 0) judge_so_far(so_far);
  }

 private:
  static constexpr std::int64_t kOften = 1024;  // ours: a look at the thread's clock takes half a microsecond
  void judge(std::int64_t so_far);
  void judge_so_far(std::int64_t so_far);

  std::string what_, unit_;
  std::int64_t total_, unjudged_ = 0;
  double start_s_ = thread_time_s();
  bool judged_ = false;
};

}  // namespace linkcast::work
