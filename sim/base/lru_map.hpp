#pragma once
// A map of bounded size.
#include <cstddef>
#include <list>
#include <map>
#include <utility>

namespace linkcast {

/// Forgets the entry that was not looked up for the longest time once it has more than `most`. Not for several threads.
template <class Key, class Value>
class LruMap {
 public:
  explicit LruMap(std::size_t most) : most_(most) {}

  /// @returns  nullptr if it is not there; valid until the next put()
  [[nodiscard]] const Value* find(const Key& key) {
    const auto found = places_.find(key);
    if (found == places_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return &found->second->second;
  }

  /// @returns  valid until the next put()
  const Value& put(const Key& key, Value value) {
    if (const auto found = places_.find(key); found != places_.end()) {
      entries_.erase(found->second);
      places_.erase(found);
    }
    entries_.emplace_front(key, std::move(value));
    places_.emplace(key, entries_.begin());
    if (entries_.size() > most_) {
      places_.erase(entries_.back().first);
      entries_.pop_back();
    }
    return entries_.front().second;
  }

  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  std::size_t most_;
  std::list<std::pair<Key, Value>> entries_;  ///< last used first
  std::map<Key, typename std::list<std::pair<Key, Value>>::iterator> places_;
};

}  // namespace linkcast
