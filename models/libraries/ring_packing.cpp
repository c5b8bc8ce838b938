#include "models/libraries/ring_packing.hpp"

#include <algorithm>
#include <limits>

namespace linkcast {
namespace {

// Sets of up to 4 members are searched again with every link counted twice.
// source: models/libraries/SOURCES.md, "Oversubscription, only for <= 4 GPUs"
constexpr int kHalfLinkMembers = 4;

class Search {
 public:
  Search(const LinkMatrix& links, int max_rings, long max_steps)
      : free_(links),
        members_(links.members()),
        limit_(std::min(max_rings, ring_bound(links))),
        max_steps_(max_steps),
        visited_(static_cast<std::size_t>(members_)) {}

  RingPacking run() {
    if (limit_ > 0) start_ring();
    best_.complete = best_.steps <= max_steps_;
    best_.steps = std::min(best_.steps, max_steps_);
    return std::move(best_);
  }

 private:
  [[nodiscard]] bool done() const { return static_cast<int>(best_.rings.size()) == limit_ || best_.steps > max_steps_; }

  void start_ring() {
    std::vector<int> outer = std::move(ring_);
    std::vector<char> outer_visited = std::move(visited_);
    ring_.assign(1, 0);
    visited_.assign(static_cast<std::size_t>(members_), 0);
    visited_[0] = 1;
    extend(!found_.empty());
    ring_ = std::move(outer);
    visited_ = std::move(outer_visited);
  }

  /// @param as_before  the ring so far equals the start of the ring before it, which it must not fall below
  void extend(bool as_before) {
    const std::size_t place = ring_.size();
    const int from = ring_.back();
    if (static_cast<int>(place) == members_) return close(from);
    const int least = as_before ? found_.back()[place] : 0;
    for (int to = least; to < members_; ++to) {
      if (visited_[static_cast<std::size_t>(to)] || free_.at(from, to) == 0) continue;
      if (++best_.steps > max_steps_) return;
      --free_.at(from, to);
      visited_[static_cast<std::size_t>(to)] = 1;
      ring_.push_back(to);
      extend(as_before && to == least);
      ring_.pop_back();
      visited_[static_cast<std::size_t>(to)] = 0;
      ++free_.at(from, to);
      if (done()) return;
    }
  }

  void close(int last) {
    if (free_.at(last, 0) == 0) return;
    --free_.at(last, 0);
    found_.push_back(ring_);
    if (found_.size() > best_.rings.size()) best_.rings = found_;
    const int possible = static_cast<int>(found_.size()) + ring_bound(free_);
    if (!done() && possible > static_cast<int>(best_.rings.size())) start_ring();
    found_.pop_back();
    ++free_.at(last, 0);
  }

  LinkMatrix free_;
  int members_;
  int limit_;
  long max_steps_;
  std::vector<char> visited_;
  std::vector<int> ring_;
  std::vector<std::vector<int>> found_;
  RingPacking best_;
};

}  // namespace

int ring_bound(const LinkMatrix& links) {
  int bound = std::numeric_limits<int>::max();
  for (int member = 0; member < links.members(); ++member) {
    int out = 0, in = 0;
    for (int other = 0; other < links.members(); ++other) {
      if (other == member) continue;
      out += links.at(member, other);
      in += links.at(other, member);
    }
    bound = std::min({bound, out, in});
  }
  return bound;
}

RingPacking pack_rings(const LinkMatrix& links, int max_rings, long max_steps) {
  return Search(links, max_rings, max_steps).run();
}

RingPacking pack_rings_or_half_links(const LinkMatrix& links, int max_rings, long max_steps) {
  RingPacking plain = pack_rings(links, max_rings, max_steps);
  const int members = links.members();
  const int needed = 2 * static_cast<int>(plain.rings.size());
  if (members > kHalfLinkMembers || std::min(max_rings, 2 * ring_bound(links)) <= needed) return plain;
  LinkMatrix twice(members);
  for (int from = 0; from < members; ++from)
    for (int to = 0; to < members; ++to) twice.at(from, to) = 2 * links.at(from, to);
  RingPacking half = pack_rings(twice, max_rings, max_steps);
  const long steps = plain.steps + half.steps;
  const bool complete = plain.complete && half.complete;
  RingPacking taken = static_cast<int>(half.rings.size()) > needed ? std::move(half) : std::move(plain);
  if (static_cast<int>(taken.rings.size()) > needed) taken.links_per_ring = 1.0 / 2;
  taken.steps = steps;
  taken.complete = complete;
  return taken;
}

}  // namespace linkcast
