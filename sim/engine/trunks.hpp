#pragma once
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "sim/engine/problem.hpp"

namespace linkcast {

/// Flows of a trunk take the same links with the same weights, so that a link needs to know their number and the sum of
/// their rates alone: one flow costs the same however many links its trunk has. A trunk of no flows costs nothing.
class Trunks {
 public:
  struct Pass {  ///< of a trunk a link, of a link a trunk
    double weight = 0;
    int number = 0;
  };
  struct Room {  ///< on a link, while rates rise
    double free_Bps = 0, weight = 0;
    int rising = 0;
  };

  /// @param problem  outlives the use
  void load(const Problem& problem);
  [[nodiscard]] std::size_t count() const { return trunks_.size(); }
  [[nodiscard]] bool has(int link) const { return of_trunks_[static_cast<std::size_t>(link)] != 0; }
  /// The links that take part.
  void choose(const std::vector<int>& links);
  [[nodiscard]] std::span<const Pass> of_link(int link) const { return part(by_link_, first_of_link_, link); }
  [[nodiscard]] const std::vector<int>& members(int trunk) const {
    return trunks_[static_cast<std::size_t>(trunk)].members;
  }
  template <class Gone>
  void forget_members(const Gone& gone) {
    for (Trunk& trunk : trunks_)
      if (trunk.members.size() > 2 * static_cast<std::size_t>(trunk.flowing)) std::erase_if(trunk.members, gone);
  }

  void begin(int trunk) { ++trunks_[static_cast<std::size_t>(trunk)].flowing; }
  void end(int trunk, double known_Bps) {
    Trunk& its = trunks_[static_cast<std::size_t>(trunk)];
    --its.flowing;
    its.change_Bps -= known_Bps;
  }

  /// All flows rise.
  void begin_filling();
  void stop(int trunk, double rate_Bps) {
    Trunk& its = trunks_[static_cast<std::size_t>(trunk)];
    its.stopped_Bps += rate_Bps;
    --its.rising;
  }
  [[nodiscard]] int rising(int trunk) const { return trunks_[static_cast<std::size_t>(trunk)].rising; }
  [[nodiscard]] Room room(int link) const;

  /// Changes of a trunk's rate that loads do not have yet.
  void change(int trunk, double by_Bps) {
    Trunk& its = trunks_[static_cast<std::size_t>(trunk)];
    its.change_Bps += by_Bps;
    its.grew = true;
  }
  /// To the loads of constraints, of trunks where a flow has grown. @param visit  each of their uses, afterwards
  template <class Visit>
  void load_grown(std::vector<double>& loads_Bps, const Visit& visit) {
    for (std::size_t t = 0; t < trunks_.size(); ++t) {
      if (!trunks_[t].grew) continue;
      for (const Use& use : problem_->trunks[t]) {
        loads_Bps[static_cast<std::size_t>(use.constraint)] += use.weight * trunks_[t].change_Bps;
        visit(use);
      }
      trunks_[t].change_Bps = 0;
      trunks_[t].grew = false;
    }
  }
  void forget_changes() {
    for (Trunk& trunk : trunks_) {
      trunk.change_Bps = 0;
      trunk.grew = false;
    }
  }

  /// Links that limit flows until rates are shared out again, and what else the trunk may grow by.
  /// @param limits, spare  of a link
  template <class Limits, class Spare>
  void note_limits(const Limits& limits, const Spare& spare) {
    for (std::size_t t = 0; t < trunks_.size(); ++t) {
      Trunk& trunk = trunks_[t];
      trunk.limits.clear();
      trunk.least = trunk.second = kUnlimited;
      for (const Pass& pass : part(by_trunk_, first_of_trunk_, static_cast<int>(t))) {
        if (limits(pass.number)) trunk.limits.push_back(pass);
        const double by = spare(pass.number);
        if (by < trunk.least) {
          trunk.second = trunk.least;
          trunk.least = by;
          trunk.tightest = pass.number;
        } else if (by < trunk.second) {
          trunk.second = by;
        }
      }
    }
  }
  [[nodiscard]] const std::vector<Pass>& limits(int trunk) const {
    return trunks_[static_cast<std::size_t>(trunk)].limits;
  }
  /// How many times its load the trunk's tightest link can carry. @param but  not that one
  [[nodiscard]] double spare(int trunk, int but) const {
    const Trunk& its = trunks_[static_cast<std::size_t>(trunk)];
    return its.tightest == but ? its.second : its.least;
  }

 private:
  static constexpr double kUnlimited = std::numeric_limits<double>::infinity();
  struct Trunk {
    int flowing = 0, rising = 0;
    double stopped_Bps = 0;  // sum of the rates of flows that do not rise any more
    double change_Bps = 0;
    bool grew = false;
    int tightest = -1;
    double least = kUnlimited, second = kUnlimited;
    std::vector<Pass> limits{};
    std::vector<int> members{};  // some have ended
  };
  static std::span<const Pass> part(const std::vector<Pass>& all, const std::vector<std::size_t>& first, int place) {
    const auto i = static_cast<std::size_t>(place);
    return {all.data() + first[i], all.data() + first[i + 1]};
  }

  const Problem* problem_ = nullptr;
  std::vector<Trunk> trunks_;
  std::vector<char> of_trunks_;  // per constraint
  std::vector<Pass> by_trunk_, by_link_;
  std::vector<std::size_t> first_of_trunk_, first_of_link_;
};

}  // namespace linkcast
