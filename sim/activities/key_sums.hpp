#pragma once
#include <cstddef>
#include <vector>

namespace linkcast::activities {

/// Sums by key of a machine, where few of many keys have one: a table in pages, of which those in use are there.
class KeySums {
 public:
  double& operator[](int key) {
    const auto page = static_cast<std::size_t>(key) / kPage;
    if (pages_.size() <= page) pages_.resize(page + 1);
    if (pages_[page].empty()) pages_[page].assign(kPage, 0);
    return pages_[page][static_cast<std::size_t>(key) % kPage];
  }
  /// Told each key with its sum, where that is not 0, the lowest key first.
  template <class Take>
  void each(const Take& take) const {
    for (std::size_t page = 0; page < pages_.size(); ++page)
      for (std::size_t i = 0; i < pages_[page].size(); ++i)
        if (pages_[page][i] != 0) take(static_cast<int>(page * kPage + i), pages_[page][i]);
  }

 private:
  static constexpr std::size_t kPage = 256;  // source: ours, 2 KiB: a node has some hundred keys
  std::vector<std::vector<double>> pages_{};
};

}  // namespace linkcast::activities
