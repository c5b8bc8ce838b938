#pragma once
// How many closed rings fit into a set of links: a pure function over a matrix of link counts.
#include <cstddef>
#include <vector>

namespace linkcast {

/// Directed link counts between the members of a communicator, by member index.
class LinkMatrix {
 public:
  explicit LinkMatrix(int members)
      : members_(members), links_(static_cast<std::size_t>(members) * static_cast<std::size_t>(members)) {}
  [[nodiscard]] int members() const { return members_; }
  [[nodiscard]] int& at(int from, int to) { return links_[index(from, to)]; }
  [[nodiscard]] int at(int from, int to) const { return links_[index(from, to)]; }

 private:
  [[nodiscard]] std::size_t index(int from, int to) const {
    return static_cast<std::size_t>(from) * static_cast<std::size_t>(members_) + static_cast<std::size_t>(to);
  }
  int members_;
  std::vector<int> links_;
};

struct RingPacking {
  std::vector<std::vector<int>> rings;  ///< member indices, each once, member 0 first; in ascending order
  double links_per_ring = 1;            ///< 0.5 if every link was counted twice
  long steps = 0;                       ///< hops tried
  bool complete = true;                 ///< false: the step budget ended the search, more rings may exist
};

/// No search finds more rings than this: the fewest links into or out of one member.
int ring_bound(const LinkMatrix& links);

/// As many closed rings over all members as fit, one link used up per directed hop. Depth first, rings start at member
/// 0, neighbours in index order, first best kept.
/// Two cuts leave that answer as it is: a ring is never smaller (as a sequence) than the one before it, because the
/// ascending order of a set of rings is the one found first; and a branch that ring_bound() keeps from beating the best
/// is left.
/// @param links  at least 2 members
/// @param max_rings  stop there
/// @param max_steps  hops to try at most; counted, not timed, so that the answer never depends on the machine
RingPacking pack_rings(const LinkMatrix& links, int max_rings, long max_steps);

/// pack_rings, and for few members once more with every link counted twice: that is taken if it gives more than twice
/// the rings. steps are added up.
/// @source  models/libraries/SOURCES.md (NCCL 2.3.7)
RingPacking pack_rings_or_half_links(const LinkMatrix& links, int max_rings, long max_steps);

}  // namespace linkcast
