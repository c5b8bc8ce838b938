#pragma once
// Queues of what a replay has begun and not ended.
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "sim/base/index.hpp"

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
  /// @param id  none before the first. It lies no further behind the first than it is greater: most are near there.
  [[nodiscard]] const std::int64_t* place(std::int64_t id) const {
    constexpr std::uint64_t kFew = 16;  // source: ours, two lines of the cache
    const std::uint64_t more = static_cast<std::uint64_t>(id) - static_cast<std::uint64_t>(*begin());
    const std::uint64_t reach = std::min<std::uint64_t>(more, count_ - 1U) + 1;
    const std::int64_t* const last = begin() + reach;
    if (reach > kFew) return std::lower_bound(begin(), last, id);
    const std::int64_t* found = begin();
    while (found != last && *found < id) ++found;
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

inline constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15U;  // source: Knuth, vol. 3, section 6.4

/// Values by numbers that come and go: open addressing, so that it allocates nothing but when it grows.
class NumberMap {
 public:
  [[nodiscard]] bool empty() const { return count_ == 0; }
  /// Its value. @param otherwise  what it is given if it is not in it
  int& put(std::int64_t number, int otherwise) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    Slot& slot = slots_[place(number)];
    if (!std::exchange(slot.held, true)) {
      ++count_;
      slot.number = number;
      slot.value = otherwise;
    }
    return slot.value;
  }
  /// @returns  its value, or what is said if it is not in it
  int take(std::int64_t number, int otherwise) {
    if (count_ == 0) return otherwise;
    std::size_t hole = place(number);
    if (!slots_[hole].held) return otherwise;
    const int value = slots_[hole].value;
    // Slots behind move up, unless that would be before where its search begins.
    for (std::size_t at = after(hole); slots_[at].held; at = after(at)) {
      if (distance(home(slots_[at].number), at) < distance(hole, at)) continue;
      slots_[hole] = slots_[at];
      hole = at;
    }
    slots_[hole].held = false;
    --count_;
    return value;
  }

 private:
  static constexpr int kHalf = 32;  // bits: of a product the low ones depend on few of the number's
  struct Slot {
    std::int64_t number = 0;
    int value = 0;
    bool held = false;
  };

  [[nodiscard]] std::size_t after(std::size_t slot) const { return (slot + 1) & (slots_.size() - 1); }
  [[nodiscard]] std::size_t distance(std::size_t from, std::size_t to) const {
    return (to - from) & (slots_.size() - 1);
  }
  /// Numbers that follow each other lie apart: side by side, each that goes would cost a look at all.
  [[nodiscard]] std::size_t home(std::int64_t number) const {
    return static_cast<std::size_t>((static_cast<std::uint64_t>(number) * kGolden) >> kHalf) & (slots_.size() - 1);
  }
  /// Where it is, or would be put.
  [[nodiscard]] std::size_t place(std::int64_t number) const {
    std::size_t at = home(number);
    while (slots_[at].held && slots_[at].number != number) at = after(at);
    return at;
  }
  void grow() {
    constexpr std::size_t kLeast = 16;  // source: ours, four lines of the cache
    std::vector<Slot> before(std::max(kLeast, 2 * slots_.size()));
    before.swap(slots_);
    for (const Slot& slot : before)
      if (slot.held) slots_[place(slot.number)] = slot;
  }

  std::vector<Slot> slots_{};  ///< a power of two
  std::size_t count_ = 0;
};

