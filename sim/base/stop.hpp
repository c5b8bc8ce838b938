#pragma once
// Work that ends before its end: Ctrl-C, a deadline, nobody who waits for the answer, or more memory than it may take.
#include <atomic>
#include <chrono>
#include <cstdint>

namespace linkcast::work {

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

/// What the work of one thread may take, while this lives. Scopes nest; the innermost is looked at.
class Scope {
 public:
  using Clock = std::chrono::steady_clock;

  /// @param flag  outlives this. @param deadline  Clock::time_point::max(): none
  explicit Scope(const StopFlag& flag, Clock::time_point deadline = Clock::time_point::max());
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  ~Scope();

  /// Of this thread; null: nothing ends its work.
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

}  // namespace linkcast::work
