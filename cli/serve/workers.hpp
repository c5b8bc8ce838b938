#pragma once
// Threads that forecast, each with machines and memories of its own: a slow question holds up one of them, until its
// deadline. The first one takes what it can, so that it remembers what was asked; the others help out where it is slow.
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cli/serve/placer.hpp"
#include "sim/base/limits.hpp"

namespace linkcast::serve {

/// What a worker is asked. It may outlive whoever asked: it owns what it needs.
using Task = std::function<std::string(Placer&)>;

struct WorkersOptions {
  std::size_t threads = 2;
  std::size_t most_waiting = 48;
  std::chrono::milliseconds deadline{10000};  ///< from asking to the answer
};

/// How a task ended that gave no answer.
enum class Unanswered { kTooMany, kDeadline, kGone };

class Workers {
 public:
  Workers(const std::string& data_dir, const std::vector<std::string>& platforms, const WorkersOptions& options);
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  /// Does first what waits.
  ~Workers();

  /// Returns when it is done, and throws what it throws. Past its deadline, or once nobody waits for it, it is told to
  /// end, and not waited for.
  /// @param gone  asked now and then; may be empty. @throws Unanswered
  std::string ask(Task task, const std::function<bool()>& gone = {});
  /// What the first worker does from now on while nobody asks, a piece at a time, until false. A lone worker leaves a
  /// piece for a question, and begins it again later.
  void while_idle(std::function<bool(Placer&)> piece);
  /// Of each of the workers, one after the other, without a deadline.
  void each(const std::function<void(Placer&)>& what);
  [[nodiscard]] std::size_t waiting() const;
  /// Not all of them are busy, or something can still wait.
  [[nodiscard]] bool ready() const;

 private:
  struct Job;
  struct Worker {
    std::unique_ptr<catalogue::Catalogue> catalogue;
    std::unique_ptr<Placer> placer;
    std::thread thread{};
  };
  void work(Worker& worker);
  std::shared_ptr<Job> next(std::unique_lock<std::mutex>& lock, bool first);
  [[nodiscard]] bool needs_help() const;
  void idle(std::unique_lock<std::mutex>& lock);

  WorkersOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable come_;
  std::deque<std::shared_ptr<Job>> jobs_;
  std::function<bool(Placer&)> idle_{};
  std::optional<work::Scope::Clock::time_point> first_since_{};  ///< of its question or piece; none: it is free
  work::StopFlag* preparing_ = nullptr;                          ///< of the piece that the first worker is at
  bool ending_ = false;
  std::vector<Worker> workers_;
};

}  // namespace linkcast::serve
