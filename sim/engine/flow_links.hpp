#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "sim/engine/problem.hpp"

namespace linkcast {

/// Where the flows of a Problem meet. What only one flow uses is a bound of that flow. Of constraints that the same
/// flows use with weights in the same proportion only the tightest counts: parallel links that share all, links in a
/// row. Of what is left it holds those that are chosen, from both sides.
class FlowLinks {
 public:
  struct Bound {
    double rate_Bps = 0;
    int limiter = kOwnCap;  ///< constraint
  };
  struct Pass {  ///< of flows that cross a link with one weight
    double weight = 0;
    int link = 0;  ///< constraint
  };

  /// Chooses none. @param problem  outlives the use
  void load(const Problem& problem);
  [[nodiscard]] const Bound& bound(std::size_t flow) const { return bounds_[flow]; }
  /// Constraints that several flows use, without those that count for nothing.
  [[nodiscard]] const std::vector<int>& shared() const { return shared_; }
  [[nodiscard]] bool is_shared(int constraint) const { return is_shared_[static_cast<std::size_t>(constraint)] != 0; }
  /// Those of them where a flow would stop first if all rose together until nothing moved.
  [[nodiscard]] std::vector<int> tightest() const;
  [[nodiscard]] bool meets_others(std::size_t flow) const;

  /// @param links  of shared(), ascending. @param flows  ascending; others are not asked for any more
  void choose(std::vector<int> links, const std::vector<int>& flows);
  [[nodiscard]] const std::vector<int>& chosen() const { return chosen_; }
  [[nodiscard]] bool is_chosen(int constraint) const { return place_[static_cast<std::size_t>(constraint)] >= 0; }
  /// Numbers of what it crosses, see pass().
  [[nodiscard]] std::span<const int> passes(std::size_t flow) const {
    return {passes_.data() + first_pass_[flow], passes_.data() + first_pass_[flow + 1]};
  }
  [[nodiscard]] const Pass& pass(int number) const { return kinds_[static_cast<std::size_t>(number)]; }
  /// They will be needed soon, or somewhat later.
  void prefetch_place(std::size_t flow) const { __builtin_prefetch(&first_pass_[flow]); }
  void prefetch_passes(std::size_t flow) const { __builtin_prefetch(passes_.data() + first_pass_[flow]); }
  /// Flows that cross a link, and with what weights.
  [[nodiscard]] std::span<const int> members(int link) const { return of(members_, link); }
  [[nodiscard]] std::span<const double> member_weights(int link) const { return of(member_weights_, link); }
  template <class Gone>
  void forget_members(int link, const Gone& gone) {
    const auto place = static_cast<std::size_t>(place_[static_cast<std::size_t>(link)]);
    std::size_t kept = first_member_[place];
    for (std::size_t i = kept; i < end_member_[place]; ++i) {
      if (gone(members_[i])) continue;
      members_[kept] = members_[i];
      member_weights_[kept++] = member_weights_[i];
    }
    end_member_[place] = kept;
  }

 private:
  void find_shared();
  int number_of(const Use& use);
  template <class Each>
  [[nodiscard]] std::span<const Each> of(const std::vector<Each>& all, int link) const {
    const auto place = static_cast<std::size_t>(place_[static_cast<std::size_t>(link)]);
    return {all.data() + first_member_[place], all.data() + end_member_[place]};
  }

  const Problem* problem_ = nullptr;
  std::vector<int> users_;       // per constraint
  std::vector<double> weights_;  // per constraint: sum
  std::vector<int> shared_;
  std::vector<char> is_shared_;  // per constraint
  std::vector<Bound> bounds_;
  std::vector<int> chosen_;
  std::vector<int> place_;                              // per constraint: in chosen_
  std::vector<unsigned> first_pass_;                    // per flow, and behind the last
  std::vector<int> passes_;                             // of all flows
  std::vector<Pass> kinds_;                             // that differ: few, so that those of a million flows are near
  std::vector<int> last_kind_;                          // per chosen one
  std::vector<int> older_kind_;                         // per kind: of the same link
  std::vector<std::size_t> first_member_, end_member_;  // per chosen one
  std::vector<int> members_;  // of all chosen ones; apart from the weights, which are seldom looked at
  std::vector<double> member_weights_;
};

}  // namespace linkcast
