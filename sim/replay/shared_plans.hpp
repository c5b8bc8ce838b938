#pragma once
// Plans of operations, for several networks of one machine.
#include <functional>
#include <unordered_map>

#include "sim/plan/plan.hpp"
#include "sim/replay/network.hpp"

namespace linkcast::replay {

/// An operation as planned: alone, or behind another one.
struct PlanKey {
  NetworkOp op;
  bool behind = false;
};

/// Finds a key without making one.
struct PlanKeyView {
  const NetworkOp& op;
  bool behind;
};

struct PlanKeyHash {
  using is_transparent = void;
  std::size_t operator()(const PlanKeyView& key) const;
  std::size_t operator()(const PlanKey& key) const { return (*this)(PlanKeyView{key.op, key.behind}); }
};

struct PlanKeyEqual {
  using is_transparent = void;
  template <class A, class B>
  bool operator()(const A& a, const B& b) const {
    return a.op.kind == b.op.kind && a.op.size_B == b.op.size_B && a.behind == b.behind && a.op.nvls == b.op.nvls &&
           a.op.gpus == b.op.gpus && a.op.op == b.op.op;
  }
};

template <class Value>
using ByPlan = std::unordered_map<PlanKey, Value, PlanKeyHash, PlanKeyEqual>;

/// Each plan is made once, and kept until all networks have taken it.
class SharedPlans {
 public:
  /// @param networks  that take each plan, or never ask
  explicit SharedPlans(int networks) : networks_(networks) {}

  /// @param make  the plan, with all that should be said of it among its warnings
  activities::Plan take(const NetworkOp& op, bool behind, const std::function<activities::Plan()>& make);
  /// One network alone goes on.
  void leave() {
    networks_ = 1;
    plans_.clear();
  }

 private:
  struct Planned {
    activities::Plan plan{};
    int left = 0;  ///< networks that have not taken it
  };
  int networks_;
  ByPlan<Planned> plans_;
};

}  // namespace linkcast::replay
