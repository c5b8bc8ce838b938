#pragma once
#include <chrono>
#include <exception>

#include "sim/replay/observer.hpp"

namespace linkcast::cli {

/// Ctrl-C, told through the stack so that drafts of files are removed.
class Interrupted : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "interrupted"; }
};

/// On a terminal a line that says how far a replay is, once it takes longer than two seconds; elsewhere nothing.
class Progress final : public replay::ReplayObserver {
 public:
  Progress();
  ~Progress() override;
  /// @throws Interrupted
  void ends(int rank, const TraceEvent& event, double now_s) override;

 private:
  using Clock = std::chrono::steady_clock;
  void show(double now_s);

  bool terminal_, shown_ = false;
  Clock::time_point start_ = Clock::now(), next_;
  long events_ = 0;
};

}  // namespace linkcast::cli
