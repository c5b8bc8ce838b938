#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/engine/flow_record.hpp"
#include "sim/engine/fluid_engine.hpp"
#include "sim/plan/fabric_traffic.hpp"
#include "sim/plan/plan.hpp"
#include "sim/replay/network.hpp"

namespace linkcast::replay {

// Plans of operations, for several networks of one machine.

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
           a.op.gpus == b.op.gpus && a.op.op == b.op.op && a.op.library == b.op.library;
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

/// A network on which operations are plans that share a machine. What plan an operation becomes is all that a kind of
/// machine has to say.
class FlowNetwork : public ReplayNetwork {
 public:
  long start(const NetworkOp& op) final { return start_prepared(prepare(op)); }
  int prepare(const NetworkOp& op) final;
  long start_prepared(int prepared) final;
  double next_event_s() final;
  void advance(double to_s, std::vector<long>& ended) final;
  [[nodiscard]] std::vector<LinkUse> link_use() final;
  [[nodiscard]] Json warnings() const final { return warnings_; }
  void check_ended() const final;

 protected:
  /// @param machine  outlives the network
  FlowNetwork(const Cluster& machine, const NetworkRequest& request);

  /// What an operation takes alone; asked once for each that differs. Its queues are keys of the kind's own.
  virtual activities::Plan plan(const NetworkOp& op) = 0;
  /// The same where the operation finds its first queue held, if that is another.
  virtual std::optional<activities::Plan> plan_behind(const NetworkOp& /*op*/) { return std::nullopt; }
  /// Of a key of the machine; empty if it is no link that people know.
  [[nodiscard]] virtual std::string link_id(int key) const = 0;

  [[nodiscard]] const Cluster& machine() const { return machine_; }
  [[nodiscard]] std::set<std::string>& said() { return warnings_; }  ///< warnings

 private:
  struct Running {
    long ticket = 0;
    int activities = 0;  ///< not ended
    int on_fabric = -1;  ///< its number in traffic_; -1: has none
    std::vector<int> own_limits{};
  };
  struct Known {
    activities::Plan plan{};
    activities::FabricPart on_fabric{};
    /// Its keys are the engine's numbers: from the first start on, in whose order they are given.
    bool numbered = false;
    bool queues = false;  ///< its first activity has some
  };
  struct Prepared {
    NetworkOp op{};
    std::unique_ptr<Known> alone{}, behind{};  ///< null: not asked for yet
  };
  Known made(const NetworkOp& op, bool behind);
  activities::Plan make(const NetworkOp& op, bool behind);
  void scale(activities::Plan& plan, double size_B) const;
  [[nodiscard]] bool finds_queue_held(const Known& known);
  void number(Known& known);
  void start_waiting();
  void start_activities(long ticket, Known& known, const activities::FabricTraffic::Entered& routed);
  void take_routes(const std::vector<Use>& routes);
  int add_limit(const activities::OwnLimit& limit);
  int common_limit(const activities::OwnLimit& limit);
  int constraint(int key);
  int queue(int key);
  int add_constraint(double capacity_Bps);

  const Cluster& machine_;
  FluidEngine engine_;
  std::unique_ptr<activities::FabricTraffic> traffic_;  ///< null: the fabric does not route adaptively
  std::unique_ptr<FlowRecord> record_;                  ///< for the solver that runs it again; null: none does
  std::vector<int> keys_;                               ///< by constraint of the engine; kOwnLimit: of no key
  std::unordered_map<int, int> common_limits_;          ///< by key: constraints of the engine
  std::unordered_map<int, int> number_;                 ///< of the engine's constraint, by key
  std::unordered_map<int, int> queue_of_;               ///< the engine's, by key
  ByPlan<int> numbers_;                                 ///< in prepared_
  std::vector<Prepared> prepared_;
  std::vector<Running> running_;  ///< places that operations take one after the other
  std::vector<int> free_;         ///< of these
  struct Waiting {
    long ticket = 0;
    Known* known = nullptr;
  };
  std::vector<Waiting> waiting_;  ///< begin at this moment, when all that do are known: their routes settle together
  std::vector<int> place_of_;     ///< in running_, by handle of an activity
  std::vector<int> handles_;      ///< of the operation that starts
  std::vector<int> limits_;       ///< of it: constraints of the engine
  Activity next_{};               ///< of it
  long tickets_ = 0;
  IntervalEnd end_;
  std::shared_ptr<SharedPlans> plans_;  ///< null: its own
  std::set<std::string> warnings_;
};

}  // namespace linkcast::replay
