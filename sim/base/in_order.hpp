#pragma once
// Pieces of work on several threads, whose results come in the order of the pieces.
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "sim/base/limits.hpp"

namespace linkcast::work {

inline constexpr int kMostThreads = 1024;  // source: ours

class InOrder {
 public:
  /// What a piece leaves to do once all before it have done that: handing out its result.
  using Rest = std::function<void()>;
  /// On one of the threads, whose number says which memories it may use.
  using Piece = std::function<Rest(std::size_t thread)>;

  /// @param threads  at least 1. @throws InputError  the system has no more for this process
  explicit InOrder(std::size_t threads);
  InOrder(const InOrder&) = delete;
  InOrder& operator=(const InOrder&) = delete;
  /// Ends what is not finished, at its next look().
  ~InOrder();

  /// Waits while so many pieces are not done that more would only take memory.
  /// @throws what the first piece threw that threw, or its rest, once all before it are done; Stopped  as look() in
  /// this thread
  void add(Piece piece);
  /// Returns when all are done. @throws likewise
  void finish();

 private:
  enum class State { kWaits, kRuns, kDone };
  struct Item {
    Piece piece;
    State state = State::kWaits;
    Rest rest{};
  };
  void end();
  void work(std::size_t thread);
  Item* next();
  void hand_out(std::unique_lock<std::mutex>& lock);
  void fail(const std::exception_ptr& thrown);
  /// Looks at this thread's own end meanwhile.
  void wait_until(std::unique_lock<std::mutex>& lock, const std::function<bool()>& holds);

  StopFlag flag_{};
  std::mutex mutex_{};
  std::condition_variable come_{}, done_{};
  std::deque<std::unique_ptr<Item>> items_{};  ///< whose rest is not done, in their order
  std::exception_ptr failure_{};
  bool handing_ = false, ending_ = false;
  std::vector<std::thread> threads_{};
};

}  // namespace linkcast::work
