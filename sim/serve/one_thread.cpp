#include "sim/serve/one_thread.hpp"

#include <utility>

namespace linkcast::serve {

OneThread::OneThread(std::size_t most_waiting) : most_waiting_(most_waiting), thread_([this] { work(); }) {}

OneThread::~OneThread() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ending_ = true;
  }
  come_.notify_one();
  thread_.join();
}

bool OneThread::run(const std::function<void()>& task) {
  std::packaged_task<void()> packed(task);
  std::future<void> done = packed.get_future();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (tasks_.size() >= most_waiting_) return false;
    tasks_.push_back(std::move(packed));
  }
  come_.notify_one();
  done.get();
  return true;
}

std::size_t OneThread::waiting() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return tasks_.size();
}

void OneThread::work() {
  while (true) {
    std::packaged_task<void()> task;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      come_.wait(lock, [this] { return ending_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

}  // namespace linkcast::serve
