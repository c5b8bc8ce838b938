#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace linkcast::replay {

/// Ids that were issued and have not ended. They come in ascending order, and mostly end in it.
class OpenIds {
 public:
  /// @param id  above all before
  void open(std::int64_t id) {
    if (first_ + count_ == room_) make_room();
    ids_[first_ + count_++] = id;
  }
  [[nodiscard]] bool is_open(std::int64_t id) const {
    if (count_ == 0 || id < ids_[first_]) return false;
    const std::int64_t* found = place(id);
    return found != end() && *found == id;
  }
  /// @param id  is open
  void close(std::int64_t id) {
    std::int64_t* found = ids_.get() + (place(id) - ids_.get());
    if (found - begin() < end() - found) {
      std::move_backward(ids_.get() + first_, found, found + 1);
      ++first_;
    } else {
      std::move(found + 1, ids_.get() + first_ + count_, found);
    }
    if (--count_ == 0) first_ = 0;
  }

 private:
  [[nodiscard]] const std::int64_t* begin() const { return ids_.get() + first_; }
  [[nodiscard]] const std::int64_t* end() const { return begin() + count_; }
  [[nodiscard]] const std::int64_t* place(std::int64_t id) const {
    constexpr std::uint32_t kFew = 16;  // source: ours, two lines of the cache
    if (count_ > kFew) return std::lower_bound(begin(), end(), id);
    const std::int64_t* found = begin();
    while (found != end() && *found < id) ++found;
    return found;
  }
  void make_room() {
    constexpr std::uint32_t kLeast = 8;  // source: ours, a line of the cache
    if (2 * count_ <= room_ && room_ > 0) {
      std::move(ids_.get() + first_, ids_.get() + first_ + count_, ids_.get());
    } else {
      room_ = std::max(kLeast, 2 * room_);
      auto larger = std::make_unique<std::int64_t[]>(room_);
      std::copy(begin(), end(), larger.get());
      ids_ = std::move(larger);
    }
    first_ = 0;
  }

  std::unique_ptr<std::int64_t[]> ids_{};
  std::uint32_t room_ = 0, first_ = 0, count_ = 0;
};

}  // namespace linkcast::replay
