#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/engine/problem.hpp"

namespace linkcast {

/// Max-min fair rates of the flows that are active now, by progressive filling: all rates rise
/// together; a flow stops at its own cap or when one of its constraints is full.
/// Incremental: a flow that comes or goes costs one filling of those whose rates change with it, grown until the rates
/// that all others keep are still fair. Constraints that cannot fill up, whatever the flows on them do, connect none.
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
  /// Fills anew what was touched since the last call.
  /// @return  flows whose rates or limiters may have changed; those of all others stand. Valid until the next call.
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
    bool touched = false;          // a flow came or went since the last solve
    bool binds = false;            // several flows could fill it, as of the last solve
    std::uint64_t visit = 0;
    std::vector<Member> members{};
  };
  struct Share {
    double rate_Bps = 0;
    double cap_Bps = 0;
    double most_Bps = 0;      // by its cap and each of its constraints alone
    double narrow_Bps = 0;    // by its narrowest constraint alone
    std::uint64_t visit = 0;  // in which it was filled last
    std::uint64_t solve = 0;  // that listed it last
    int limiter = kOwnCap;
    int first = 0, count = 0;  // its entries in passes_
    int room = 0;              // how many entries it has there
    int binding = 0;           // how many of its uses bind, from `first` on in binding_
    int narrowest = kNone;     // the constraint that allows narrow_Bps; of several the first
    bool active = false;
    bool wanted = false;  // has to be filled in this solve
    bool rising = false;
  };
  struct Pass {  // of a flow: one of its uses
    double weight = 0;
    double alone_Bps = 0;  // rate at which the flow fills the constraint that no other uses
    int constraint = 0;
    int position = 0;  // in the constraint's members
    int bound = 0;     // while the constraint binds: where among the flow's binding uses
    // A narrower constraint of the flow: all flows through both take no more than fits through that.
    int narrow = kNone;
  };
  struct Binding {  // of a flow: one of its uses whose constraint binds
    double weight = 0;
    int constraint = 0;
    int use = 0;  // which of the flow's uses
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
  [[nodiscard]] std::span<const Binding> binding(const Share& share) const {
    return {binding_.data() + share.first, static_cast<std::size_t>(share.binding)};
  }
  void know_constraints();
  void take_uses(int flow);
  void touch(int constraint);
  [[nodiscard]] bool can_fill(int constraint) const;
  void find_binding();
  void bind(Share& share, int use);
  void unbind(Share& share, int use);
  void solve_flow(int flow);
  void want(int flow);
  void want_limited(int constraint);
  void solve_alone(int flow);
  void list(int flow);
  void join(int flow);
  void join_wanted(bool all);
  void start_filling();
  [[nodiscard]] Stop stop_alone(int flow) const;
  void fill();
  bool join_disturbed();
  void find_disturbed(int constraint);
  Stop take_stop();
  double level_Bps(Constraint& constraint) const;
  void saturate(int constraint, double level_Bps);
  void stop(int flow, double rate_Bps, int limiter);

  const Problem* problem_ = nullptr;
  std::uint64_t solve_ = 0;  // number of the current solve
  std::uint64_t visit_ = 0;  // number of the current filling
  std::vector<Constraint> constraints_;
  std::size_t known_ = 0;         // of these, constraints of the problem; the others are kept for their memory
  std::vector<Share> shares_;     // per flow
  std::vector<Pass> passes_;      // per use of each flow: what the Problem says of it, where filling needs it
  std::vector<Binding> binding_;  // a place for each entry of passes_
  std::vector<int> touched_;      // constraints
  std::vector<int> unsolved_;     // flows that came since the last solve
  std::vector<int> solved_;       // flows that were filled
  std::vector<int> wanted_;       // flows that have to be
  std::vector<int> filled_;       // flows that are being filled; all others keep their rates
  std::vector<int> component_;    // constraints of these
  std::size_t joined_ = 0;        // of these, constraints whose wanted flows are being filled too
  std::vector<int> disturbed_;    // flows that cannot keep their rates
  std::vector<Stop> stops_;       // of more than a few a heap, lowest level first
  bool heap_ = false;             // they are one
  int rising_ = 0;
};

}  // namespace linkcast
