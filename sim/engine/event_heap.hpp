#pragma once
#include <cstddef>
#include <utility>
#include <vector>

namespace linkcast {

/// The next event of each activity, earliest first; ties go to the lower index. At most one event
/// an activity: set() moves an event that is already there.
class EventHeap {
 public:
  struct Event {
    double time_s = 0;
    int activity = 0;
  };

  void reset(std::size_t activities) {
    heap_.clear();
    place_.assign(activities, kAbsent);
  }
  /// Room for more activities; events stay.
  void grow(std::size_t activities) { place_.resize(activities, kAbsent); }
  bool empty() const { return heap_.empty(); }
  const Event& top() const { return heap_.front(); }

  void set(int activity, double time_s) {
    const std::size_t i = place_[static_cast<std::size_t>(activity)];
    if (i == kAbsent) {
      heap_.push_back({time_s, activity});
      rise(heap_.size() - 1);
      return;
    }
    heap_[i] = {time_s, activity};
    if (rise(i) == i) sink(i);
  }

  void pop() {
    place_[static_cast<std::size_t>(heap_.front().activity)] = kAbsent;
    const Event last = heap_.back();
    heap_.pop_back();
    if (heap_.empty()) return;
    // The last one belongs near the bottom: the earlier children move up all the way, and it rises from there.
    std::size_t hole = 0;
    for (std::size_t child = 1; child < heap_.size(); child = 2 * hole + 1) {
      if (child + 1 < heap_.size() && earlier(heap_[child + 1], heap_[child])) ++child;
      put(hole, heap_[child]);
      hole = child;
    }
    heap_[hole] = last;
    rise(hole);
  }

 private:
  static constexpr std::size_t kAbsent = static_cast<std::size_t>(-1);

  static bool earlier(const Event& a, const Event& b) {
    return a.time_s < b.time_s || (a.time_s == b.time_s && a.activity < b.activity);
  }
  void put(std::size_t i, const Event& event) {
    heap_[i] = event;
    place_[static_cast<std::size_t>(event.activity)] = i;
  }
  std::size_t rise(std::size_t i) {
    const Event event = heap_[i];
    while (i > 0 && earlier(event, heap_[(i - 1) / 2])) {
      put(i, heap_[(i - 1) / 2]);
      i = (i - 1) / 2;
    }
    put(i, event);
    return i;
  }
  void sink(std::size_t i) {
    const Event event = heap_[i];
    for (std::size_t child = 2 * i + 1; child < heap_.size(); child = 2 * i + 1) {
      if (child + 1 < heap_.size() && earlier(heap_[child + 1], heap_[child])) ++child;
      if (!earlier(heap_[child], event)) break;
      put(i, heap_[child]);
      i = child;
    }
    put(i, event);
  }

  std::vector<Event> heap_;
  std::vector<std::size_t> place_;  // per activity: index in heap_
};

}  // namespace linkcast
