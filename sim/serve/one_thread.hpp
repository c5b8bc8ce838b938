#pragma once
// One thread that does everything that may be done by one thread only, in the order in which it was asked.
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <thread>

namespace linkcast::serve {

class OneThread {
 public:
  /// @param most_waiting  further tasks are refused
  explicit OneThread(std::size_t most_waiting);
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;
  /// Does first what waits.
  ~OneThread();

  /// Returns when the task is done, and throws what it throws. @returns  false if too many wait: it was not done
  bool run(const std::function<void()>& task);
  [[nodiscard]] std::size_t waiting() const;

 private:
  void work();

  std::size_t most_waiting_;
  mutable std::mutex mutex_;
  std::condition_variable come_;
  std::deque<std::packaged_task<void()>> tasks_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace linkcast::serve
