#pragma once
#include <cstddef>
#include <utility>
#include <vector>

namespace linkcast::replay {

/// First in, first out; what it takes is given back only with it, so that a queue that comes and goes allocates
/// nothing.
template <class T>
class Fifo {
 public:
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] T& front() { return ring_[head_]; }
  [[nodiscard]] const T& front() const { return ring_[head_]; }
  /// @returns  a place behind all others: whoever takes it sets all of it, what was there before may still be
  T& push() {
    if (count_ == ring_.size()) grow();
    return ring_[(head_ + count_++) & (ring_.size() - 1)];
  }
  void pop() {
    head_ = (head_ + 1) & (ring_.size() - 1);
    --count_;
  }

 private:
  void grow() {
    std::vector<T> larger(ring_.empty() ? 1 : 2 * ring_.size());
    for (std::size_t i = 0; i < count_; ++i) larger[i] = std::move(ring_[(head_ + i) & (ring_.size() - 1)]);
    ring_ = std::move(larger);
    head_ = 0;
  }

  std::vector<T> ring_{};  ///< a power of two
  std::size_t head_ = 0, count_ = 0;
};

}  // namespace linkcast::replay
