#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/engine/problem.hpp"

namespace linkcast {

/// Max-min fair rates of the flows that are active now, by progressive filling: all rates rise
/// together; a flow stops at its own cap or when one of its constraints is full.
/// Incremental: a flow that comes or goes costs one solve of its connected component. Constraints that cannot fill up,
/// whatever the flows on them do, connect none.
/// Deterministic: rates depend only on the calls since load().
/// @source  Bertsekas and Gallager, Data Networks, 2nd edition 1992, section 6.5.2
class MaxMin {
 public:
  /// Forgets everything. `problem` has passed check_problem and outlives the use.
  void load(const Problem& problem);

  /// An activity that the problem got after load(), or whose uses changed while it was not added; or a constraint that
  /// it got. Costs what the activity's uses cost.
  void renew(int flow);

  void add(int flow);
  void remove(int flow);

  /// Whether nothing was touched since the last solve().
  [[nodiscard]] bool solved() const { return touched_.empty() && unsolved_.empty(); }
  /// Solves the components touched since the last call.
  /// @return  their flows; the rates of all others stand. Valid until the next call.
  const std::vector<int>& solve();

  /// Bytes per second of an active flow; infinite if nothing bounds it.
  double rate_Bps(int flow) const { return shares_[static_cast<std::size_t>(flow)].rate_Bps; }
  /// The constraint that was full when the flow stopped rising, or kOwnCap.
  int limiter(int flow) const { return shares_[static_cast<std::size_t>(flow)].limiter; }

 private:
  static constexpr int kNone = -1;
  struct Member {  // of a constraint
    double weight = 0;
    int flow = 0;
    int use = 0;  // which of the flow's uses
  };
  struct alignas(64) Constraint {  // a line of the cache
    double free_Bps = 0;           // while filling: capacity not held by stopped flows
    double weight = 0;             // while filling: sum over rising flows
    double all_weight = 0;         // sum over all members at the start of the filling
    int rising = 0;                // while filling: flows that still rise
    std::uint64_t visit = 0;
    std::vector<Member> members{};
  };
  struct Crowd {  // of a constraint, what most questions are about
    int flows = 0;
    bool touched = false;  // a flow came or went since the last solve
    bool binds = false;    // several flows could fill it, as of the last solve
  };
  struct Share {
    double rate_Bps = 0;
    double cap_Bps = 0;
    double most_Bps = 0;    // by its cap and each of its constraints alone
    double narrow_Bps = 0;  // by its narrowest constraint alone
    std::uint64_t visit = 0;
    int limiter = kOwnCap;
    int first = 0, count = 0;  // its entries in passes_
    int room = 0;              // how many entries it has there
    bool active = false;
    bool rising = false;
  };
  struct Pass {  // of a flow: one of its uses
    double weight = 0;
    double alone_Bps = 0;  // rate at which the flow fills the constraint that no other uses
    int constraint = 0;
    int position = 0;  // in the constraint's members
    // A narrower constraint of the flow: all flows through both take no more than fits through that.
    int narrow = kNone;
  };
  struct Stop {  // the level at which something stops: constraint (id >= 0) or cap of flow ~id
    static constexpr int kAll = -1;
    double level_Bps = 0;
    int id = 0;
    int flow = kAll;  // the one that stops there, or all of the constraint
  };
  struct Later {
    bool operator()(const Stop& a, const Stop& b) const {
      return a.level_Bps > b.level_Bps || (a.level_Bps == b.level_Bps && a.id > b.id);
    }
  };

  /// Where the uses of a flow lie, one after the other.
  [[nodiscard]] std::span<Pass> passes(const Share& share) {
    return {passes_.data() + share.first, static_cast<std::size_t>(share.count)};
  }
  [[nodiscard]] const Crowd& crowd(const Pass& use) const { return crowds_[static_cast<std::size_t>(use.constraint)]; }
  void take_uses(int flow);
  void touch(int constraint);
  [[nodiscard]] bool can_fill(int constraint) const;
  void find_binding();
  void solve_flow(int flow);
  bool solve_alone(int flow);
  void collect_component();
  void visit_flow(int flow);
  [[nodiscard]] Stop stop_alone(int flow);
  void fill();
  Stop take_stop();
  double level_Bps(Constraint& constraint) const;
  void saturate(int constraint, double level_Bps);
  void stop(int flow, double rate_Bps, int limiter);

  const Problem* problem_ = nullptr;
  std::uint64_t visit_ = 0;  // number of the current solve
  std::vector<Constraint> constraints_;
  std::vector<Crowd> crowds_;        // per constraint
  std::vector<Share> shares_;        // per flow
  std::vector<Pass> passes_;         // per use of each flow: what the Problem says of it, where filling needs it
  std::vector<int> touched_;         // constraints
  std::vector<int> unsolved_;        // flows that came since the last solve
  std::vector<int> solved_;          // flows of the touched components
  std::size_t component_begin_ = 0;  // in solved_: flows of the component being filled
  std::vector<int> component_;       // constraints of the component being filled
  std::vector<Stop> stops_;          // of more than a few a heap, lowest level first
  bool heap_ = false;                // they are one
  int rising_ = 0;
};

}  // namespace linkcast
