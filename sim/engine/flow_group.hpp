#pragma once
#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "sim/engine/flow_links.hpp"
#include "sim/engine/problem.hpp"

namespace linkcast {

/// Flows that one constraint limits, in the order in which it stops them, and next to each of them the other links that
/// it crosses: where rates are shared out anew and the group is as before, nothing else of its flows is read.
class FlowGroup {
 public:
  struct Member {
    int flow = 0, trunk = kNoTrunk;
    int passes = 0;  ///< links that it crosses
  };

  /// Not more than any member's.
  double least_known_Bps = 0, least_bound_Bps = 0;

  void clear() {
    members_.clear();
    passes_.clear();
    ended_ = 0;
    least_known_Bps = std::numeric_limits<double>::infinity();
    least_bound_Bps = 0;
  }
  /// @param passes  those of `but` are left out
  void add(int flow, int trunk, const FlowLinks& links, int but, double known_Bps) {
    const std::size_t before = passes_.size();
    for (const int pass : links.passes(static_cast<std::size_t>(flow)))
      if (links.pass(pass).link != but) passes_.push_back(pass);
    members_.push_back({flow, trunk, static_cast<int>(passes_.size() - before)});
    least_known_Bps = std::min(least_known_Bps, known_Bps);
  }
  /// Flows that were added, without those of end() and those that keep() left out.
  [[nodiscard]] int size() const { return static_cast<int>(members_.size()) - ended_; }
  void end() { ++ended_; }

  /// Visits members that move, with the links that they cross. @param visit  returns whether to go on
  template <class Visit>
  void visit(const std::vector<bool>& moving, const Visit& visit) const {
    const int* pass = passes_.data();
    for (const Member& member : members_) {
      const int* const end = pass + member.passes;
      if (moving[static_cast<std::size_t>(member.flow)] && !visit(member, pass, end)) return;
      pass = end;
    }
  }
  /// Whether so many have ended that to visit them costs more than to leave them out.
  [[nodiscard]] bool many_ended() const {
    constexpr int kFew = 16;  // source: ours, one of so many
    return ended_ * kFew > static_cast<int>(members_.size());
  }
  /// Members for which `stays` holds; the others have ended or are limited elsewhere.
  template <class Stays>
  void keep(const Stays& stays) {
    auto kept = members_.begin();
    auto to = passes_.begin();
    auto from = passes_.begin();
    for (const Member& member : members_) {
      const auto end = from + member.passes;
      if (stays(member.flow)) {
        *kept++ = member;
        to = std::copy(from, end, to);
      }
      from = end;
    }
    members_.erase(kept, members_.end());
    passes_.erase(to, passes_.end());
    ended_ = 0;
  }

 private:
  std::vector<Member> members_;  // some have ended
  std::vector<int> passes_;      // of all members, one after the other
  int ended_ = 0;
};

}  // namespace linkcast
