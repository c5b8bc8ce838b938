#pragma once
#include <cstddef>
#include <vector>

namespace linkcast::activities {

/// Values by key of a machine, where few of many keys have one: a table in pages, of which those in use are there.
template <class Value>
class KeyTable {
 public:
  /// @param none  of a key that was given no value
  explicit KeyTable(Value none) : none_(none) {}
  [[nodiscard]] bool empty() const { return pages_.empty(); }
  Value& operator[](int key) {
    const auto page = static_cast<std::size_t>(key) / kPage;
    if (pages_.size() <= page) pages_.resize(page + 1);
    if (pages_[page].empty()) pages_[page].assign(kPage, none_);
    return pages_[page][static_cast<std::size_t>(key) % kPage];
  }
  /// Told each key that has a value, and the value, the lowest key first.
  template <class Take>
  void each(const Take& take) const {
    for (std::size_t page = 0; page < pages_.size(); ++page)
      for (std::size_t i = 0; i < pages_[page].size(); ++i)
        if (pages_[page][i] != none_) take(static_cast<int>(page * kPage + i), pages_[page][i]);
  }

 private:
  static constexpr std::size_t kPage = 256;  // source: ours, 1 or 2 KiB: a node has some hundred keys
  Value none_;
  std::vector<std::vector<Value>> pages_{};
};

}  // namespace linkcast::activities
