#include "sim/base/in_order.hpp"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <string>
#include <system_error>
#include <utility>

#include "sim/base/input_error.hpp"

namespace linkcast::work {
namespace {

constexpr std::size_t kAhead = 16;              // source: ours, pieces a thread that are not done
constexpr std::chrono::milliseconds kLook{50};  // source: ours, how soon Ctrl-C is noticed

/// Threads that begin while this lives get no signals, so that Ctrl-C comes to the thread that began them; but for the
/// one that ends a program whose output nobody reads, which is the writer's.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    sigfillset(&all);
    sigdelset(&all, SIGPIPE);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;
  ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

}  // namespace

InOrder::InOrder(std::size_t threads) {
  const NoSignals none;
  threads_.reserve(threads);
  try {
    for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this, i] { work(i); });
  } catch (const std::system_error&) {
    const std::size_t started = threads_.size();
    end();
    throw InputError(fmt::format("jobs: the system starts no more than {} threads", started));
  }
}

InOrder::~InOrder() { end(); }

void InOrder::end() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ending_ = true;
  }
  flag_.raise(Why::kGone);
  come_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void InOrder::add(Piece piece) {
  std::unique_lock<std::mutex> lock(mutex_);
  wait_until(lock, [this] { return items_.size() < kAhead * threads_.size(); });
  items_.push_back(std::make_unique<Item>(Item{std::move(piece)}));
  come_.notify_one();
}

void InOrder::finish() {
  std::unique_lock<std::mutex> lock(mutex_);
  wait_until(lock, [this] { return items_.empty() && !handing_; });
}

void InOrder::wait_until(std::unique_lock<std::mutex>& lock, const std::function<bool()>& holds) {
  while (!failure_ && !holds()) {
    done_.wait_for(lock, kLook);
    if (const Scope* scope = Scope::current(); scope != nullptr) scope->look_at_end();
  }
  if (failure_) std::rethrow_exception(failure_);
}

/// The first that waits, if any.
InOrder::Item* InOrder::next() {
  const auto waits = std::find_if(items_.begin(), items_.end(),
                                  [](const std::unique_ptr<Item>& item) { return item->state == State::kWaits; });
  return waits == items_.end() ? nullptr : waits->get();
}

void InOrder::fail(const std::exception_ptr& thrown) {
  failure_ = thrown;
  flag_.raise(Why::kGone);
  ending_ = true;
  come_.notify_all();
  done_.notify_all();
}

void InOrder::work(std::size_t thread) {
  const Scope scope(flag_);
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    Item* item = nullptr;
    come_.wait(lock, [&] { return ending_ || (item = next()) != nullptr; });
    if (ending_) return;
    item->state = State::kRuns;
    lock.unlock();
    Rest rest;
    try {
      rest = item->piece(thread);
    } catch (...) {
      rest = [thrown = std::current_exception()] { std::rethrow_exception(thrown); };
    }
    lock.lock();
    item->rest = std::move(rest);
    item->state = State::kDone;
    hand_out(lock);
  }
}

/// By one thread at a time, as many as are done from the first on.
void InOrder::hand_out(std::unique_lock<std::mutex>& lock) {
  if (handing_) return;
  handing_ = true;
  while (!ending_ && !items_.empty() && items_.front()->state == State::kDone) {
    const std::unique_ptr<Item> first = std::move(items_.front());
    items_.pop_front();
    lock.unlock();
    std::exception_ptr thrown;
    try {
      first->rest();
    } catch (...) {
      thrown = std::current_exception();
    }
    lock.lock();
    if (thrown) fail(thrown);
  }
  handing_ = false;
  done_.notify_all();
}

}  // namespace linkcast::work
