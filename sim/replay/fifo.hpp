#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace linkcast::replay {

/// First in, first out; what it takes is given back only with it, so that a queue that comes and goes allocates
/// nothing.
template <class T>
class Fifo {
 public:
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] std::size_t size() const { return count_; }
  /// From the first on.
  [[nodiscard]] T& operator[](std::size_t place) { return ring_[(head_ + place) & (room_ - 1U)]; }
  [[nodiscard]] const T& operator[](std::size_t place) const { return ring_[(head_ + place) & (room_ - 1U)]; }
  [[nodiscard]] T& front() { return ring_[head_]; }
  [[nodiscard]] const T& front() const { return ring_[head_]; }
  /// @returns  a place behind all others: whoever takes it sets all of it, what was there before may still be
  T& push() {
    if (count_ == room_) grow();
    return (*this)[count_++];
  }
  void pop() {
    head_ = (head_ + 1U) & (room_ - 1U);
    --count_;
  }

 private:
  void grow() {
    const std::uint32_t room = std::max(1U, 2 * room_);
    auto larger = std::make_unique<T[]>(room);
    for (std::uint32_t i = 0; i < count_; ++i) larger[i] = std::move((*this)[i]);
    ring_ = std::move(larger);
    room_ = room;
    head_ = 0;
  }

  std::unique_ptr<T[]> ring_{};
  std::uint32_t room_ = 0;  ///< a power of two
  std::uint32_t head_ = 0, count_ = 0;
};

}  // namespace linkcast::replay
