#pragma once
#include "sim/catalogue/catalogue.hpp"
#include "sim/replay/flow_network.hpp"

namespace linkcast::replay {

/// The links of one node, with the forecasts of single collectives and copies as flows on them.
class NodeNetwork final : public FlowNetwork {
 public:
  /// @param library  empty: the platform's default
  NodeNetwork(catalogue::Catalogue& catalogue, std::string platform_id, std::string library);

  [[nodiscard]] int gpus() const override { return platform_.gpu_count(); }
  [[nodiscard]] double slow(int gpu) const override;

 private:
  Planned plan(const NetworkOp& op) override;
  [[nodiscard]] std::string link_id(int constraint) const override;

  catalogue::Catalogue& catalogue_;
  const Platform& platform_;
  std::string platform_id_, library_;
};

}  // namespace linkcast::replay