/// What is to come, earliest first; of one time in the order in which it was set. Ranks that do the same have timers of
/// the same time: those are one entry of the heap, in whose list they stand in their order.
template <class What>
class Timers {
 public:
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] double top_s() const { return heap_.front().time_s; }

  void set(double time_s, const What& what) {
    const int entry = take_entry(what);
    Recent& recent = recent_[place_of(time_s)];
    if (recent.list >= 0 && recent.time_s == time_s) {
      List& list = lists_[at(recent.list)];
      entries_[at(std::exchange(list.last, entry))].next = entry;
      return;
    }
    // One that is no longer recent gets no more: of two lists of one time the older one's come first.
    recent = {time_s, take_list(entry)};
    heap_.push_back({time_s, order_++, recent.list});
    rise(heap_.size() - 1);
  }

  /// The first two of the earliest list; null: there is none.
  [[nodiscard]] std::pair<const What*, const What*> upcoming() const {
    if (heap_.empty()) return {nullptr, nullptr};
    const Entry& first = entries_[at(lists_[static_cast<std::size_t>(heap_.front().list)].first)];
    return {&first.what, first.next < 0 ? nullptr : &entries_[at(first.next)].what};
  }

  /// The first one.
  What pop() {
    const int number = heap_.front().list;
    List& list = lists_[at(number)];
    const int first = list.first;
    Entry& entry = entries_[at(first)];
    list.first = std::exchange(entry.next, free_entry_);
    free_entry_ = first;
    if (list.first < 0) {
      Recent& recent = recent_[place_of(top_s())];
      if (recent.list == number) recent.list = kNone;
      free_lists_.push_back(number);
      pop_list();
    }
    return entry.what;
  }

 private:
  static constexpr int kNone = -1;
  static constexpr std::size_t kRecent = 64;  // source: ours, a kilobyte
  struct Entry {
    What what{};
    int next = kNone;  ///< of its list; of a free one the next free one
  };
  struct List {
    int first = kNone, last = kNone;
  };
  struct Recent {
    double time_s = 0;
    int list = kNone;
  };
  struct Head {
    double time_s = 0;
    std::uint64_t order = 0;
    int list = kNone;
    [[nodiscard]] bool before(const Head& other) const {
      return time_s < other.time_s || (time_s == other.time_s && order < other.order);
    }
  };

  static std::size_t place_of(double time_s) {
    constexpr int kBits = std::countr_zero(kRecent);
    return static_cast<std::size_t>((std::bit_cast<std::uint64_t>(time_s) * kGolden) >> (64 - kBits));
  }
  int take_entry(const What& what) {
    if (free_entry_ < 0) {
      entries_.push_back({what, kNone});
      return static_cast<int>(entries_.size()) - 1;
    }
    const int taken = free_entry_;
    Entry& entry = entries_[at(taken)];
    free_entry_ = entry.next;
    entry = {what, kNone};
    return taken;
  }
  int take_list(int entry) {
    if (free_lists_.empty()) {
      free_lists_.push_back(static_cast<int>(lists_.size()));
      lists_.emplace_back();
    }
    const int taken = free_lists_.back();
    free_lists_.pop_back();
    lists_[at(taken)] = {entry, entry};
    return taken;
  }
  void rise(std::size_t place) {
    const Head head = heap_[place];
    for (; place > 0 && head.before(heap_[(place - 1) / 2]); place = (place - 1) / 2)
      heap_[place] = heap_[(place - 1) / 2];
    heap_[place] = head;
  }
  /// The last one belongs near the bottom: the earlier children move up all the way, and it rises from there.
  void pop_list() {
    const Head last = heap_.back();
    heap_.pop_back();
    if (heap_.empty()) return;
    std::size_t hole = 0;
    for (std::size_t child = 1; child < heap_.size(); child = 2 * hole + 1) {
      if (child + 1 < heap_.size() && heap_[child + 1].before(heap_[child])) ++child;
      heap_[hole] = heap_[child];
      hole = child;
    }
    heap_[hole] = last;
    rise(hole);
  }

  std::vector<Head> heap_{};
  std::vector<List> lists_{};
  std::vector<int> free_lists_{};  ///< of these
  std::vector<Entry> entries_{};
  int free_entry_ = kNone;
  std::array<Recent, kRecent> recent_{};  ///< by time: a list that is in the heap
  std::uint64_t order_ = 0;
};

}  // namespace linkcast::replay
