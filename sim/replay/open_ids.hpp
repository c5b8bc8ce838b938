#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace linkcast::replay {

/// Ids that were issued and have not ended. They come in ascending order, and mostly end in it.
class OpenIds {
 public:
  /// @param id  above all before
  void open(std::int64_t id) { ids_.push_back({id, true}); }
  [[nodiscard]] bool is_open(std::int64_t id) const {
    const auto found = place(id);
    return found != ids_.end() && found->id == id && found->open;
  }
  void close(std::int64_t id) {
    const auto found = place(id);
    ids_[static_cast<std::size_t>(found - ids_.begin())].open = false;
    while (first_ < ids_.size() && !ids_[first_].open) ++first_;
    if (2 * first_ < ids_.size()) return;
    ids_.erase(ids_.begin(), ids_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }

 private:
  struct Id {
    std::int64_t id = 0;
    bool open = false;
  };
  [[nodiscard]] std::vector<Id>::const_iterator place(std::int64_t id) const {
    return std::lower_bound(ids_.begin() + static_cast<std::ptrdiff_t>(first_), ids_.end(), id,
                            [](const Id& one, std::int64_t other) { return one.id < other; });
  }

  std::vector<Id> ids_{};
  std::size_t first_ = 0;  ///< all before have ended
};

}  // namespace linkcast::replay
