#pragma once
#include <deque>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "sim/engine/fluid_engine.hpp"
#include "sim/replay/network.hpp"
#include "sim/uncertainty/interval.hpp"

namespace linkcast::replay {

/// A network on which operations are flows that share constraints. What flows an operation becomes, and on which
/// constraints, is all that a kind of machine has to say.
class FlowNetwork : public ReplayNetwork {
 public:
  long start(const NetworkOp& op) final;
  double next_event_s() final { return fluid_.next_event_s(); }
  void advance(double to_s, std::vector<long>& ended) final;
  [[nodiscard]] std::vector<LinkUse> link_use() final;
  [[nodiscard]] Json warnings() const final { return warnings_; }
  /// From now on every operation takes as much longer or shorter as that end of its own interval says: its start-up and
  /// its bytes alike, so that it holds its links for as much longer. To be called before the first one starts.
  void take_end(IntervalEnd end) { end_ = end; }
  /// Whether any operation was started.
  [[nodiscard]] bool used() const { return tickets_ > 0; }

 protected:
  using Flows = std::vector<Activity>;  ///< on the fluid's constraints
  /// Stages follow each other, the flows of a stage run at once. A flow of `queues` {q} waits for its turn at q, which
  /// serves one after the other in the order they come.
  using Stages = std::vector<Flows>;
  struct Planned {
    Stages stages;
    uncertainty::Spread spread{};  ///< of the time alone
  };

  explicit FlowNetwork(std::vector<double> capacity_Bps) : fluid_(std::move(capacity_Bps)) {}

  /// What an operation takes alone; asked once for each that differs.
  virtual Planned plan(const NetworkOp& op) = 0;
  /// Of a constraint; empty if it is no link that people know.
  [[nodiscard]] virtual std::string link_id(int constraint) const = 0;

  [[nodiscard]] FluidEngine& fluid() { return fluid_; }
  [[nodiscard]] std::set<std::string>& said() { return warnings_; }  ///< warnings

 private:
  using Key = std::tuple<NetworkOp::Kind, std::string, std::vector<int>, double>;
  struct Running {
    const Stages* stages = nullptr;
    std::size_t stage = 0;
    int flows = 0;  ///< of the stage, not ended
  };
  const Stages& stages_of(const NetworkOp& op);
  void start_stage(long ticket, Running& running);
  void begin(long ticket, const Activity& flow);
  void next_in_line(int queue);

  FluidEngine fluid_;
  std::map<Key, Stages> known_;
  std::map<long, Running> running_;  ///< by ticket
  struct Served {
    long ticket = 0;
    int queue = -1;  ///< -1: none
  };
  std::vector<Served> served_;  ///< by handle of a flow
  struct Waiting {
    long ticket = 0;
    const Activity* flow = nullptr;
  };
  std::map<int, std::deque<Waiting>> lines_;  ///< by queue, the first is being served
  std::vector<int> flows_ended_;
  std::vector<Served> ended_;
  long tickets_ = 0;
  IntervalEnd end_ = IntervalEnd::kNone;
  std::set<std::string> warnings_;
};

}  // namespace linkcast::replay
