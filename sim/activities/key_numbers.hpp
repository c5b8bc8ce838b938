#pragma once
#include <cstddef>
#include <vector>

namespace linkcast::activities {

/// Numbers by key of a machine, where few of many keys have one: a table in pages, of which those in use are there.
class KeyNumbers {
 public:
  [[nodiscard]] bool empty() const { return pages_.empty(); }
  /// Of a key without a number it is negative, and may be set.
  int& operator[](int key) {
    const auto page = static_cast<std::size_t>(key) / kPage;
    if (pages_.size() <= page) pages_.resize(page + 1);
    if (pages_[page].empty()) pages_[page].assign(kPage, -1);
    return pages_[page][static_cast<std::size_t>(key) % kPage];
  }

 private:
  static constexpr std::size_t kPage = 256;  // source: ours, 1 KiB: a node has some hundred keys
  std::vector<std::vector<int>> pages_{};
};

}  // namespace linkcast::activities
