#pragma once
// A second opinion on the engine: the same rules worked out in the plainest way, anew at every moment and in long
// double, with nothing kept from one moment to the next.
#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <vector>

#include "sim/engine/problem.hpp"

namespace linkcast::test {

class PlainSharing {
 public:
  using Real = long double;

  /// @param comes_s  per activity: not before; empty: all come at once
  explicit PlainSharing(Problem problem, std::vector<double> comes_s = {})
      : problem_(std::move(problem)), comes_s_(std::move(comes_s)) {
    const std::size_t count = problem_.activities.size();
    comes_s_.resize(count, 0);
    start_s.assign(count, 0);
    finish_s.assign(count, 0);
    limited_B.assign(count, {});
    carried_B.assign(problem_.capacity_Bps.size(), 0);
    state_.assign(count, State::kWaits);
    left_B_.assign(count, 0);
    until_s_.assign(count, kNever);
    lines_.resize(static_cast<std::size_t>(problem_.queue_count));
  }

  void run() { run_until(kNever); }
  /// Up to this time.
  void run_until(Real to_s) {
    for (;;) {
      settle();
      const std::vector<Share> shares = shares_now();
      Real next_s = kNever;
      for (std::size_t a = 0; a < state_.size(); ++a) {
        if (state_[a] == State::kWaits)
          if (comes_s_[a] > now_s_) next_s = std::min<Real>(next_s, comes_s_[a]);
        if (state_[a] == State::kDelayed) next_s = std::min(next_s, until_s_[a]);
        if (state_[a] == State::kFlows) next_s = std::min(next_s, now_s_ + left_B_[a] / shares[a].rate_Bps);
      }
      if (next_s == kNever && to_s == kNever) return;
      const Real end_s = std::min(next_s, to_s);
      for (std::size_t a = 0; a < state_.size(); ++a)
        if (state_[a] == State::kFlows) move(a, shares[a], end_s - now_s_);
      now_s_ = end_s;
      if (next_s > to_s) return;
    }
  }

  std::vector<Real> start_s, finish_s, carried_B;
  std::vector<std::map<int, Real>> limited_B;  ///< per activity: bytes by what limited it, kOwnCap for its cap

 private:
  static constexpr Real kNever = std::numeric_limits<Real>::infinity();
  static constexpr Real kNothing_B = 1e-13L, kSame = 1e-13L;
  enum class State { kWaits, kQueues, kDelayed, kFlows, kEnded };
  struct Share {
    Real rate_Bps = 0;
    int limiter = kOwnCap;
  };

  void move(std::size_t a, const Share& share, Real seconds) {
    const Real moved_B = std::min(left_B_[a], share.rate_Bps * seconds);
    left_B_[a] -= moved_B;
    limited_B[a][share.limiter] += moved_B;
    for (const Use& use : problem_.activities[a].uses)
      carried_B[static_cast<std::size_t>(use.constraint)] += use.weight * moved_B;
  }

  [[nodiscard]] bool passed(Real time_s) const { return time_s <= now_s_ * (1 + kSame); }

  /// All that happens now, in rounds: what ends, then what may begin.
  void settle() {
    for (bool again = true; again;) {
      again = false;
      for (std::size_t a = 0; a < state_.size(); ++a) {
        if (state_[a] == State::kDelayed && passed(until_s_[a])) begin_to_flow(a);
        if (state_[a] == State::kFlows && left_B_[a] <= kNothing_B * problem_.activities[a].work_B) {
          end(a);
          again = true;
        }
      }
      for (std::size_t a = 0; a < state_.size(); ++a)
        if (state_[a] == State::kWaits && ready(a)) {
          state_[a] = State::kQueues;
          for (const int queue : problem_.activities[a].queues) lines_[static_cast<std::size_t>(queue)].push_back(a);
        }
      for (std::size_t a = 0; a < state_.size(); ++a)
        if (state_[a] == State::kQueues && holds_all(a)) {
          state_[a] = State::kDelayed;
          start_s[a] = now_s_;
          until_s_[a] = now_s_ + problem_.activities[a].delay_s;
          again = true;
        }
    }
  }

  [[nodiscard]] bool ready(std::size_t a) const {
    const auto& after = problem_.activities[a].after;
    return comes_s_[a] <= now_s_ && std::all_of(after.begin(), after.end(), [this](int before) {
             return state_[static_cast<std::size_t>(before)] == State::kEnded;
           });
  }
  [[nodiscard]] bool holds_all(std::size_t a) const {
    const auto& queues = problem_.activities[a].queues;
    return std::all_of(queues.begin(), queues.end(),
                       [&](int queue) { return lines_[static_cast<std::size_t>(queue)].front() == a; });
  }
  void begin_to_flow(std::size_t a) {
    state_[a] = State::kFlows;
    const bool bounded = !problem_.activities[a].uses.empty() ||
                         problem_.activities[a].rate_cap_Bps < std::numeric_limits<double>::infinity();
    left_B_[a] = bounded ? problem_.activities[a].work_B : 0;
  }
  void end(std::size_t a) {
    state_[a] = State::kEnded;
    finish_s[a] = now_s_;
    for (const int queue : problem_.activities[a].queues) {
      auto& line = lines_[static_cast<std::size_t>(queue)];
      line.erase(line.begin());
    }
  }

  /// All rates rise together from 0; the lowest level at which a flow's cap or a constraint says stop comes next.
  [[nodiscard]] std::vector<Share> shares_now() const {
    std::vector<Share> shares(state_.size());
    std::vector<char> rises(state_.size(), 0);
    std::size_t rising = 0;
    for (std::size_t a = 0; a < state_.size(); ++a)
      if (state_[a] == State::kFlows) rises[a] = 1, ++rising;
    while (rising > 0) {
      Real level = kNever;
      int at = kOwnCap;
      std::size_t capped = 0;
      for (std::size_t a = 0; a < state_.size(); ++a)
        if (rises[a] != 0 && problem_.activities[a].rate_cap_Bps < level)
          level = problem_.activities[a].rate_cap_Bps, capped = a;
      for (std::size_t c = 0; c < problem_.capacity_Bps.size(); ++c) {
        Real room = problem_.capacity_Bps[c], weight = 0;
        for (std::size_t a = 0; a < state_.size(); ++a)
          for (const Use& use : problem_.activities[a].uses) {
            if (static_cast<std::size_t>(use.constraint) != c || state_[a] != State::kFlows) continue;
            if (rises[a] != 0)
              weight += use.weight;
            else
              room -= use.weight * shares[a].rate_Bps;
          }
        if (weight > 0 && room / weight < level * (1 - kSame)) level = room / weight, at = static_cast<int>(c);
      }
      for (std::size_t a = 0; a < state_.size(); ++a) {
        const auto& uses = problem_.activities[a].uses;
        const bool stops = at == kOwnCap ? a == capped : std::any_of(uses.begin(), uses.end(), [at](const Use& use) {
          return use.constraint == at;
        });
        if (rises[a] == 0 || !stops) continue;
        shares[a] = {level, at};
        rises[a] = 0;
        --rising;
      }
    }
    return shares;
  }

  Problem problem_;
  std::vector<double> comes_s_;
  std::vector<State> state_;
  std::vector<Real> left_B_, until_s_;
  std::vector<std::vector<std::size_t>> lines_;
  Real now_s_ = 0;
};

}  // namespace linkcast::test
