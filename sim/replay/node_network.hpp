#pragma once
#include <map>
#include <set>
#include <tuple>

#include "sim/engine/open_fluid.hpp"
#include "sim/forecast/catalogue.hpp"
#include "sim/replay/network.hpp"

namespace linkcast {

/// The links of one node, with the forecasts of single collectives and copies as flows on them.
class NodeNetwork final : public ReplayNetwork {
 public:
  /// @param library  empty: the platform's default
  NodeNetwork(Catalogue& catalogue, std::string platform_id, std::string library);

  [[nodiscard]] int gpus() const override { return platform_.gpu_count(); }
  [[nodiscard]] double slow(int gpu) const override;
  long start(const NetworkOp& op) override;
  double next_event_s() override { return fluid_.next_event_s(); }
  void advance(double to_s, std::vector<long>& ended) override;
  [[nodiscard]] std::vector<LinkUse> link_use() override;
  [[nodiscard]] Json warnings() const override { return warnings_; }

 private:
  /// Flows of an operation, alone: stages one after the other, the flows of a stage at once.
  using Stages = std::vector<std::vector<Activity>>;
  struct Running {
    const Stages* stages = nullptr;
    std::size_t stage = 0;
    int flows = 0;  ///< of the stage, not ended
  };
  using Key = std::tuple<NetworkOp::Kind, std::string, std::vector<int>, double>;

  const Stages& stages_of(const NetworkOp& op);
  void start_stage(long ticket, Running& running);

  Catalogue& catalogue_;
  std::string platform_id_, library_;
  const Platform& platform_;
  OpenFluid fluid_;
  std::map<Key, Stages> known_;
  std::map<long, Running> running_;  ///< by ticket
  std::vector<long> ticket_of_;      ///< by handle of a flow
  std::vector<int> flows_ended_;
  long tickets_ = 0;
  std::set<std::string> warnings_;
};

}  // namespace linkcast
